# SPDX-License-Identifier: Apache-2.0
"""The gate of a stream that several agents cut: one suite over both implementations, and both against each other."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.spec.checkpoint.ingress import IngressGate
from hypothesis import given
from hypothesis import strategies as st

import framegate._native as _native

E = 7
IMPLEMENTATIONS = {"reference": IngressGate, "native": _native.IngressGate}


@pytest.fixture(params=sorted(IMPLEMENTATIONS))
def gate(request: pytest.FixtureRequest) -> Any:
    return IMPLEMENTATIONS[request.param]()


def verdicts(gate: Any, *seqs: int) -> list[str]:
    return [gate.frame(E, seq)[0] for seq in seqs]


def test_while_it_is_held_nothing_passes_and_then_everything_up_to_the_place(gate: Any) -> None:
    assert gate.hold(4, (E, 10), 0) == (E, 10)
    assert verdicts(gate, 11, 12, 13) == ["wait"] * 3
    assert gate.cut(4, (E, 12), (E, 13)) == "due"
    assert gate.frame(E, 11) == ("pass", 0)
    assert gate.frame(E, 12) == ("cut_behind", 4)
    assert gate.frame(E, 13) == ("pass", 0)
    assert gate.is_open


def test_who_stands_at_the_place_is_cut_at_once(gate: Any) -> None:
    gate.hold(4, (E, 10), 0)
    assert verdicts(gate, 11) == ["wait"]
    assert gate.cut(4, (E, 10), (E, 11)) == "cut"
    assert verdicts(gate, 11) == ["pass"]


def test_a_place_that_was_never_heard_is_cut_before_the_next_frame(gate: Any) -> None:
    gate.hold(4, (E, 10), 0)
    assert gate.cut(4, (E, 12), (E, 10)) == "due"
    assert gate.frame(E, 14) == ("cut_before", 4)


def test_before_the_first_frame_there_is_a_place_too(gate: Any) -> None:
    gate.hold(4, (E, None), 0)
    assert gate.cut(4, (E, None), (E, None)) == "cut"
    gate.hold(5, (E, None), 0)
    assert gate.cut(5, (E, 0), (E, None)) == "due"
    assert gate.frame(E, 0) == ("cut_behind", 5)


def test_nobody_who_is_past_the_place_cuts(gate: Any) -> None:
    """It was not held: it may have started when the others were asked."""
    assert gate.cut(4, (E, 10), (E, 11)) == "past"
    gate.hold(5, (E, 11), 0)
    assert gate.cut(5, (E, 10), (E, 11)) == "past"
    assert gate.is_open


def test_who_was_not_held_and_is_not_past_the_place_cuts_there(gate: Any) -> None:
    assert gate.cut(4, (E, 12), (E, 10)) == "due"
    assert gate.frame(E, 12) == ("cut_behind", 4)


@pytest.mark.parametrize("standing", [(E + 1, 3), (None, None)])
def test_another_epoch_cannot_be_cut_there(gate: Any, standing: tuple[int | None, int | None]) -> None:
    gate.hold(4, standing, 0)
    assert gate.cut(4, (E, 10), standing) == "other_epoch"
    assert gate.is_open


def test_a_place_in_an_epoch_that_is_over_holds_nobody_up(gate: Any) -> None:
    gate.hold(4, (E, 10), 0)
    gate.cut(4, (E, 12), (E, 10))
    assert gate.frame(E + 1, 0) == ("pass", 0)
    assert gate.is_open


def test_what_was_told_is_told_again_although_more_has_come(gate: Any) -> None:
    gate.hold(4, (E, 10), 0)
    assert gate.hold(4, (E, 15), 5) == (E, 10)
    # Another checkpoint took its place: what waits was not taken for either.
    assert gate.hold(5, (E, 15), 5) == (E, 10)
    assert gate.cut(4, (E, 10), (E, 15)) == "over"
    assert gate.cut(5, (E, 10), (E, 15)) == "cut"


def test_a_checkpoint_that_was_cut_or_given_up_is_over(gate: Any) -> None:
    gate.hold(4, (E, 10), 0)
    gate.cut(4, (E, 10), (E, 10))
    assert gate.hold(4, (E, 11), 0) is None
    assert gate.cut(4, (E, 12), (E, 11)) == "over"
    gate.hold(5, (E, 11), 0)
    assert gate.give_up(4) is None
    assert gate.give_up(5) == 5
    assert gate.hold(5, (E, 11), 0) is None
    assert gate.is_open


def test_a_cut_said_twice_is_one(gate: Any) -> None:
    gate.hold(4, (E, 10), 0)
    assert gate.cut(4, (E, 12), (E, 10)) == gate.cut(4, (E, 12), (E, 10)) == "due"
    assert gate.hold(4, (E, 10), 0) is None


def test_only_a_hold_is_overdue(gate: Any) -> None:
    gate.hold(4, (E, 10), 100)
    assert [gate.is_overdue(now, 50) for now in (0, 150, 151)] == [False, False, True]
    gate.cut(4, (E, 12), (E, 10))
    assert not gate.is_overdue(10_000, 50)


PLACES = st.tuples(st.sampled_from([None, E, E + 1]), st.sampled_from([None, 0, 1, 2, 3]))
STEPS = st.one_of(
    st.tuples(st.just("hold"), st.integers(1, 4), PLACES, st.integers(0, 9)),
    st.tuples(st.just("cut"), st.integers(1, 4), PLACES, PLACES),
    st.tuples(st.just("frame"), st.sampled_from([E, E + 1]), st.integers(0, 4)),
    st.tuples(st.just("frame"), st.just(E), st.integers(0, 4)),
    st.tuples(st.just("give_up"), st.one_of(st.none(), st.integers(1, 4))),
    st.tuples(st.just("is_overdue"), st.integers(0, 9), st.integers(0, 5)),
)


@given(st.lists(STEPS, max_size=40))
def test_both_gates_say_the_same(script: list[tuple[Any, ...]]) -> None:
    reference, native = IngressGate(), _native.IngressGate()
    for name, *arguments in script:
        said = [getattr(each, name)(*arguments) for each in (reference, native)]
        assert said[0] == said[1], (name, arguments)
        for fact in ("is_held", "is_open", "epoch", "current"):
            assert getattr(reference, fact) == getattr(native, fact), (name, arguments, fact)
