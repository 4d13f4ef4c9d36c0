# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that overtake: one suite over the specification and the native checkpointer."""

from __future__ import annotations

import logging

import pytest
from framegate.joinbarrier.checkpoint import Event, UnalignedCheckpointer, Watermark
from framegate.joinbarrier.checkpoint.settings import UnalignedSettings
from framegate.schema.errors import InvalidValue

from tests.conformance.checkpoint_world import SECOND, Pieces, barrier, drained, fill, kinds, payloads

COMPLETE = ["trigger_snapshot", "forward_barrier", "checkpoint_complete"]


@pytest.fixture(params=["reference", "native"])
def make(request: pytest.FixtureRequest) -> Pieces:
    return Pieces(request.param)


def captured(checkpointer: UnalignedCheckpointer) -> dict[int, list[object]]:
    return {
        input_id: [message.payload if isinstance(message, Event) else message for message in messages]
        for input_id, messages in checkpointer.snapshot().items()
    }


def switched(make: Pieces, num_inputs: int = 2, **options: object) -> UnalignedCheckpointer:
    """One that has switched for checkpoint 1, whose barrier came by input 0."""
    checkpointer = make.checkpointer(num_inputs, **options)
    actions = checkpointer.process(0, barrier(unaligned=True), 0)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier"]
    return checkpointer


def test_unaligned_config_defaults(make: Pieces) -> None:
    settings: UnalignedSettings = make.checkpointer(2).settings
    aligner = settings.aligner
    assert (settings.is_enabled, settings.is_forced, settings.late_barrier_timeout_ns) == (True, False, None)
    assert (aligner.alignment_timeout_ns, aligner.max_buffer_per_input) == (30 * SECOND, 100_000)
    assert (aligner.max_buffer_memory_bytes, settings.max_inflight_bytes) == (256 << 20, 512 << 20)


def test_immediate_unaligned_with_flag(make: Pieces) -> None:
    checkpointer = make.checkpointer(2)
    trigger, forward = checkpointer.process(0, barrier(unaligned=True), 0)
    assert (trigger.kind, trigger.barrier, trigger.cause) == ("trigger_snapshot", barrier(unaligned=True), "requested")
    assert (forward.kind, forward.barrier, trigger.pending) == ("forward_barrier", barrier(unaligned=True), (1,))
    assert checkpointer.metrics()["is_in_unaligned_mode"]


def test_force_unaligned_mode(make: Pieces) -> None:
    actions = make.checkpointer(2, force_unaligned=True).process(1, barrier(), 0)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier"]
    assert {action.barrier for action in actions} == {barrier(unaligned=True)}


def test_threshold_switch_from_aligned(make: Pieces) -> None:
    checkpointer = make.checkpointer(3, alignment_timeout_s=1)
    (blocked,) = checkpointer.process(0, barrier(), 5)
    assert (blocked.kind, blocked.barrier) == ("buffered", barrier())
    fill(checkpointer, 0, 2)
    assert checkpointer.on_tick(5 + SECOND) == []
    actions = checkpointer.on_tick(6 + SECOND)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier", "drain_buffered", "drain_buffered"]
    assert (actions[0].barrier, actions[0].cause, actions[0].pending) == (barrier(unaligned=True), "threshold", (1, 2))
    assert drained(actions) == [(0, 0), (0, 1)]
    assert checkpointer.on_tick(9 * SECOND) == []


def test_the_threshold_is_looked_at_when_a_barrier_arrives(make: Pieces) -> None:
    checkpointer = make.checkpointer(3, alignment_timeout_s=1)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 1)
    actions = checkpointer.process(2, barrier(), 2 * SECOND)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier", "drain_buffered"]
    assert actions[0].pending == (1,)


