# SPDX-License-Identifier: Apache-2.0
"""Idling decides the same pauses as its native twin, whose table stands in ``native/core/src/idle.rs``."""

from __future__ import annotations

import os
import time

import pytest
from framegate.shmpool import idle
from framegate.shmpool.idle import IDLE_NAMES, SPIN, YIELD, IdleName, Idler, sleep_ns

BACKOFF_TABLE = [SPIN] * 10 + [YIELD] * 20 + [us * 1000 for us in (1, 2, 4, 8, 16, 32, 64, 64, 64, 64)]


def pauses(idler: Idler, count: int) -> list[int]:
    return [idler.next_pause() for _ in range(count)]


def test_backoff_spins_then_yields_then_parks_up_to_its_longest() -> None:
    assert pauses(Idler("backoff"), 40) == BACKOFF_TABLE


def test_backoff_is_the_default() -> None:
    assert pauses(Idler(), 40) == BACKOFF_TABLE


@pytest.mark.parametrize("turns", [1, 10, 11, 30, 31, 40])
def test_work_makes_the_next_pause_the_shortest_again(turns: int) -> None:
    idler = Idler("backoff")
    pauses(idler, turns)
    idler.reset()
    assert pauses(idler, 40) == BACKOFF_TABLE


@pytest.mark.parametrize(("name", "pause"), [("busy", SPIN), ("yield", YIELD), ("sleep", 1_000_000)])
def test_the_other_strategies_never_change(name: IdleName, pause: int) -> None:
    idler = Idler(name)
    assert pauses(idler, 100) == [pause] * 100
    idler.reset()
    assert idler.next_pause() == pause


def test_the_names_are_those_of_configurations() -> None:
    assert set(IDLE_NAMES) == {"busy", "yield", "backoff", "sleep"}


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="busy, yield, backoff, sleep"):
        Idler("doze")  # type: ignore[arg-type]


def test_idling_does_what_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[int]()
    monkeypatch.setattr(os, "sched_yield", lambda: done.append(YIELD))
    monkeypatch.setattr(time, "sleep", lambda seconds: done.append(round(seconds * 1e9)))
    idler = Idler("backoff")
    for _ in range(40):
        idler.idle()
    assert done == [pause for pause in BACKOFF_TABLE if pause != SPIN]


def test_a_sleep_is_at_least_as_long_as_asked() -> None:
    began_ns = time.monotonic_ns()
    sleep_ns(idle.SLEEP_NS)
    assert time.monotonic_ns() - began_ns >= idle.SLEEP_NS
