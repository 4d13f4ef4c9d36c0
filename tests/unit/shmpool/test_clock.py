# SPDX-License-Identifier: Apache-2.0
"""Clocks: the real ones run, the manual one only when told."""

from __future__ import annotations

import time

from framegate.shmpool.clock import Clock, ManualClock, monotonic_ns, realtime_ns


def test_the_monotonic_clock_is_that_of_the_host() -> None:
    """Other processes compare its times with theirs, so it must be CLOCK_MONOTONIC and nothing else."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    now = monotonic_ns()
    assert before <= now <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def test_the_monotonic_clock_never_goes_back() -> None:
    times = [monotonic_ns() for _ in range(1000)]
    assert times == sorted(times)


def test_the_realtime_clock_counts_nanoseconds_since_1970() -> None:
    assert realtime_ns() > 1_700_000_000 * 10**9


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(start_ns=100)
    assert (clock(), clock()) == (100, 100)
    clock.advance(5)
    assert clock() == 105


def test_a_manual_clock_can_be_set_back() -> None:
    clock = ManualClock(start_ns=100)
    clock.advance(-30)
    assert clock() == 70


def test_every_clock_is_a_clock() -> None:
    clocks: list[Clock] = [monotonic_ns, realtime_ns, ManualClock()]
    assert all(isinstance(clock(), int) for clock in clocks)