def test_the_last_barrier_completes_aligned_however_late_it_is(make: Pieces) -> None:
    checkpointer = make.checkpointer(2, alignment_timeout_s=1)
    checkpointer.process(0, barrier(), 0)
    actions = checkpointer.process(1, barrier(), 2 * SECOND)
    assert kinds(actions) == COMPLETE
    assert {action.barrier for action in actions} == {barrier()}


def test_inflight_capture_single_channel(make: Pieces) -> None:
    checkpointer = switched(make)
    for number in range(3):
        assert kinds(checkpointer.process(1, Event(number), 0)) == ["pass_through"]
    assert captured(checkpointer) == {1: [0, 1, 2]}


def test_inflight_capture_multiple_channels(make: Pieces) -> None:
    checkpointer = switched(make, 3)
    checkpointer.process(2, Event("c"), 0)
    checkpointer.process(1, Event("a"), 0)
    checkpointer.process(1, Watermark(7), 0)
    checkpointer.process(1, Event("b"), 0)
    assert captured(checkpointer) == {1: ["a", Watermark(7), "b"], 2: ["c"]}
    assert list(captured(checkpointer)) == [1, 2]


def test_late_barrier_consumed_after_snapshot(make: Pieces) -> None:
    checkpointer = switched(make, 3)
    (late,) = checkpointer.process(1, barrier(), 0)
    assert (late.kind, late.input_id) == ("late_barrier", 1)
    assert kinds(checkpointer.process(1, barrier(), 0)) == ["ignored_duplicate"]
    assert kinds(checkpointer.process(0, barrier(), 0)) == ["ignored_duplicate"]


def test_all_late_barriers_received_resets_state(make: Pieces) -> None:
    checkpointer = switched(make)
    checkpointer.process(1, Event("in flight"), 0)
    late, complete = checkpointer.process(1, barrier(), 0)
    assert (late.kind, complete.kind) == ("late_barrier", "checkpoint_complete")
    assert complete.barrier == barrier(unaligned=True)
    assert not checkpointer.metrics()["is_in_unaligned_mode"]
    assert captured(checkpointer) == {1: ["in flight"]}
    assert kinds(checkpointer.process(0, barrier(), 0)) == ["ignored_stale"]
    assert kinds(checkpointer.process(0, barrier(2), 0)) == ["buffered"]
    assert captured(checkpointer) == {}


def test_events_pass_through_after_unaligned_snapshot(make: Pieces) -> None:
    checkpointer = switched(make)
    for input_id in (0, 1):
        action = checkpointer.process(input_id, Event(input_id), 0)[0]
        assert (action.kind, action.input_id) == ("pass_through", input_id)
    assert captured(checkpointer) == {1: [1]}


def test_inflight_buffer_size_limit(make: Pieces) -> None:
    checkpointer = switched(make, max_inflight_bytes=10)
    assert kinds(checkpointer.process(1, Event("a", 10), 0)) == ["pass_through"]
    aborted, passed = checkpointer.process(1, Event("b", 1), 0)
    assert (aborted.kind, aborted.cause, aborted.input_id) == ("aborted", "inflight_limit", 1)
    assert (passed.kind, passed.event.payload if passed.event else None) == ("pass_through", "b")
    assert captured(checkpointer) == {}
    assert kinds(checkpointer.process(1, barrier(), 0)) == ["ignored_aborted"]


def test_disabled_unaligned_stays_aligned(make: Pieces) -> None:
    checkpointer = make.checkpointer(2, enabled=False, force_unaligned=True, alignment_timeout_s=0)
    assert kinds(checkpointer.process(0, barrier(unaligned=True), 0)) == ["buffered"]
    fill(checkpointer, 0, 1)
    assert checkpointer.on_tick(10 * SECOND) == []
    actions = checkpointer.process(1, barrier(unaligned=True), 20 * SECOND)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier", "drain_buffered", "checkpoint_complete"]
    assert checkpointer.metrics()["unaligned_count"] == 0
    assert captured(checkpointer) == {}


