# SPDX-License-Identifier: Apache-2.0
"""Aligned checkpoints: one suite over the specification and the native aligner."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from framegate.joinbarrier.checkpoint import (
    AlignmentStateError,
    BarrierAligner,
    CheckpointBarrier,
    Event,
    Watermark,
)
from framegate.schema.errors import InvalidValue

from tests.conformance.checkpoint_world import SECOND, Pieces, barrier, fill, payloads


@pytest.fixture(params=["reference", "native"])
def make(request: pytest.FixtureRequest) -> Pieces:
    return Pieces(request.param)


def align(aligner: BarrierAligner, inputs: list[int], checkpoint_id: int = 1, now_ns: int = 0) -> list[str]:
    return [aligner.process(each, barrier(checkpoint_id), now_ns).kind for each in inputs]


def test_single_input_immediate_alignment(make: Pieces) -> None:
    aligner = make.aligner(1)
    action = aligner.process(0, barrier(), 0)
    assert (action.kind, action.barrier) == ("trigger_snapshot", barrier())
    assert aligner.complete_alignment() == []
    assert aligner.process(0, Event("after"), 0).kind == "pass_through"


@pytest.mark.parametrize("order", [[0, 1]])
def test_two_input_alignment_order_1_2(make: Pieces, order: list[int]) -> None:
    aligner = make.aligner(2)
    assert align(aligner, order) == ["buffered", "trigger_snapshot"]


def test_two_input_alignment_order_2_1(make: Pieces) -> None:
    aligner = make.aligner(2)
    first = aligner.process(1, barrier(), 0)
    assert (first.kind, first.input_id, first.barrier) == ("buffered", 1, barrier())
    assert align(aligner, [0]) == ["trigger_snapshot"]


def test_three_input_alignment(make: Pieces) -> None:
    aligner = make.aligner(3)
    assert align(aligner, [2, 0]) == ["buffered", "buffered"]
    assert (aligner.aligned_inputs, aligner.pending_inputs, aligner.is_aligning) == (2, (1,), True)
    assert align(aligner, [1]) == ["trigger_snapshot"]


def test_events_buffered_from_aligned_input(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    action = aligner.process(0, Event(b"four"), 0)
    assert (action.kind, action.input_id, action.event) == ("buffered", 0, None)
    assert (aligner.buffered_events, aligner.buffered_bytes) == (1, 4)


def test_events_pass_through_unaligned_input(make: Pieces) -> None:
    aligner, event = make.aligner(2), Event("before the barrier")
    align(aligner, [0])
    action = aligner.process(1, event, 0)
    assert (action.kind, action.input_id) == ("pass_through", 1)
    assert action.event is event


def test_drain_after_alignment(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    fill(aligner, 0, 3)
    align(aligner, [1])
    assert payloads(aligner.complete_alignment()) == [(0, 0), (0, 1), (0, 2)]


def test_drain_round_robin_fairness(make: Pieces) -> None:
    aligner = make.aligner(3)
    for input_id, count in ((2, 3), (0, 1)):
        align(aligner, [input_id])
        fill(aligner, input_id, count)
    align(aligner, [1])
    fill(aligner, 1, 2)
    assert payloads(aligner.complete_alignment()) == [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)]


def test_alignment_timeout_detection(make: Pieces, caplog: pytest.LogCaptureFixture) -> None:
    aligner = make.aligner(3, alignment_timeout_s=1)
    align(aligner, [1], now_ns=5)
    fill(aligner, 1, 2)
    assert aligner.check_timeout(5 + SECOND) is None
    with caplog.at_level(logging.WARNING):
        action = aligner.check_timeout(6 + SECOND)
    assert action is not None
    assert (action.kind, action.barrier, action.cause, action.pending) == ("aborted", barrier(), "timeout", (0, 2))
    assert payloads(action.released) == [(1, 0), (1, 1)]
    assert not aligner.is_aligning
    assert "waiting for inputs [0, 2]; aligned inputs [1], 2 events buffered" in caplog.text
    assert aligner.check_timeout(9 * SECOND) is None


def test_buffer_limit_exceeded(make: Pieces) -> None:
    aligner = make.aligner(2, max_buffer_memory_bytes=10)
    align(aligner, [0])
    assert [action.kind for action in fill(aligner, 0, 3, size=5)] == ["buffered", "buffered", "aborted"]
    assert not aligner.is_aligning
    assert align(aligner, [1]) == ["ignored_aborted"]


def test_the_event_that_does_not_fit_is_released_last(make: Pieces) -> None:
    aligner = make.aligner(3, max_buffer_memory_bytes=10)
    align(aligner, [0, 1])
    aligner.process(0, Event("a", 5), 0)
    aligner.process(1, Event("b", 5), 0)
    action = aligner.process(0, Event("c", 1), 0)
    assert (action.kind, action.cause, action.pending) == ("aborted", "memory_limit", (2,))
    assert payloads(action.released) == [(0, "a"), (1, "b"), (0, "c")]


def test_an_input_that_is_full_hands_the_event_back(make: Pieces) -> None:
    aligner, event = make.aligner(2, max_buffer_per_input=2), Event("too many")
    align(aligner, [0])
    fill(aligner, 0, 2)
    action = aligner.process(0, event, 0)
    assert (action.kind, action.input_id) == ("input_full", 0)
    assert action.event is event
    assert (aligner.buffered_events, aligner.is_aligning, aligner.metrics()["input_full"]) == (2, True, 1)


def test_complete_alignment_resets_state(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0, 1])
    aligner.complete_alignment()
    state = aligner.is_aligning, aligner.aligned_inputs, aligner.pending_inputs, aligner.buffered_events
    assert state == (False, 0, (), 0)
    assert [aligner.process(each, Event(0), 0).kind for each in (0, 1)] == ["pass_through"] * 2


def test_duplicate_barrier_ignored(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    action = aligner.process(0, barrier(), 0)
    assert (action.kind, action.barrier, action.input_id) == ("ignored_duplicate", barrier(), 0)
    assert aligner.aligned_inputs == 1
    assert aligner.metrics()["ignored_duplicate"] == 1


def test_metrics_updated_on_alignment(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    fill(aligner, 0, 2)
    fields = "alignments_completed", "total_events_buffered", "current_buffered", "is_aligning"
    assert [aligner.metrics()[name] for name in fields] == [0, 2, 2, True]
    align(aligner, [1])
    aligner.complete_alignment()
    assert [aligner.metrics()[name] for name in fields] == [1, 2, 0, False]


def test_max_alignment_duration_tracked(make: Pieces) -> None:
    aligner = make.aligner(2)
    for checkpoint_id, (begin, end) in enumerate([(0, 7), (10, 13), (20, 15)], start=1):
        aligner.process(0, barrier(checkpoint_id), begin)
        aligner.process(1, barrier(checkpoint_id), end)
        aligner.complete_alignment()
    assert aligner.metrics()["max_alignment_duration"] == 7


def test_128_input_alignment(make: Pieces) -> None:
    aligner = make.aligner(128)
    assert align(aligner, [127, *range(126)]) == ["buffered"] * 127
    assert (aligner.aligned_inputs, aligner.pending_inputs) == (127, (126,))
    fill(aligner, 127, 1)
    assert align(aligner, [126]) == ["trigger_snapshot"]
    assert payloads(aligner.complete_alignment()) == [(127, 0)]


def test_watermark_passthrough_during_alignment(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    action = aligner.process(0, Watermark(5), 0)
    assert (action.kind, action.watermark, action.input_id) == ("watermark_pass_through", Watermark(5), 0)


def test_watermark_passthrough_no_alignment(make: Pieces) -> None:
    action = make.aligner(2).process(1, Watermark(-5), 0)
    assert (action.kind, action.watermark, action.input_id) == ("watermark_pass_through", Watermark(-5), 1)


def test_complete_alignment_reuses_drain_queue(make: Pieces) -> None:
    """Native memory is counted in native/checkpoint/tests; here each event comes out once, again and again."""
    aligner = make.aligner(2)
    for checkpoint_id in range(1, 4):
        align(aligner, [0], checkpoint_id)
        fill(aligner, 0, 2)
        align(aligner, [1], checkpoint_id)
        assert payloads(aligner.complete_alignment()) == [(0, 0), (0, 1)]


# --- What the source text leaves open -------------------------------------------------------------------


def test_events_between_trigger_and_completion_stay_behind(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    fill(aligner, 0, 1)
    align(aligner, [1])
    assert aligner.process(1, Event("behind"), 0).kind == "buffered"
    assert aligner.process(0, Watermark(1), 0).kind == "watermark_pass_through"
    assert payloads(aligner.complete_alignment()) == [(0, 0), (1, "behind")]


@pytest.mark.parametrize("checkpoint_id", [1, 2])
def test_a_barrier_between_trigger_and_completion_is_an_error_that_changes_nothing(
    make: Pieces, checkpoint_id: int
) -> None:
    aligner = make.aligner(2)
    align(aligner, [0, 1])
    with pytest.raises(AlignmentStateError, match="checkpoint_id=1"):
        aligner.process(0, barrier(checkpoint_id), 0)
    assert aligner.complete_alignment() == []


def test_completing_what_was_not_triggered_is_an_error(make: Pieces) -> None:
    aligner = make.aligner(2)
    with pytest.raises(AlignmentStateError):
        aligner.complete_alignment()
    align(aligner, [0])
    with pytest.raises(AlignmentStateError, match="checkpoint_id=1"):
        aligner.complete_alignment()
    assert align(aligner, [1]) == ["trigger_snapshot"]


def test_a_triggered_checkpoint_can_be_aborted(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    fill(aligner, 0, 1)
    align(aligner, [1])
    action = aligner.abort(1)
    assert action is not None
    assert (action.kind, payloads(action.released)) == ("aborted", [(0, 0)])
    with pytest.raises(AlignmentStateError):
        aligner.complete_alignment()


def test_a_higher_barrier_cancels_and_begins_anew(make: Pieces) -> None:
    aligner = make.aligner(3)
    align(aligner, [0, 1], 1)
    fill(aligner, 0, 2)
    fill(aligner, 1, 1)
    action = aligner.process(1, barrier(2), 0)
    assert (action.kind, action.barrier) == ("buffered", barrier(2))
    assert payloads(action.released) == [(0, 0), (1, 0), (0, 1)]
    assert align(aligner, [2], 1) == ["ignored_aborted"]
    assert align(aligner, [0, 2], 2) == ["buffered", "trigger_snapshot"]


def test_lower_barriers_are_stale_before_during_and_after(make: Pieces) -> None:
    aligner = make.aligner(2, floor=3)
    assert align(aligner, [0], 3) == ["ignored_stale"]
    assert align(aligner, [0], 5) == ["buffered"]
    assert align(aligner, [1], 4) == ["ignored_stale"]
    align(aligner, [1], 5)
    aligner.complete_alignment()
    assert align(aligner, [0, 1], 5) == ["ignored_stale"] * 2
    assert aligner.metrics()["ignored_stale"] == 4


def test_an_abort_of_an_id_not_seen_yet_is_only_remembered(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0], 1)
    assert aligner.abort(2) is None
    assert align(aligner, [1], 1) == ["trigger_snapshot"]
    aligner.complete_alignment()
    assert align(aligner, [0, 1], 2) == ["ignored_aborted"] * 2
    assert align(aligner, [0], 3) == ["buffered"]


def test_an_abort_without_an_id_means_the_current_one(make: Pieces) -> None:
    aligner = make.aligner(2)
    assert aligner.abort() is None
    align(aligner, [0])
    action = aligner.abort()
    assert action is not None
    assert (action.kind, action.barrier, action.cause) == ("aborted", barrier(), "coordinator")


def test_an_ended_input_counts_for_the_current_and_every_later_barrier(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    fill(aligner, 0, 1)
    action = aligner.end_input(1, 3)
    assert action is not None
    assert (action.kind, action.barrier) == ("trigger_snapshot", barrier())
    assert payloads(aligner.complete_alignment()) == [(0, 0)]
    assert align(aligner, [0], 2) == ["trigger_snapshot"]
    aligner.complete_alignment()
    aligner.resume_input(1)
    assert align(aligner, [0, 1], 3) == ["buffered", "trigger_snapshot"]


def test_a_lost_input_aborts_what_it_owes_and_is_left_out(make: Pieces) -> None:
    aligner = make.aligner(3)
    align(aligner, [0])
    fill(aligner, 0, 1)
    action = aligner.lose_input(2)
    assert action is not None
    assert (action.kind, action.cause, action.input_id, action.pending) == ("aborted", "input_lost", 2, (1, 2))
    assert payloads(action.released) == [(0, 0)]
    assert align(aligner, [0, 1], 2) == ["buffered", "trigger_snapshot"]


def test_a_lost_input_that_owes_nothing_aborts_nothing(make: Pieces) -> None:
    aligner = make.aligner(2)
    align(aligner, [0])
    assert aligner.lose_input(0) is None
    assert align(aligner, [1]) == ["trigger_snapshot"]


def test_the_callback_is_called_once_for_each_complete_alignment(make: Pieces) -> None:
    told: list[CheckpointBarrier] = []
    aligner = make.aligner(2, on_alignment_complete=told.append)
    align(aligner, [0])
    assert told == []
    align(aligner, [1])
    assert told == [barrier()]
    aligner.complete_alignment()
    align(aligner, [0], 2)
    aligner.end_input(1, 0)
    assert told == [barrier(), barrier(2)]


def test_the_epoch_of_the_first_barrier_counts_and_others_are_counted(make: Pieces) -> None:
    aligner = make.aligner(2)
    aligner.process(0, barrier(1, 4), 0)
    assert aligner.process(1, barrier(1, 5), 0).barrier == barrier(1, 4)
    assert aligner.metrics()["epoch_mismatches"] == 1


def test_the_snapshot_has_each_inputs_watermark_from_before_its_barrier(make: Pieces) -> None:
    aligner = make.aligner(2)
    for input_id, ms in ((0, 10), (1, 20)):
        aligner.process(input_id, Watermark(ms), 0)
    align(aligner, [0])
    aligner.process(0, Watermark(30), 0)
    aligner.process(1, Watermark(25), 0)
    align(aligner, [1])
    aligner.process(1, Watermark(40), 0)
    assert (aligner.input_watermarks(), aligner.operator_watermark()) == ([10, 25], 10)
    aligner.complete_alignment()
    assert (aligner.input_watermarks(), aligner.operator_watermark()) == ([30, 40], 30)


def test_the_operators_watermark_waits_for_every_input_that_can_bring_events(make: Pieces) -> None:
    aligner = make.aligner(2)
    aligner.process(0, Watermark(10), 0)
    assert aligner.operator_watermark() is None
    aligner.process(0, Watermark(5), 0)
    aligner.end_input(1, 0)
    assert aligner.operator_watermark() == 10
    aligner.end_input(0, 0)
    assert aligner.operator_watermark() is None


def test_a_clock_that_is_set_back_times_nothing_out(make: Pieces) -> None:
    aligner = make.aligner(2, alignment_timeout_s=0)
    align(aligner, [0], now_ns=10)
    assert aligner.check_timeout(3) is None
    assert aligner.check_timeout(10) is None
    assert aligner.check_timeout(11) is not None


@pytest.mark.parametrize("num_inputs", [0, 129, -1, "2"])
def test_the_number_of_inputs_is_1_to_128(make: Pieces, num_inputs: int) -> None:
    with pytest.raises(InvalidValue, match="field=num_inputs"):
        make.aligner(num_inputs)


@pytest.mark.parametrize("input_id", [-1, 2, 2**70])
def test_an_input_that_there_is_not_is_refused_everywhere(make: Pieces, input_id: int) -> None:
    aligner = make.aligner(2)
    calls: tuple[Callable[[], object], ...] = (
        lambda: aligner.process(input_id, Event(0), 0),
        lambda: aligner.end_input(input_id, 0),
        lambda: aligner.lose_input(input_id),
        lambda: aligner.resume_input(input_id),
    )
    for call in calls:
        with pytest.raises(InvalidValue, match="field=input_id"):
            call()


def test_what_is_no_message_is_refused(make: Pieces) -> None:
    with pytest.raises(InvalidValue, match="field=message"):
        make.aligner(2).process(0, "event", 0)  # type: ignore[arg-type]


def test_an_implementation_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidValue, match="field=impl"):
        BarrierAligner(2, impl="rust")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{"max_buffer_per_input": -1}, {"max_buffer_memory_bytes": 2**64}, {"alignment_timeout_s": -0.5}, {"floor": -1},
     {"alignment_timeout_s": float("nan")}],
    ids=repr,
)  # fmt: skip
def test_limits_that_make_no_sense_are_refused(make: Pieces, options: dict[str, int]) -> None:
    with pytest.raises(InvalidValue, match=f"field={next(iter(options))}"):
        make.aligner(2, **options)
