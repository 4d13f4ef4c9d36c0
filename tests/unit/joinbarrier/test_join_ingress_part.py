# SPDX-License-Identifier: Apache-2.0
"""What a join agent says and does about a stream that other agents cut too; the coordinator is this test (P10).

The engine is fed, so it reads no regions: its place is the one before any epoch. tests/system has living streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    HoldIngress,
    IngressCut,
    IngressHello,
    IngressPlace,
    InjectBarrier,
    OperatorHello,
)

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT
from tests.unit.joinbarrier.part_world import OPERATOR, World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A join that cuts its right stream by itself."""
    inputs = [{"name": "left", "stream": LEFT}, {"name": "right", "stream": RIGHT, "barrier": "ingress"}]
    world = World(tmp_path, input=inputs)
    world.announce()
    world.bench.frames(LEFT, 0, 1)
    world.bench.frames(RIGHT, 0)
    yield world
    world.part.close()


def hold(world: World, checkpoint_id: int, stream: int = RIGHT) -> None:
    world.say(HoldIngress(checkpoint_id=checkpoint_id, epoch=1, stream_id=stream, pipeline="default"))


def cut(world: World, checkpoint_id: int, source_epoch: int | None = None, after_seq: int | None = None) -> None:
    world.say(
        IngressCut(
            checkpoint_id=checkpoint_id,
            epoch=1,
            flags=0,
            stream_id=RIGHT,
            source_epoch=source_epoch,
            after_seq=after_seq,
            pipeline="default",
        )
    )


def inject(world: World, checkpoint_id: int) -> None:
    world.say(InjectBarrier(checkpoint_id=checkpoint_id, epoch=1, flags=0, pipeline="default"))


def test_an_operator_says_what_it_cuts_before_each_hello(world: World) -> None:
    said = [each for each in world._said if isinstance(each, IngressHello | OperatorHello)]
    kinds = [type(each) for each in said]
    assert kinds == [IngressHello, OperatorHello] * (len(kinds) // 2)
    assert {(each.stream_id, each.operator_id) for each in world.said(IngressHello)} == {(RIGHT, OPERATOR)}
    assert {each.instance_id for each in said} == {said[0].instance_id}


def test_a_stream_that_is_held_is_cut_where_the_coordinator_says_and_not_by_the_barriers_request(
    world: World,
) -> None:
    hold(world, 1)
    [place] = world.said(IngressPlace)
    assert (place.checkpoint_id, place.stream_id, place.operator_id) == (1, RIGHT, OPERATOR)
    inject(world, 1)
    world.bench.barrier(LEFT, 1)
    world.work()
    assert world.bench.counters()["checkpoints"]["alignments_completed"] == 0
    cut(world, 1)
    assert world.acks(2) == [(1, AckStatus.SNAPSHOT_TAKEN, ""), (1, AckStatus.COMPLETE, "")]
    [ingress] = world.store.part(1, OPERATOR).state.ingress
    assert ingress == {"stream": RIGHT, "epoch": None, "last_seq": None}


def test_a_stream_of_its_own_is_cut_by_the_barriers_request(world: World) -> None:
    hold(world, 1, stream=LEFT)
    assert world.said(IngressPlace) == []
    inject(world, 1)
    world.bench.barrier(LEFT, 1)
    assert [status for _, status, _ in world.acks(2)] == [AckStatus.SNAPSHOT_TAKEN, AckStatus.COMPLETE]
    [ingress] = world.store.part(1, OPERATOR).state.ingress
    assert ingress == {"stream": RIGHT, "epoch": 7, "last_seq": 0}


def test_a_place_in_another_epoch_is_refused_with_the_input_named(world: World) -> None:
    hold(world, 1)
    cut(world, 1, source_epoch=8, after_seq=3)
    [(checkpoint_id, status, reason)] = world.acks(1)
    assert (checkpoint_id, status) == (1, AckStatus.FAILED)
    told = "INPUT_EPOCH_CHANGED: input right (stream 10002) is no longer read where all cut it: epoch 8, sequence 3"
    assert reason == told


def test_a_cut_of_a_checkpoint_that_was_given_up_here_means_nothing(world: World) -> None:
    world.bench.engine.hold_ingress(RIGHT, 1, 1)
    world.bench.engine.abort_checkpoint(1)
    cut(world, 1)
    assert world.said(BarrierAck) == []


def test_a_checkpoint_that_is_given_up_holds_nothing(world: World) -> None:
    hold(world, 1)
    assert world.bench.engine.checkpoint_under_way() == 1
    world.say(
        CheckpointAborted(checkpoint_id=1, epoch=1, cause=AbortCause.TIMEOUT, pipeline="default", reason="a test")
    )
    assert world.bench.engine.checkpoint_under_way() is None
    hold(world, 2)
    # An announce by which it is over does the same, where the word itself was missed.
    world.announce(last=2)
    assert world.bench.engine.checkpoint_under_way() is None
    assert world.bench.counters()["checkpoints"]["ingress_holds"] == 2