def test_metrics_count_unaligned_checkpoints(make: Pieces) -> None:
    checkpointer = make.checkpointer(2)
    for checkpoint_id in (1, 2, 3):
        unaligned = checkpoint_id != 2
        checkpointer.process(0, barrier(checkpoint_id, unaligned=unaligned), 0)
        checkpointer.process(1, Event("in flight", 5), 0)
        checkpointer.process(1, barrier(checkpoint_id), 0)
    metrics = checkpointer.metrics()
    assert (metrics["unaligned_count"], metrics["total_inflight_bytes"]) == (2, 10)
    assert (metrics["checkpoints_completed"], metrics["threshold_switches"]) == (3, 0)


def test_metrics_count_threshold_switches(make: Pieces) -> None:
    checkpointer = make.checkpointer(2, alignment_timeout_s=1)
    checkpointer.process(0, barrier(), 0)
    checkpointer.on_tick(2 * SECOND)
    metrics = checkpointer.metrics()
    assert (metrics["unaligned_count"], metrics["threshold_switches"], metrics["limit_switches"]) == (1, 1, 0)


# --- What the source text leaves open -------------------------------------------------------------------


def test_an_aligned_checkpoint_is_complete_in_the_same_call(make: Pieces) -> None:
    checkpointer = make.checkpointer(2)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 2)
    actions = checkpointer.process(1, barrier(), 0)
    assert kinds(actions) == [*COMPLETE[:2], "drain_buffered", "drain_buffered", "checkpoint_complete"]
    assert drained(actions) == [(0, 0), (0, 1)]
    assert captured(checkpointer) == {}


@pytest.mark.parametrize("unaligned", [False, True])
def test_one_input_completes_at_once(make: Pieces, unaligned: bool) -> None:
    actions = make.checkpointer(1).process(0, barrier(unaligned=unaligned), 0)
    assert kinds(actions) == COMPLETE
    assert {action.barrier for action in actions} == {barrier(unaligned=unaligned)}


def test_a_flagged_barrier_of_the_current_checkpoint_switches_at_once(make: Pieces) -> None:
    checkpointer = make.checkpointer(3)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 1)
    actions = checkpointer.process(1, barrier(unaligned=True), 0)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier", "drain_buffered"]
    assert (actions[0].pending, actions[1].barrier) == ((2,), barrier(unaligned=True))


@pytest.mark.parametrize("limit", [{"max_buffer_per_input": 2}, {"max_buffer_memory_bytes": 2}], ids=repr)
def test_at_either_limit_it_switches_and_the_event_goes_on_last(make: Pieces, limit: dict[str, int]) -> None:
    checkpointer = make.checkpointer(2, **limit)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 2)
    actions = checkpointer.process(0, Event("third", 1), 0)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier", "drain_buffered", "drain_buffered", "pass_through"]
    assert (actions[0].cause, actions[-1].event.payload if actions[-1].event else None) == ("limit", "third")
    assert checkpointer.metrics()["limit_switches"] == 1


@pytest.mark.parametrize("limit", [{"max_buffer_per_input": 2}, {"max_buffer_memory_bytes": 2}], ids=repr)
def test_at_either_limit_it_aborts_where_it_must_not_switch(make: Pieces, limit: dict[str, int]) -> None:
    checkpointer = make.checkpointer(2, enabled=False, **limit)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 2)
    (aborted,) = checkpointer.process(0, Event("third", 1), 0)
    assert (aborted.kind, payloads(aborted.released)) == ("aborted", [(0, 0), (0, 1), (0, "third")])
    assert aborted.cause == ("input_limit" if "max_buffer_per_input" in limit else "memory_limit")


