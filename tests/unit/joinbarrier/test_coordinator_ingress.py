# SPDX-License-Identifier: Apache-2.0
"""Streams that several agents cut by themselves: the coordinator fixes one place for all (P10, PROTOCOL 12.7)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.joinbarrier.checkpoint.coordinator.ingress_round import STREAMS_MAX, IngressStreams
from framegate.joinbarrier.checkpoint.messages import UNALIGNED
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    CheckpointAborted,
    HoldIngress,
    IngressCut,
    InjectBarrier,
    OperatorState,
)

from tests.unit.joinbarrier.coordinator_world import MS, RULES, SECOND, World

CAMERA, LIDAR = 10_001, 10_002
EPOCH = 7


@pytest.fixture
def world() -> World:
    """Two agents that share a stream."""
    world = World()
    world.settle()
    for name in ("a", "b"):
        world.shares(name, CAMERA)
    world.said.clear()
    return world


def aborted(world: World) -> CheckpointAborted:
    [said] = world.take(CheckpointAborted)
    assert world.coordinator.is_idle
    return said


def test_the_place_is_the_highest_at_which_one_of_them_stands(world: World) -> None:
    world.begin()
    [hold] = world.take(HoldIngress)
    assert (hold.checkpoint_id, hold.epoch, hold.stream_id) == (1, 1, CAMERA)
    world.stands("a", CAMERA, EPOCH, 41)
    assert not world.take(InjectBarrier)
    world.stands("b", CAMERA, EPOCH, 39)
    cut, inject = (each for each in world.said if isinstance(each, IngressCut | InjectBarrier))
    # In this order, or an agent would take the stream for its own.
    assert isinstance(cut, IngressCut)
    assert (cut.stream_id, cut.source_epoch, cut.after_seq, cut.flags) == (CAMERA, EPOCH, 41, 0)
    assert isinstance(inject, InjectBarrier)
    world.acks("a", "b")
    world.answer()
    assert list(world.manifests) == [1]


def test_an_unaligned_one_is_cut_with_its_flag(world: World) -> None:
    world.begin(flags=UNALIGNED)
    for name in ("a", "b"):
        world.stands(name, CAMERA, EPOCH, 1)
    assert [each.flags for each in world.take(IngressCut)] == [UNALIGNED]


def test_each_shared_stream_has_a_place_of_its_own(world: World) -> None:
    for name in ("b", "c"):
        world.shares(name, LIDAR)
    world.begin()
    assert [each.stream_id for each in world.take(HoldIngress)] == [CAMERA, LIDAR]
    for place in [("a", CAMERA, 5), ("b", CAMERA, 3), ("b", LIDAR, 8)]:
        world.stands(place[0], place[1], EPOCH, place[2])
    assert not world.take(IngressCut)
    world.stands("c", LIDAR, EPOCH, 9)
    assert {each.stream_id: each.after_seq for each in world.take(IngressCut)} == {CAMERA: 5, LIDAR: 9}


@pytest.mark.parametrize("streams", [(), (LIDAR,)])
def test_a_stream_of_one_agent_is_its_own(streams: tuple[int, ...]) -> None:
    world = World()
    world.settle()
    world.shares("a", CAMERA)
    world.shares("b", *streams)
    world.begin()
    assert not world.take(HoldIngress)
    assert len(world.take(InjectBarrier)) == 1


def test_who_leaves_shares_nothing_until_it_says_so_again(world: World) -> None:
    world.hello("b", state=OperatorState.LEAVING)
    world.hello("b")
    world.begin()
    assert not world.take(HoldIngress)


def test_before_the_first_frame_there_is_a_place_too(world: World) -> None:
    world.begin()
    for name in ("a", "b"):
        world.stands(name, CAMERA, EPOCH, None)
    assert [(each.source_epoch, each.after_seq) for each in world.take(IngressCut)] == [(EPOCH, None)]


@pytest.mark.parametrize(("epoch", "said"), [(EPOCH + 1, "epoch 8"), (None, "none of its epochs")])
def test_agents_in_different_epochs_end_the_checkpoint_and_are_named(
    world: World, epoch: int | None, said: str
) -> None:
    world.begin()
    world.stands("a", CAMERA, EPOCH, 3)
    world.stands("b", CAMERA, epoch, None)
    told = aborted(world)
    assert told.cause is AbortCause.INPUT_EPOCH_CHANGED
    assert told.reason == f"stream {CAMERA}: b reads {said}, a epoch {EPOCH}"


def test_who_does_not_say_where_it_stands_is_named_before_the_others_give_up(world: World) -> None:
    world.begin()
    world.stands("a", CAMERA, EPOCH, 3)
    world.tick(RULES.alignment_timeout_ms * MS // 2)
    assert world.coordinator.attempt is not None
    world.tick(1)
    told = aborted(world)
    assert told.cause is AbortCause.TIMEOUT
    assert told.reason.endswith(f": b (stream {CAMERA})")


def test_a_place_is_asked_for_again_and_then_the_cut_is_said_again() -> None:
    world = World(replace(RULES, alignment_timeout_ms=9_000))
    world.settle()
    for name in ("a", "b"):
        world.shares(name, CAMERA)
    world.begin()
    world.tick(SECOND)
    assert len(world.take(HoldIngress)) == 2
    for name in ("a", "b"):
        world.stands(name, CAMERA, EPOCH, 3)
    for name in ("a", "b"):
        world.hello(name)
    world.tick(SECOND)
    assert (len(world.take(IngressCut)), len(world.take(InjectBarrier))) == (2, 2)


def test_who_dies_while_the_other_stands_ends_the_checkpoint(world: World) -> None:
    world.begin()
    world.stands("a", CAMERA, EPOCH, 3)
    world.hello("b", instance_id=2)
    told = aborted(world)
    assert (told.cause, "b" in told.reason) == (AbortCause.OPERATOR_FAILED, True)


def test_an_agent_that_cannot_stand_there_ends_the_checkpoint(world: World) -> None:
    world.begin()
    world.ack("b", AckStatus.FAILED, reason="INPUT_LOST: input right")
    assert aborted(world).cause is AbortCause.INPUT_LOST


def test_who_comes_meanwhile_is_asked_at_the_next_checkpoint(world: World) -> None:
    world.begin()
    world.shares("c", CAMERA)
    world.stands("c", CAMERA, EPOCH, 99)
    for name in ("a", "b"):
        world.stands(name, CAMERA, EPOCH, 3)
    assert [each.after_seq for each in world.take(IngressCut)] == [3]
    world.acks("a", "b")
    world.answer()
    world.begin()
    for name, seq in [("a", 5), ("b", 6), ("c", 7)]:
        assert not world.take(IngressCut)
        world.stands(name, CAMERA, EPOCH, seq)
    assert [each.after_seq for each in world.take(IngressCut)] == [7]


def test_who_left_is_not_waited_for(world: World) -> None:
    world.hello("b", state=OperatorState.LEAVING)
    world.begin()
    assert not world.take(HoldIngress)


def test_who_comes_back_without_the_stream_is_not_asked_for_it(world: World) -> None:
    world.hello("b", instance_id=2)
    world.begin()
    assert not world.take(HoldIngress)


def test_a_place_of_another_checkpoint_or_said_too_late_means_nothing(world: World) -> None:
    world.begin()
    for name in ("a", "b"):
        world.stands(name, CAMERA, EPOCH, 3)
    world.stands("a", CAMERA, EPOCH, 9)
    assert world.coordinator.counts["places_ignored"] == 1
    assert [each.after_seq for each in world.take(IngressCut)] == [3]


# --- who cuts what ------------------------------------------------------------------------------------------


def test_another_life_may_cut_other_streams() -> None:
    streams = IngressStreams(8)
    assert streams.declare("a", 1, CAMERA, [])
    assert streams.declare("b", 1, CAMERA, [])
    assert streams.shared_by(["a", "b"]) == {CAMERA: ("a", "b")}
    assert streams.declare("b", 2, LIDAR, [])
    assert streams.shared_by(["a", "b"]) == {}


def test_names_that_never_say_hello_take_nobodys_room() -> None:
    streams = IngressStreams(2)
    for name in ("x", "y"):
        assert streams.declare(name, 1, CAMERA, [])
    assert streams.declare("a", 1, CAMERA, ["x"])
    assert not streams.declare("b", 1, CAMERA, ["x", "a"])
    assert streams.shared_by(["a", "x", "y"]) == {CAMERA: ("a", "x")}


def test_no_operator_has_more_streams_than_inputs() -> None:
    streams = IngressStreams(2)
    assert all(streams.declare("a", 1, stream, []) for stream in range(STREAMS_MAX))
    assert not streams.declare("a", 1, STREAMS_MAX, [])
    assert streams.declare("a", 1, 0, [])
