# SPDX-License-Identifier: Apache-2.0
"""A coordinator as the head of the control channel: it gives ids, sends signals, and knows when all sent them on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.joinbarrier.checkpoint.signal_messages import control_message
from framegate.joinbarrier.checkpoint.signals import BarrierSignal
from framegate.schema.control import (
    ControlSignal,
    OperatorState,
    PipelineAnnounce,
    SignalCategory,
    SignalKind,
    TriggerProgress,
    TriggerSignal,
    TriggerState,
)

from tests.unit.joinbarrier.coordinator_world import RULES, SECOND, World

ASKED = 77


@pytest.fixture
def world() -> World:
    """Two operators, known."""
    world = World(replace(RULES, operator_timeout_ms=60_000))
    world.settle("a", "b")
    return world


def ask(
    world: World,
    kind: SignalKind = SignalKind.SYNC_TEST,
    category: SignalCategory = SignalCategory.BARRIER,
    correlation_id: int = ASKED,
) -> None:
    request = TriggerSignal(correlation_id=correlation_id, category=category, kind=kind, pipeline="default")
    world.hear(request)


def signals(world: World) -> list[ControlSignal]:
    return [each for each in world.said if isinstance(each, ControlSignal)]


def states(world: World, correlation_id: int = ASKED) -> list[tuple[TriggerState, int]]:
    told = [each for each in world.said if isinstance(each, TriggerProgress)]
    return [(each.state, each.checkpoint_id) for each in told if each.correlation_id == correlation_id]


def complete(world: World) -> None:
    """The checkpoint that is under way, and what waited for its end."""
    world.acks("a", "b")
    world.answer()
    world.tick()


def forwarded(world: World, barrier_id: int, times: int, kind: str = "SyncTest") -> None:
    for _ in range(times):
        world.hear(control_message(BarrierSignal(kind, barrier_id), "default"))


def test_a_signal_is_complete_when_every_operator_has_sent_it_on(world: World) -> None:
    ask(world)
    assert signals(world) == []
    world.answer()
    [sent] = signals(world)
    assert (sent.barrier_id, sent.stream_id, sent.kind) == (1, None, SignalKind.SYNC_TEST)
    # Its own, and one operator's.
    forwarded(world, 1, 2)
    assert states(world) == [(TriggerState.STARTED, 1)]
    forwarded(world, 1, 1)
    assert states(world) == [(TriggerState.STARTED, 1), (TriggerState.COMPLETE, 1)]
    forwarded(world, 1, 5)
    assert world.coordinator.counts["signals_completed"] == 1


def test_ids_of_signals_and_checkpoints_are_one_sequence_and_last_before_anybody_is_told(world: World) -> None:
    world.trigger()
    world.answer()
    complete(world)
    ask(world)
    world.answer()
    assert signals(world)[-1].barrier_id == 2
    assert world.lasting.last_checkpoint_id == 2
    world.trigger(8)
    world.answer()
    attempt = world.coordinator.attempt
    assert attempt is not None
    assert attempt.checkpoint_id == 3


def test_a_signal_waits_while_a_checkpoint_is_under_way(world: World) -> None:
    world.trigger()
    world.answer()
    ask(world)
    assert (signals(world), states(world), world.orders) == ([], [(TriggerState.WAITING, 0)], [])
    complete(world)
    world.answer()
    assert states(world)[-1] == (TriggerState.STARTED, 2)


def test_a_checkpoint_goes_on_while_a_signal_is_pending(world: World) -> None:
    ask(world)
    world.answer()
    world.trigger()
    world.answer()
    announced = [each for each in world.said if isinstance(each, PipelineAnnounce)][-1]
    assert (announced.last_checkpoint_id, announced.current_checkpoint_id) == (2, 2)
    complete(world)
    assert set(world.manifests) == {2}


def test_an_instant_signal_is_sent_at_once_and_has_no_id(world: World) -> None:
    ask(world, category=SignalCategory.INSTANT)
    [sent] = signals(world)
    assert (sent.category, sent.barrier_id) == (SignalCategory.INSTANT, 0)
    assert states(world) == [(TriggerState.COMPLETE, 0)]


def test_a_second_signal_is_refused_while_one_is_pending_and_a_repeated_request_is_answered(world: World) -> None:
    ask(world)
    world.answer()
    ask(world, correlation_id=78)
    ask(world)
    assert states(world, 78) == [(TriggerState.REFUSED, 0)]
    assert states(world) == [(TriggerState.STARTED, 1)] * 2


def test_an_operator_that_is_lost_or_time_give_a_signal_up(world: World) -> None:
    ask(world)
    world.answer()
    world.hello("a", 99)
    assert states(world)[-1] == (TriggerState.ABORTED, 1)
    ask(world, correlation_id=78)
    world.answer()
    world.tick(42 * SECOND)
    assert states(world, 78)[-1] == (TriggerState.ABORTED, 2)


def test_operators_that_leave_by_a_terminal_signal_do_not_give_it_up(world: World) -> None:
    ask(world, SignalKind.STREAM_GRACEFUL_END)
    world.answer()
    world.hello("a", state=OperatorState.LEAVING)
    world.hello("b", state=OperatorState.LEAVING)
    forwarded(world, 1, 3, "StreamGracefulEnd")
    assert states(world)[-1] == (TriggerState.COMPLETE, 1)


def test_nobody_takes_part(world: World) -> None:
    for name in ("a", "b"):
        world.hello(name, state=OperatorState.LEAVING)
    ask(world)
    assert states(world) == [(TriggerState.REFUSED, 0)]


def test_a_signal_whose_id_does_not_last_is_refused_and_the_next_one_has_another(world: World) -> None:
    ask(world)
    world.answer(fails=True)
    assert (states(world), signals(world)) == ([(TriggerState.REFUSED, 0)], [])
    assert world.coordinator.last_checkpoint_id == 0
    ask(world, correlation_id=78)
    world.answer()
    assert states(world, 78) == [(TriggerState.STARTED, 2)]
    assert world.coordinator.last_checkpoint_id == 2
