# SPDX-License-Identifier: Apache-2.0
"""The coordinator of a pipeline, event by event (PROTOCOL 12.5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.joinbarrier.checkpoint.coordinator.actions import Finish, IssuedIds
from framegate.joinbarrier.checkpoint.coordinator.operators import FORGET_TIMEOUTS
from framegate.joinbarrier.checkpoint.messages import FORCED, MAY_SWITCH, UNALIGNED
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    CheckpointAborted,
    CheckpointComplete,
    InjectBarrier,
    OperatorState,
    PipelineAnnounce,
    TriggerProgress,
    TriggerState,
)

from tests.unit.joinbarrier.coordinator_world import MS, RULES, SECOND, World

TIMEOUT_NS = RULES.operator_timeout_ns


@pytest.fixture
def world() -> World:
    world = World()
    world.settle("a", "b")
    return world


def states(world: World) -> list[TriggerState]:
    return [each.state for each in world.take(TriggerProgress)]


def aborted(checkpoint_id: int, epoch: int) -> CheckpointAborted:
    return CheckpointAborted(
        checkpoint_id=checkpoint_id, epoch=epoch, cause=AbortCause.INPUT_LOST, pipeline="default", reason="x"
    )


def is_idle(world: World) -> bool:
    return world.coordinator.is_idle


# --- the way of one checkpoint ------------------------------------------------------------------------------


def test_a_barrier_is_asked_for_only_after_its_id_lasts(world: World) -> None:
    world.trigger()
    assert world.orders[0].issued == IssuedIds(1, 1)  # type: ignore[union-attr]
    assert not world.take(InjectBarrier)
    world.answer()
    [inject] = world.take(InjectBarrier)
    assert (inject.checkpoint_id, inject.epoch, inject.flags, inject.pipeline) == (1, 1, 0, "default")


def test_the_manifest_is_ordered_after_the_second_step_of_all(world: World) -> None:
    world.begin()
    for name, status in [
        ("a", AckStatus.SNAPSHOT_TAKEN),
        ("b", AckStatus.SNAPSHOT_TAKEN),
        ("a", AckStatus.COMPLETE),
    ]:
        world.ack(name, status)
        assert not world.orders
    world.ack("b", AckStatus.COMPLETE, stored_bytes=5)
    [finish] = world.orders
    assert isinstance(finish, Finish)
    assert (finish.checkpoint_id, finish.acknowledged) == (1, (("a", 20), ("b", 15)))
    assert not world.take(CheckpointComplete)
    world.answer()
    [complete] = world.take(CheckpointComplete)
    assert (complete.checkpoint_id, complete.epoch) == (1, 1)


def test_who_asked_hears_id_time_and_size_before_everybody_hears_that_it_is_complete(world: World) -> None:
    world.trigger(77)
    world.answer()
    world.acks("a")
    world.tick(250 * MS)
    world.acks("b")
    world.answer()
    started, complete = world.take(TriggerProgress)
    assert (started.state, started.checkpoint_id, started.correlation_id) == (TriggerState.STARTED, 1, 77)
    assert (complete.state, complete.duration_ns, complete.bytes) == (TriggerState.COMPLETE, 250 * MS, 20)
    assert isinstance(world.said[-1], CheckpointComplete)


def test_a_step_said_twice_is_one_and_the_second_step_alone_is_both(world: World) -> None:
    world.begin()
    for _ in range(2):
        world.ack("a", AckStatus.SNAPSHOT_TAKEN, stored_bytes=10)
    world.ack("a", AckStatus.COMPLETE, stored_bytes=0)
    world.ack("a", AckStatus.SNAPSHOT_TAKEN, stored_bytes=10)
    world.ack("b", AckStatus.COMPLETE, stored_bytes=4)
    [finish] = world.orders
    assert isinstance(finish, Finish)
    assert finish.acknowledged == (("a", 10), ("b", 4))
    assert world.coordinator.counts["acks_ignored"] == 2


def test_acknowledgements_of_another_id_epoch_or_operator_are_ignored(world: World) -> None:
    world.begin()
    world.ack("a", AckStatus.COMPLETE, checkpoint_id=2)
    world.ack("a", AckStatus.COMPLETE, epoch=9)
    world.ack("stranger", AckStatus.FAILED, reason="mine")
    world.acks("b")
    assert not world.orders
    assert world.coordinator.attempt is not None
    assert world.coordinator.counts["acks_ignored"] == 3


def test_the_barrier_is_asked_for_again_until_all_have_their_snapshot(world: World) -> None:
    world.begin()
    world.take(InjectBarrier)
    world.ack("a", AckStatus.SNAPSHOT_TAKEN)
    world.tick(SECOND)
    assert [each.checkpoint_id for each in world.take(InjectBarrier)] == [1]
    world.ack("b", AckStatus.SNAPSHOT_TAKEN)
    world.tick(SECOND)
    assert not world.take(InjectBarrier)


def test_who_says_hello_during_a_checkpoint_takes_part_in_the_next(world: World) -> None:
    world.begin()
    world.hello("c")
    world.acks("a", "b")
    world.answer()
    world.begin()
    world.acks("a", "b")
    assert not world.orders
    world.acks("c")
    assert len(world.orders) == 1


# --- giving up ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason", "cause"),
    [
        ("a", "LATE_BARRIER_TIMEOUT: input left (stream 10001) owes its barrier", AbortCause.LATE_BARRIER_TIMEOUT),
        ("a", "disk full: input left", AbortCause.OPERATOR_FAILED),
        ("source-10001", "nobody subscribes, input left", AbortCause.INJECTION_FAILED),
    ],
)
def test_a_failure_ends_the_checkpoint_with_its_cause_and_the_input(
    world: World, name: str, reason: str, cause: AbortCause
) -> None:
    world.begin()
    world.ack(name, AckStatus.FAILED, reason=reason)
    [aborted] = world.take(CheckpointAborted)
    assert (aborted.checkpoint_id, aborted.epoch, aborted.cause) == (1, 1, cause)
    assert name in aborted.reason
    assert "input left" in aborted.reason
    assert states(world)[-1] == TriggerState.ABORTED
    assert f"{cause.name}: {name}: " in world.warnings[0]


def test_a_source_that_is_named_like_an_operator_is_one() -> None:
    world = World()
    world.settle("source-1")
    world.begin()
    world.ack("source-1", AckStatus.FAILED, reason="x")
    assert world.take(CheckpointAborted)[0].cause == AbortCause.OPERATOR_FAILED


def test_a_timeout_names_who_owes_what(world: World) -> None:
    world.begin()
    world.ack("a", AckStatus.SNAPSHOT_TAKEN)
    for _ in range(41):
        world.tick(SECOND)
        world.hello("a")
        world.hello("b")
    assert world.coordinator.attempt is not None
    world.tick(1)
    [aborted] = world.take(CheckpointAborted)
    assert aborted.cause == AbortCause.TIMEOUT
    assert "a (in-flight data), b (snapshot)" in aborted.reason


def test_another_ones_abort_of_the_checkpoint_under_way_is_heard_and_of_any_other_is_not(world: World) -> None:
    world.begin()
    for named in [(2, 1), (1, 4)]:
        world.hear(aborted(*named))
        assert world.coordinator.attempt is not None
    world.hear(aborted(1, 1))
    assert world.take(CheckpointAborted)[0].cause == AbortCause.INPUT_LOST


def test_what_others_give_as_a_reason_says_nothing_to_a_terminal(world: World) -> None:
    world.begin()
    world.hear(replace(aborted(1, 1), reason="\x1b[2J\nWARNING all is well"))
    assert world.warnings[-1].endswith(r"INPUT_LOST: \x1b[2J\nWARNING all is well")
    assert world.take(CheckpointAborted)[0].reason == r"\x1b[2J\nWARNING all is well"


def test_nothing_ends_a_checkpoint_whose_manifest_is_being_written(world: World) -> None:
    world.begin()
    world.acks("a", "b")
    world.ack("a", AckStatus.FAILED, reason="too late")
    world.hello("b", state=OperatorState.LEAVING)
    world.tick(50 * SECOND)
    assert not world.take(CheckpointAborted)
    assert "waits for its store" in world.warnings[-1]
    world.answer()
    assert world.take(CheckpointComplete)


def test_a_store_that_fails_aborts_and_the_id_is_not_used_again(world: World) -> None:
    world.begin()
    world.acks("a", "b")
    world.answer(fails=True)
    assert world.take(CheckpointAborted)[0].cause == AbortCause.STORE_FAILED
    assert world.begin() == 2


def test_an_id_that_could_not_be_stored_is_given_to_nobody(world: World) -> None:
    world.trigger()
    world.answer(fails=True)
    assert not world.take(InjectBarrier)
    [refused] = world.take(TriggerProgress)
    assert (refused.state, refused.checkpoint_id) == (TriggerState.REFUSED, 0)
    assert "no room" in refused.reason
    assert world.begin() == 2


def test_after_a_failure_to_serialise_the_next_attempt_is_aligned() -> None:
    world = World(replace(RULES, is_forced=True))
    world.settle("a")
    for cause in (AbortCause.SERIALISATION_FAILED, AbortCause.CHANNEL_READ_FAILED):
        world.begin()
        assert world.take(InjectBarrier)[-1].flags == UNALIGNED
        world.ack("a", AckStatus.FAILED, reason=f"{cause.name}: input left")
        world.take(PipelineAnnounce)
        world.begin()
        assert world.take(InjectBarrier)[-1].flags == 0
        assert world.take(PipelineAnnounce)[-1].flags == 0
        world.acks("a")
        world.answer()
    world.begin()
    assert world.take(PipelineAnnounce)[-1].flags == MAY_SWITCH | FORCED


def test_five_in_a_row_that_the_threshold_made_unaligned_are_a_warning_that_names_it(world: World) -> None:
    for is_switched in [True] * 4 + [False] + [True] * 5:
        world.begin()
        world.acks("a", "b")
        world.answer(was_switched=is_switched)
    [warning] = world.warnings
    assert "5 checkpoints" in warning
    assert "checkpoint.default.alignment_timeout_ms = 1000" in warning


def test_checkpoints_that_were_asked_for_unaligned_are_no_sign_of_a_low_threshold(world: World) -> None:
    for _ in range(6):
        world.begin(flags=UNALIGNED)
        assert world.take(InjectBarrier)[-1].flags == UNALIGNED
        world.acks("a", "b")
        world.answer(is_unaligned=True)
    assert not world.warnings


# --- when one begins ----------------------------------------------------------------------------------------


def test_none_begins_before_all_operators_had_time_to_say_hello() -> None:
    world = World()
    world.hello("a")
    world.trigger()
    world.tick(TIMEOUT_NS - 1)
    world.hello("b")
    world.hello("a")
    world.trigger()
    assert (states(world), world.orders) == ([], [])
    # What was heard before is not remembered: it may have been said to the coordinator before this one.
    world.tick(1)
    assert not world.orders
    world.trigger()
    world.answer()
    world.acks("a")
    assert not world.orders
    world.acks("b")
    assert len(world.orders) == 1


def test_periodic_ones_begin_by_the_interval_and_missed_ones_are_one() -> None:
    world = World(replace(RULES, interval_ns=10 * SECOND, operator_timeout_ms=60_000, checkpoint_timeout_ns=10**12))
    world.hello("a")
    world.tick(TIMEOUT_NS * 20)
    world.answer()
    world.hello("a")
    world.tick(35 * SECOND)
    assert not world.orders
    world.acks("a")
    world.answer()
    world.tick()
    world.answer()
    world.acks("a")
    world.answer()
    world.tick(10 * SECOND - 1)
    assert not world.orders
    world.hello("a")
    world.tick(1)
    assert world.orders
    assert world.coordinator.counts["begun"] == 3


def test_without_an_interval_time_alone_begins_nothing(world: World) -> None:
    world.tick(2 * SECOND)
    assert not world.orders


def test_all_who_ask_during_a_checkpoint_share_the_next_one(world: World) -> None:
    world.begin(correlation_id=1)
    world.said.clear()
    world.trigger(2)
    world.trigger(3, UNALIGNED)
    assert states(world) == [TriggerState.WAITING] * 2
    world.acks("a", "b")
    world.answer()
    world.tick()
    world.answer()
    started = [each for each in world.take(TriggerProgress) if each.state == TriggerState.STARTED]
    assert [(each.correlation_id, each.checkpoint_id) for each in started] == [(2, 2), (3, 2)]
    assert world.take(InjectBarrier)[-1].flags == UNALIGNED
    world.acks("a", "b")
    world.answer()
    world.tick()
    assert not world.orders


def test_who_asks_again_is_told_how_it_stands(world: World) -> None:
    world.begin(correlation_id=1)
    world.said.clear()
    world.trigger(1)
    world.trigger(2)
    world.trigger(2)
    assert states(world) == [TriggerState.STARTED, TriggerState.WAITING, TriggerState.WAITING]
    world.acks("a", "b")
    world.answer()
    world.tick()
    world.answer()
    assert states(world) == [TriggerState.COMPLETE, TriggerState.STARTED]


def test_who_asks_again_before_the_id_of_its_checkpoint_lasts_is_not_told_the_one_before(world: World) -> None:
    world.begin(correlation_id=1)
    world.trigger(2)
    world.acks("a", "b")
    world.answer()
    world.tick()
    world.said.clear()
    world.trigger(2)
    world.answer()
    world.trigger(2)
    told = [(each.state, each.checkpoint_id) for each in world.take(TriggerProgress)]
    assert told == [(TriggerState.WAITING, 0), (TriggerState.STARTED, 2), (TriggerState.STARTED, 2)]


def test_without_an_operator_a_request_is_refused() -> None:
    world = World()
    world.tick(TIMEOUT_NS)
    world.trigger()
    [refused] = world.take(TriggerProgress)
    assert (refused.state, refused.reason) == (TriggerState.REFUSED, "no operator takes part in pipeline default")


def test_unaligned_is_refused_where_it_is_off() -> None:
    world = World(replace(RULES, is_unaligned_allowed=False))
    world.settle("a")
    world.trigger(flags=UNALIGNED)
    assert "checkpoint.default.unaligned" in world.take(TriggerProgress)[0].reason
    world.begin()
    assert world.take(PipelineAnnounce)[-1].flags == 0


def test_requests_beyond_the_bound_are_refused() -> None:
    world = World(replace(RULES, requests_max=2))
    world.settle("a")
    world.begin(correlation_id=1)
    world.said.clear()
    for n in (2, 3, 4):
        world.trigger(n)
    assert states(world) == [TriggerState.WAITING, TriggerState.WAITING, TriggerState.REFUSED]


# --- operators ----------------------------------------------------------------------------------------------


def test_an_operator_that_falls_silent_ends_the_checkpoint_and_none_begins_without_it(world: World) -> None:
    world.begin()
    world.tick(TIMEOUT_NS)
    world.hello("a")
    assert world.coordinator.attempt is not None
    world.tick(1)
    assert "operator b said nothing for 3000 ms" in world.take(CheckpointAborted)[0].reason
    world.said.clear()
    world.trigger(8)
    [refused] = world.take(TriggerProgress)
    assert refused.state == TriggerState.REFUSED
    assert "b" in refused.reason
    world.hello("b", instance_id=2)
    assert world.begin() == 2


def test_an_operator_that_does_not_come_back_is_given_up_at_last(world: World) -> None:
    for _ in range(FORGET_TIMEOUTS):
        world.tick(TIMEOUT_NS)
        world.hello("a")
    world.tick(1)
    assert world.coordinator.counts["operators_forgotten"] == 1
    world.begin()
    world.acks("a")
    assert len(world.orders) == 1


def test_after_a_restart_no_checkpoint_begins_without_those_of_the_newest(world: World) -> None:
    world.begin()
    world.acks("a", "b")
    world.answer()
    world.restart()
    world.settle("a")
    world.trigger()
    [refused] = [each for each in world.take(TriggerProgress) if each.state is TriggerState.REFUSED]
    assert "b" in refused.reason
    world.hello("b", instance_id=2)
    assert world.coordinator.counts["operators_restarted"] == 0
    assert world.begin() == 2


def test_after_a_restart_one_of_the_newest_that_leaves_or_stays_away_is_not_waited_for_any_more(world: World) -> None:
    world.begin()
    world.acks("a", "b")
    world.answer()
    world.restart()
    world.settle("a")
    world.hello("b", state=OperatorState.LEAVING)
    assert world.begin() == 2
    world.acks("a")
    world.answer()
    world.restart()
    for _ in range(FORGET_TIMEOUTS + 1):
        world.tick(TIMEOUT_NS)
        world.hello("c")
    world.tick(1)
    assert world.begin() == 3


def test_messages_that_were_not_heard_yet_make_nobody_lost(world: World) -> None:
    world.now_ns += 10 * TIMEOUT_NS
    heard_ns = world.now_ns - 10 * TIMEOUT_NS
    world.do(world.coordinator.tick(world.now_ns, heard_ns))
    assert not world.coordinator.operators.lost


@pytest.mark.parametrize(("instance_id", "state"), [(2, OperatorState.PRESENT), (1, OperatorState.LEAVING)])
def test_an_operator_that_starts_anew_or_leaves_ends_the_checkpoint_that_it_owes(
    world: World, instance_id: int, state: OperatorState
) -> None:
    world.begin()
    world.ack("b", AckStatus.SNAPSHOT_TAKEN)
    world.hello("b", instance_id, state=state)
    [aborted] = world.take(CheckpointAborted)
    assert aborted.cause == AbortCause.OPERATOR_FAILED
    assert "operator b" in aborted.reason


def test_an_operator_that_is_done_may_go(world: World) -> None:
    world.begin()
    world.acks("b")
    world.hello("b", state=OperatorState.LEAVING)
    assert not world.take(CheckpointAborted)
    world.acks("a")
    assert len(world.orders) == 1


def test_the_farewell_of_an_earlier_life_is_not_this_ones(world: World) -> None:
    world.hello("b", instance_id=2)
    world.hello("b", instance_id=1, state=OperatorState.LEAVING)
    assert world.coordinator.operators.present == ["a", "b"]


def test_two_operators_of_one_name_are_noticed(world: World) -> None:
    world.hello("b", instance_id=2)
    assert not world.warnings
    world.hello("b", instance_id=1)
    assert "call themselves b" in world.warnings[0]


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "x" * 129])
def test_a_name_that_is_no_folder_takes_no_part(world: World, name: str) -> None:
    world.hello(name)
    assert world.coordinator.operators.present == ["a", "b"]
    assert world.coordinator.counts["hellos_refused"] == 1


def test_operators_beyond_the_bound_take_no_part() -> None:
    world = World(replace(RULES, operators_max=1))
    world.settle("a", "b")
    assert world.coordinator.operators.present == ["a"]


def test_no_id_is_given_out_that_an_operator_would_take_for_old(world: World) -> None:
    world.hello("c", last_checkpoint_id=40)
    assert world.begin() == 41


def test_an_absurd_id_does_not_use_the_ids_up(world: World) -> None:
    world.hello("c", last_checkpoint_id=1 << 63)
    assert world.begin() == 1
    assert world.coordinator.counts["hellos_refused"] == 1


# --- what is announced, and restarts ------------------------------------------------------------------------


def test_an_id_is_announced_when_it_lasts_and_as_current_while_it_is(world: World) -> None:
    def announced() -> tuple[int, int]:
        world.take(PipelineAnnounce)
        world.tick(SECOND)
        [announce] = world.take(PipelineAnnounce)
        world.hello("a")
        world.hello("b")
        return announce.last_checkpoint_id, announce.current_checkpoint_id

    world.trigger()
    assert announced() == (0, 0)
    world.answer()
    assert announced() == (1, 1)
    world.acks("a", "b")
    assert announced() == (1, 1)
    world.answer()
    assert announced() == (1, 0)


def test_operators_learn_the_store_and_the_times_at_once(world: World) -> None:
    world.hello("new")
    [announce] = world.take(PipelineAnnounce)
    assert (announce.store, announce.pipeline, announce.flags) == ("/data/ck", "default", MAY_SWITCH)
    times = announce.alignment_timeout_ms, announce.late_barrier_timeout_ms, announce.operator_timeout_ms
    assert times == (1_000, 10_000, 3_000)


def test_our_own_announce_comes_back_and_another_coordinators_is_told_once(world: World) -> None:
    world.hello("new")
    [announce] = world.take(PipelineAnnounce)
    world.hear(announce)
    assert not world.warnings
    for _ in range(2):
        world.hear(replace(announce, store="/elsewhere"))
    assert len(world.warnings) == 1
    assert world.coordinator.counts["other_coordinators"] == 2


@pytest.mark.parametrize("step", ["allocating", "gathering", "acknowledged", "storing", "stored"])
def test_after_a_restart_the_last_checkpoint_is_over_and_ids_go_on(world: World, step: str) -> None:
    world.trigger()
    if step != "allocating":
        world.answer()
    if step in ("acknowledged", "storing", "stored"):
        world.acks("a")
    if step in ("storing", "stored"):
        world.acks("b")
    if step == "stored":
        world.answer()
    world.said.clear()
    world.restart()
    if step == "allocating":
        assert not world.take(CheckpointAborted) + world.take(CheckpointComplete)
    elif step == "stored":
        assert [(each.checkpoint_id, each.epoch) for each in world.take(CheckpointComplete)] == [(1, 2)]
    else:
        [aborted] = world.take(CheckpointAborted)
        assert (aborted.checkpoint_id, aborted.epoch, aborted.cause) == (1, 2, AbortCause.COORDINATOR)
    world.settle("a", "b")
    assert world.begin() == (1 if step == "allocating" else 2)


def test_a_shutdown_gives_up_what_is_under_way_and_whoever_waits_is_told(world: World) -> None:
    world.begin(correlation_id=1)
    world.trigger(2)
    world.said.clear()
    world.do(world.coordinator.shutdown(world.now_ns))
    assert world.take(CheckpointAborted)[0].cause == AbortCause.COORDINATOR
    assert sorted(states(world)) == [TriggerState.ABORTED, TriggerState.REFUSED]
    assert is_idle(world)
    world.trigger(3)
    world.tick(SECOND)
    assert not world.said


def test_a_shutdown_while_the_id_is_made_to_last_asks_for_no_barrier(world: World) -> None:
    world.trigger()
    world.do(world.coordinator.shutdown(world.now_ns))
    assert not is_idle(world)
    world.answer()
    assert is_idle(world)
    assert not world.take(InjectBarrier)
    assert world.take(CheckpointAborted)[0].checkpoint_id == 1


def test_a_shutdown_waits_for_the_manifest_that_is_being_written(world: World) -> None:
    world.begin()
    world.acks("a", "b")
    world.do(world.coordinator.shutdown(world.now_ns))
    assert not is_idle(world)
    world.answer()
    assert is_idle(world)
    assert world.take(CheckpointComplete)