def test_a_higher_barrier_gives_up_an_aligning_checkpoint_first(make: Pieces) -> None:
    checkpointer = make.checkpointer(3)
    checkpointer.process(0, barrier(1), 0)
    fill(checkpointer, 0, 1)
    aborted, blocked = checkpointer.process(1, barrier(2), 0)
    assert (aborted.kind, aborted.barrier, payloads(aborted.released)) == ("aborted", barrier(1), [(0, 0)])
    assert (blocked.kind, blocked.barrier, blocked.released) == ("buffered", barrier(2), [])
    assert kinds(checkpointer.process(2, barrier(1), 0)) == ["ignored_aborted"]


def test_a_higher_barrier_gives_up_a_waiting_checkpoint_and_its_capture(make: Pieces) -> None:
    checkpointer = switched(make)
    checkpointer.process(1, Event("in flight"), 0)
    actions = checkpointer.process(0, barrier(2), 0)
    assert kinds(actions) == ["aborted", "buffered"]
    assert (actions[0].barrier, actions[0].cause) == (barrier(unaligned=True), "higher_barrier")
    assert captured(checkpointer) == {}
    assert kinds(checkpointer.process(1, barrier(1), 0)) == ["ignored_aborted"]
    assert kinds(checkpointer.process(1, barrier(2), 0)) == COMPLETE


def test_a_lower_barrier_is_stale_while_late_ones_are_waited_for(make: Pieces) -> None:
    checkpointer = make.checkpointer(2)
    checkpointer.process(0, barrier(5, unaligned=True), 0)
    assert kinds(checkpointer.process(1, barrier(4), 0)) == ["ignored_stale"]
    assert kinds(checkpointer.process(1, barrier(5), 0)) == ["late_barrier", "checkpoint_complete"]


def test_a_late_barrier_that_stays_out_aborts_with_its_input_named(make: Pieces) -> None:
    checkpointer = switched(make, 3, late_barrier_timeout_s=1)
    checkpointer.process(1, barrier(), 0)
    assert checkpointer.on_tick(SECOND) == []
    (aborted,) = checkpointer.on_tick(SECOND + 1)
    assert (aborted.kind, aborted.cause) == ("aborted", "late_barrier_timeout")
    assert (aborted.input_id, aborted.pending) == (2, (2,))
    assert checkpointer.on_tick(9 * SECOND) == []
    assert kinds(checkpointer.process(2, barrier(), 0)) == ["ignored_aborted"]


def test_an_abort_discards_what_was_captured(make: Pieces) -> None:
    checkpointer = switched(make)
    checkpointer.process(1, Event("in flight"), 0)
    (aborted,) = checkpointer.abort(1)
    assert (aborted.kind, aborted.cause, aborted.pending) == ("aborted", "coordinator", (1,))
    assert captured(checkpointer) == {}
    assert kinds(checkpointer.process(1, Event("later"), 0)) == ["pass_through"]


def test_an_abort_while_aligning_releases_and_one_of_another_id_is_remembered(make: Pieces) -> None:
    checkpointer = make.checkpointer(2)
    checkpointer.process(0, barrier(1), 0)
    fill(checkpointer, 0, 1)
    assert checkpointer.abort(2) == []
    (aborted,) = checkpointer.abort()
    assert payloads(aborted.released) == [(0, 0)]
    assert checkpointer.abort() == []
    assert kinds(checkpointer.process(0, barrier(2), 0)) == ["ignored_aborted"]


def test_an_abort_of_a_complete_checkpoint_forgets_its_capture(make: Pieces) -> None:
    checkpointer = switched(make)
    checkpointer.process(1, Event("in flight"), 0)
    checkpointer.process(1, barrier(), 0)
    assert checkpointer.abort(7) == []
    assert captured(checkpointer) == {1: ["in flight"]}
    assert checkpointer.abort(1) == []
    assert captured(checkpointer) == {}


def test_an_ended_input_owes_no_late_barrier(make: Pieces) -> None:
    checkpointer = switched(make, 3)
    assert checkpointer.end_input(1, 0) == []
    assert kinds(checkpointer.end_input(2, 0)) == ["checkpoint_complete"]
    assert kinds(checkpointer.process(0, barrier(2), 0)) == COMPLETE


