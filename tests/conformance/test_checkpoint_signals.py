# SPDX-License-Identifier: Apache-2.0
"""Control signals, aligned by count: one suite over both implementations."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.joinbarrier.checkpoint import (
    AlignmentStateError,
    BarrierSignal,
    DuplicateBarrier,
    InstantSignal,
    OverlappingBarrier,
    SignalAligner,
)
from framegate.joinbarrier.checkpoint.settings import Implementation
from framegate.schema.errors import InvalidValue
from framegate.spec.checkpoint.input_signals import InputSignals
from hypothesis import given
from hypothesis import strategies as st

import framegate._native as _native

END = BarrierSignal("StreamGracefulEnd", 0)


@pytest.fixture(params=["reference", "native"])
def impl(request: pytest.FixtureRequest) -> Implementation:
    found: Implementation = request.param
    return found


def sync(barrier_id: int) -> BarrierSignal:
    return BarrierSignal("SyncTest", barrier_id)


def test_a_barrier_signal_is_given_on_once_when_every_upstream_delivered_it(impl: Implementation) -> None:
    aligner = SignalAligner(3, impl)
    assert [aligner.align(sync(1)) for _ in range(3)] == [None, None, sync(1)]
    assert aligner.pending is None
    assert [aligner.align(sync(2)) for _ in range(3)] == [None, None, sync(2)]


def test_one_upstream_completes_at_once(impl: Implementation) -> None:
    assert SignalAligner(1, impl).align(sync(1)) == sync(1)


def test_instant_signals_pass_also_while_another_is_pending(impl: Implementation) -> None:
    aligner = SignalAligner(2, impl)
    aligner.align(sync(1))
    assert aligner.align(InstantSignal("SyncTest")) == InstantSignal("SyncTest")
    assert aligner.pending == sync(1)


@pytest.mark.parametrize("other", [sync(2), BarrierSignal("StreamGracefulEnd", 1)], ids=repr)
def test_another_signal_while_one_is_pending_is_refused_and_changes_nothing(
    impl: Implementation, other: BarrierSignal
) -> None:
    aligner = SignalAligner(2, impl)
    aligner.align(sync(1))
    with pytest.raises(OverlappingBarrier, match="pending_id=1"):
        aligner.align(other)
    assert aligner.align(sync(1)) == sync(1)


def test_more_arrivals_than_upstreams_are_refused_and_change_nothing(impl: Implementation) -> None:
    aligner = SignalAligner(2, impl)
    for _ in range(2):
        aligner.align(sync(1))
    with pytest.raises(DuplicateBarrier, match="barrier_id=1"):
        aligner.align(sync(1))
    assert [aligner.align(sync(2)), aligner.align(sync(2))] == [None, sync(2)]


@pytest.mark.parametrize("late", [5, 6, 3], ids=["complete before the last", "the last complete", "never complete"])
def test_a_repeat_of_an_older_signal_is_refused_and_does_not_hold_up_later_ones(
    impl: Implementation, late: int
) -> None:
    aligner = SignalAligner(2, impl)
    assert [aligner.align(sync(each)) for each in (5, 5, 6, 6)] == [None, sync(5), None, sync(6)]
    with pytest.raises(DuplicateBarrier, match=f"barrier_id={late}"):
        aligner.align(sync(late))
    assert aligner.pending is None
    assert [aligner.align(sync(each)) for each in (7, 7)] == [None, sync(7)]
    end = BarrierSignal("StreamGracefulEnd", 8)
    assert [aligner.align(end), aligner.align(end)] == [None, end]


def test_a_repeat_of_an_older_signal_while_another_is_pending_overlaps(impl: Implementation) -> None:
    aligner = SignalAligner(2, impl)
    for each in (5, 5, 6):
        aligner.align(sync(each))
    with pytest.raises(OverlappingBarrier, match="pending_id=6"):
        aligner.align(sync(5))
    assert aligner.align(sync(6)) == sync(6)


def test_kinds_count_apart(impl: Implementation) -> None:
    """The end of an independent producer has id 0, whatever was complete before it."""
    aligner = SignalAligner(2, impl)
    assert [aligner.align(each) for each in (sync(7), sync(7), END, END)] == [None, sync(7), None, END]


def test_only_ends_are_terminal() -> None:
    assert END.is_terminal
    assert InstantSignal("StreamGracefulEnd").is_terminal
    assert not sync(1).is_terminal
    assert not InstantSignal("SyncTest").is_terminal


def test_an_ended_upstream_counts_for_the_pending_signal_and_every_later_one(impl: Implementation) -> None:
    aligner = SignalAligner(3, impl)
    aligner.align(sync(1))
    aligner.align(sync(1))
    assert aligner.end_input() == sync(1)
    assert [aligner.align(sync(2)), aligner.align(sync(2))] == [None, sync(2)]
    assert aligner.end_input() is None
    assert aligner.align(sync(3)) == sync(3)


def test_an_upstream_that_had_delivered_before_it_ended_counts_once(impl: Implementation) -> None:
    aligner = SignalAligner(2, impl)
    aligner.align(sync(1))
    assert aligner.end_input(has_delivered=True) is None
    assert aligner.align(sync(1)) == sync(1)
    assert aligner.align(sync(2)) == sync(2)


def test_more_ends_than_upstreams_are_refused(impl: Implementation) -> None:
    aligner = SignalAligner(1, impl)
    aligner.end_input()
    with pytest.raises(AlignmentStateError):
        aligner.end_input()
    with pytest.raises(DuplicateBarrier):
        aligner.align(sync(1))


@pytest.mark.parametrize("wrong", [("Nonsense", 1), ("SyncTest", -1), ("SyncTest", 2**64)], ids=repr)
def test_signals_that_there_are_not_are_refused(wrong: tuple[str, int]) -> None:
    with pytest.raises(InvalidValue):
        BarrierSignal(*wrong)


def test_what_is_no_signal_is_refused(impl: Implementation) -> None:
    with pytest.raises(InvalidValue, match="field=signal"):
        SignalAligner(1, impl).align("SyncTest")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="field=expected_upstreams"):
        SignalAligner(0, impl)


# --- Upstreams that are known: the streams of a join -----------------------------------------------------

SYNC, DONE = 1, 0


def input_signals(impl: Implementation, inputs: int = 2) -> Any:
    return _native.InputSignals(inputs) if impl == "native" else InputSignals(inputs)


def test_an_input_that_delivers_twice_counts_once(impl: Implementation) -> None:
    signals = input_signals(impl)
    found = [signals.arrive(0, (7, SYNC)), signals.arrive(0, (7, SYNC)), signals.arrive(1, (7, SYNC))]
    assert found == ["pending", "refused", (7, SYNC)]
    assert (signals.arrive(1, (7, SYNC)), signals.arrive(0, (6, SYNC))) == ("refused", "refused")


def test_an_end_for_all_is_complete_when_the_last_input_delivers_it(impl: Implementation) -> None:
    """Each input that delivered it has ended as well: that must not count twice."""
    signals = input_signals(impl)
    assert (signals.arrive(0, (9, DONE)), signals.end(0)) == ("pending", "pending")
    assert signals.arrive(1, (9, DONE)) == (9, DONE)
    assert signals.end(1) == "pending"


def test_an_ended_input_owes_nothing_and_another_epoch_of_it_does(impl: Implementation) -> None:
    signals = input_signals(impl)
    signals.arrive(0, (1, SYNC))
    assert signals.end(1) == (1, SYNC)
    assert signals.arrive(0, (2, SYNC)) == (2, SYNC)
    signals.resume(1)
    assert (signals.arrive(0, (3, SYNC)), signals.arrive(1, (3, SYNC))) == ("pending", (3, SYNC))


def test_a_lost_input_gives_up_what_it_owed_and_is_left_out_until_it_is_back(impl: Implementation) -> None:
    signals = input_signals(impl)
    signals.arrive(0, (1, SYNC))
    signals.lose(1)
    assert (signals.pending, signals.given_up) == (None, 1)
    assert signals.arrive(0, (2, SYNC)) == (2, SYNC)
    signals.resume(1)
    assert signals.arrive(0, (3, SYNC)) == "pending"


def test_a_signal_that_an_input_skipped_does_not_hold_up_later_ones(impl: Implementation) -> None:
    signals = input_signals(impl)
    signals.arrive(0, (1, SYNC))
    assert (signals.arrive(1, (2, SYNC)), signals.given_up) == ("pending", 1)
    assert signals.arrive(0, (2, SYNC)) == (2, SYNC)


def test_an_input_that_is_ahead_overlaps_and_changes_nothing(impl: Implementation) -> None:
    signals = input_signals(impl)
    signals.arrive(0, (1, SYNC))
    assert signals.arrive(0, (2, SYNC)) == "refused"
    assert signals.arrive(1, (1, SYNC)) == (1, SYNC)


_INPUT = st.integers(0, 3)
_STEPS = st.one_of(
    st.tuples(st.just("arrive"), _INPUT, st.tuples(st.integers(1, 5), st.integers(0, 1))),
    st.tuples(st.sampled_from(["end", "lose", "resume"]), _INPUT),
)


@given(st.lists(_STEPS, max_size=40))
def test_both_implementations_answer_alike_whatever_comes(steps: list[tuple[Any, ...]]) -> None:
    native, twin = input_signals("native", 3), input_signals("reference", 3)
    for name, *arguments in steps:
        if name != "arrive" and arguments[0] == 3:
            continue
        assert getattr(native, name)(*arguments) == getattr(twin, name)(*arguments)
        assert (native.pending, native.last, native.given_up) == (twin.pending, twin.last, twin.given_up)