def test_an_ended_input_completes_an_alignment(make: Pieces) -> None:
    checkpointer = make.checkpointer(2)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 1)
    actions = checkpointer.end_input(1, 0)
    assert kinds(actions) == ["trigger_snapshot", "forward_barrier", "drain_buffered", "checkpoint_complete"]


@pytest.mark.parametrize("unaligned", [False, True])
def test_a_lost_input_that_owes_its_barrier_aborts_and_is_left_out(make: Pieces, unaligned: bool) -> None:
    checkpointer = make.checkpointer(2)
    checkpointer.process(0, barrier(unaligned=unaligned), 0)
    (aborted,) = checkpointer.lose_input(1)
    assert (aborted.kind, aborted.cause, aborted.input_id) == ("aborted", "input_lost", 1)
    assert kinds(checkpointer.process(0, barrier(2), 0)) == COMPLETE
    checkpointer.resume_input(1)
    assert kinds(checkpointer.process(0, barrier(3), 0)) == ["buffered"]


def test_after_a_failure_the_next_attempt_is_aligned(make: Pieces) -> None:
    checkpointer = make.checkpointer(2, force_unaligned=True)
    checkpointer.process(0, barrier(1), 0)
    assert kinds(checkpointer.fail(1)) == ["aborted"]
    assert kinds(checkpointer.process(0, barrier(2), 0)) == ["buffered"]
    assert kinds(checkpointer.process(1, barrier(2), 0)) == COMPLETE
    assert kinds(checkpointer.process(0, barrier(3), 0)) == ["trigger_snapshot", "forward_barrier"]


def test_an_attempt_that_must_be_aligned_still_switches_at_the_threshold(make: Pieces) -> None:
    checkpointer = make.checkpointer(2, alignment_timeout_s=1)
    checkpointer.fail(1)
    assert kinds(checkpointer.process(0, barrier(2, unaligned=True), 0)) == ["buffered"]
    assert kinds(checkpointer.on_tick(2 * SECOND)) == ["trigger_snapshot", "forward_barrier"]


def test_five_unaligned_in_a_row_name_the_threshold(make: Pieces, caplog: pytest.LogCaptureFixture) -> None:
    checkpointer = make.checkpointer(2, alignment_timeout_s=1.5)
    for checkpoint_id in range(1, 8):
        checkpointer.process(0, barrier(checkpoint_id, unaligned=True), 0)
        checkpointer.process(1, barrier(checkpoint_id), 0)
        assert ("alignment_timeout_s=1.5" in caplog.text) is (checkpoint_id >= 5)
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
    checkpointer.process(0, barrier(8), 0)
    checkpointer.process(1, barrier(8), 0)
    assert checkpointer.metrics()["unaligned_in_a_row"] == 0


def test_what_is_asked_of_a_snapshot_is_a_copy(make: Pieces) -> None:
    checkpointer = switched(make)
    checkpointer.process(1, Event("in flight"), 0)
    checkpointer.snapshot()[1].clear()
    assert captured(checkpointer) == {1: ["in flight"]}


def test_watermarks_of_late_inputs_count_against_the_limit_too(make: Pieces) -> None:
    checkpointer = switched(make, max_inflight_bytes=8)
    assert kinds(checkpointer.process(1, Watermark(1), 0)) == ["watermark_pass_through"]
    assert kinds(checkpointer.process(1, Watermark(2), 0)) == ["aborted", "watermark_pass_through"]


@pytest.mark.parametrize(
    "options", [{"num_inputs": 0}, {"num_inputs": 129}, {"max_inflight_bytes": -1}, {"late_barrier_timeout_s": -1}],
    ids=repr,
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(make: Pieces, options: dict[str, int]) -> None:
    with pytest.raises(InvalidValue, match=f"field={next(iter(options))}"):
        make.checkpointer(**options)
