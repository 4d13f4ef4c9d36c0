# SPDX-License-Identifier: Apache-2.0
"""Coordinators within the lease driver's agent, over the in-memory network, with stores on disk."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from framegate.driver.agent import DriverStreams, LeaseDriverAgent
from framegate.driver.checkpoint_agent import CheckpointAgent, Pipeline, coordinating
from framegate.driver.checkpoint_section import CheckpointSection
from framegate.driver.checkpoint_worker import Order, StoreWorker
from framegate.driver.epochs import EpochCounter
from framegate.driver.leases import LeaseAuthority
from framegate.driver.region_folders import RegionFolders
from framegate.driver.regions import NativeMaker, RegionStore
from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Allocate,
    AllocationFailed,
    Finish,
    IssuedIds,
    Result,
    StoreProblem,
)
from framegate.joinbarrier.checkpoint.coordinator.coordinator import Coordinator
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import LOCK
from framegate.joinbarrier.checkpoint.coordinator.store import CoordinatorStore
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import LocalFiles
from framegate.joinbarrier.checkpoint.trigger_request import TriggerRequest
from framegate.schema import Message, decode_any
from framegate.schema.control import (
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    CheckpointBarrier,
    CheckpointComplete,
    InjectBarrier,
    OperatorHello,
    OperatorState,
    PipelineAnnounce,
    TriggerState,
)
from framegate.schema.driver import ResponseCode, ShmAttachResponse, ShmDriverShutdown
from framegate.schema.errors import StoreTaken
from framegate.shmpool.clock import ManualClock
from framegate.shmpool.transport.loopback import LoopbackNetwork

from tests.unit.driver.lease_world import DYNAMIC, SECOND, START, attach, only

CHANNEL = "aeron:ipc"
STREAMS = DriverStreams(
    control_channel=CHANNEL, control_stream_id=1000, announce_channel=CHANNEL, announce_stream_id=1001
)
_Kind = TypeVar("_Kind", bound=Message)


class Inline:
    """Orders that are carried out when their results are asked for."""

    def __init__(self, store: CoordinatorStore) -> None:
        self.store = store
        self.waiting: list[Order] = []
        self.is_stuck = False

    def give(self, order: Order) -> None:
        self.waiting.append(order)

    def results(self) -> list[Result]:
        if self.is_stuck:
            return []
        orders, self.waiting = self.waiting, []
        return [self.store.finish(each) if isinstance(each, Finish) else self.store.allocate(each) for each in orders]

    def close(self) -> None: ...


class Scene:
    """A driver that coordinates pipelines, and whoever speaks with it, on one clock."""

    def __init__(self, base: Path, *pipelines: str) -> None:
        self.base = base
        self.clock = ManualClock(START)
        self.network = LoopbackNetwork(clock=self.clock, term_bytes=1 << 20)
        client = self.network.client()
        self.heard = client.add_subscription(CHANNEL, 1000)
        self.speaks = client.add_publication(CHANNEL, 1000)
        self.said: list[Message] = []
        self.orders = {
            name: Inline(CoordinatorStore(str(base / name), name, 3, self.files(name))) for name in pipelines
        }
        self.checkpoints = CheckpointAgent([self.pipeline(name) for name in pipelines])
        self.store = RegionStore(RegionFolders(base / "shm", "default"), NativeMaker(allowed=base), clock=self.clock)
        self.agent = LeaseDriverAgent(
            self.network.client(),
            STREAMS,
            LeaseAuthority(DYNAMIC, EpochCounter(), first_lease_id=START),
            self.store,
            checkpoints=self.checkpoints,
            clock=self.clock,
        )

    def files(self, name: str) -> LocalFiles:
        return LocalFiles(self.base / name)

    def pipeline(self, name: str) -> Pipeline:
        orders = self.orders[name]
        issued, predecessor = orders.store.begin_epoch()
        section = CheckpointSection(dir=str(self.base / name))
        return Pipeline(Coordinator(section.rules(name), issued, predecessor), orders, orders.store.counts)

    def say(self, *messages: Message | bytes) -> None:
        for message in messages:
            assert self.speaks.offer(message if isinstance(message, bytes) else message.encode()) > 0
        self.turn()

    def turn(self, delta_ns: int = 0) -> None:
        self.clock.advance(delta_ns)
        while self.agent.do_work():
            pass
        for message in self.heard.poll(10_000):
            if message.session_id != self.speaks.session_id:
                self.said.append(decode_any(message.data))

    def take(self, kind: type[_Kind]) -> list[_Kind]:
        found = [each for each in self.said if isinstance(each, kind)]
        self.said = [each for each in self.said if not isinstance(each, kind)]
        return found

    def hello(self, pipeline: str = "default", operator_id: str = "join") -> None:
        present = OperatorState.PRESENT
        self.say(
            OperatorHello(
                instance_id=1, last_checkpoint_id=0, state=present, pipeline=pipeline, operator_id=operator_id
            )
        )

    def settle(self, *pipelines: str) -> None:
        self.turn(3 * SECOND)
        for name in pipelines:
            self.hello(name)
        self.said.clear()

    def ask(self, pipeline: str = "default") -> TriggerRequest:
        asked = TriggerRequest(self.clock(), pipeline, is_unaligned=False)
        self.say(only(each for each in [asked.due(self.clock())] if each is not None))
        return asked

    def operate(self, inject: InjectBarrier, operator_id: str = "join") -> None:
        """What an operator does with a barrier."""
        store = CheckpointStore(self.base / inject.pipeline)
        state = store.write_state(inject.checkpoint_id, operator_id, b"state")
        store.write_part(inject.checkpoint_id, OperatorPart(state=state))
        for status, stored_bytes in ((AckStatus.SNAPSHOT_TAKEN, state.bytes), (AckStatus.COMPLETE, 0)):
            self.say(
                BarrierAck(
                    checkpoint_id=inject.checkpoint_id,
                    epoch=inject.epoch,
                    status=status,
                    duration_ns=1,
                    bytes=stored_bytes,
                    pipeline=inject.pipeline,
                    operator_id=operator_id,
                )
            )


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path.resolve(), "default", "lidar")
    yield scene
    scene.store.close(remove=True)


def test_a_checkpoint_from_the_request_to_the_manifest(scene: Scene) -> None:
    scene.settle("default")
    asked = scene.ask()
    scene.operate(only(scene.take(InjectBarrier)))
    for message in scene.said:
        asked.on_message(message)
    assert asked.outcome is not None
    outcome = asked.outcome.state, asked.outcome.checkpoint_id, asked.outcome.bytes
    assert outcome == (TriggerState.COMPLETE, 1, len(b"state"))
    assert only(scene.take(CheckpointComplete)).checkpoint_id == 1
    assert CheckpointStore(scene.base / "default").latest_whole().operators[0].operator_id == "join"
    counters = scene.checkpoints.counters()["default"]
    assert (counters["completed"], counters["last_checkpoint_id"], counters["operators"]) == (1, 1, 1)


def test_two_pipelines_on_one_control_stream_do_not_disturb_each_other(scene: Scene) -> None:
    scene.settle("default", "lidar")
    scene.ask("default")
    scene.ask("lidar")
    injections = {each.pipeline: each for each in scene.take(InjectBarrier)}
    # One and the same id in both: only the name tells them apart.
    assert [(each.checkpoint_id, each.epoch) for each in injections.values()] == [(1, 1), (1, 1)]
    scene.operate(injections["lidar"])
    assert [each.pipeline for each in scene.take(CheckpointComplete)] == ["lidar"]
    scene.say(CheckpointAborted(checkpoint_id=1, epoch=1, cause=5, pipeline="lidar"))  # type: ignore[arg-type]
    scene.ask("lidar")
    injections["lidar"] = only(scene.take(InjectBarrier))
    failed = replace(_ack(injections["lidar"]), status=AckStatus.FAILED, reason="INPUT_LOST: left")
    scene.say(failed)
    assert [each.pipeline for each in scene.take(CheckpointAborted)] == ["lidar"]
    scene.operate(injections["default"])
    assert [(each.pipeline, each.checkpoint_id) for each in scene.take(CheckpointComplete)] == [("default", 1)]
    assert CheckpointStore(scene.base / "lidar").ids() == CheckpointStore(scene.base / "default").ids() == [1]


def _ack(inject: InjectBarrier) -> BarrierAck:
    return BarrierAck(
        checkpoint_id=inject.checkpoint_id,
        epoch=inject.epoch,
        status=AckStatus.COMPLETE,
        duration_ns=1,
        bytes=0,
        pipeline=inject.pipeline,
        operator_id="join",
    )


def test_what_is_no_message_of_ours_is_counted_and_leases_go_on(scene: Scene) -> None:
    hello = OperatorHello(
        instance_id=1, last_checkpoint_id=0, state=OperatorState.PRESENT, pipeline="radar", operator_id="x"
    )
    barrier = CheckpointBarrier(checkpoint_id=1, epoch=1, flags=0, stream_id=1, source_epoch=1)
    torn = hello.encode()[:-3]
    scene.say(hello, barrier, torn, hello.encode()[:8], torn[:6], attach())
    assert scene.checkpoints.counts == {"other_pipelines": 1, "malformed": 2}
    assert only(scene.take(ShmAttachResponse)).code == ResponseCode.OK


def test_a_disk_that_hangs_holds_up_no_lease(scene: Scene) -> None:
    scene.settle("default", "lidar")
    scene.orders["default"].is_stuck = True
    scene.ask("default")
    scene.say(attach())
    assert only(scene.take(ShmAttachResponse)).code == ResponseCode.OK
    scene.ask("lidar")
    assert [each.pipeline for each in scene.take(InjectBarrier)] == ["lidar"]


def test_pipelines_are_announced_every_second(scene: Scene) -> None:
    scene.turn()
    for _ in range(3):
        scene.take(PipelineAnnounce)
        scene.turn(SECOND)
        assert sorted(each.pipeline for each in scene.take(PipelineAnnounce)) == ["default", "lidar"]


def test_a_drivers_end_gives_checkpoints_up_before_it_is_announced(scene: Scene) -> None:
    scene.settle("default")
    scene.ask()
    scene.turn()
    scene.said.clear()
    scene.agent.shutdown()
    scene.turn()
    kinds = [type(each) for each in scene.said if isinstance(each, CheckpointAborted | ShmDriverShutdown)]
    assert kinds == [CheckpointAborted, ShmDriverShutdown]
    assert scene.agent.has_ended


def has_ended(scene: Scene) -> bool:
    return scene.agent.has_ended


def test_a_driver_has_not_ended_while_a_manifest_is_being_written(scene: Scene) -> None:
    scene.settle("default")
    scene.ask()
    scene.turn()
    inject = only(scene.take(InjectBarrier))
    scene.orders["default"].is_stuck = True
    scene.operate(inject)
    scene.agent.shutdown()
    scene.turn()
    assert not has_ended(scene)
    scene.orders["default"].is_stuck = False
    scene.turn()
    assert has_ended(scene)
    assert only(scene.take(CheckpointComplete)).checkpoint_id == 1


# --- the edge -----------------------------------------------------------------------------------------------


def test_a_store_has_one_coordinator_on_this_host_until_it_ends(tmp_path: Path) -> None:
    section = {"default": CheckpointSection(dir=str(tmp_path / "ck"))}
    with coordinating(section):
        with pytest.raises(StoreTaken, match="another process"), coordinating(section):
            pass
        descriptor = os.open(tmp_path / "ck" / LOCK, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    with coordinating(section) as agent:
        assert agent.counters()["default"]["last_checkpoint_id"] == 0


class Broken(CoordinatorStore):
    """A store with a defect."""

    def allocate(self, order: Allocate) -> AllocationFailed:
        raise ZeroDivisionError("allocate")

    def finish(self, order: Finish) -> StoreProblem:
        raise ZeroDivisionError("finish")

    def tidy(self, below: int) -> None: ...


def test_a_defect_of_a_store_ends_the_checkpoint_and_not_its_thread(tmp_path: Path) -> None:
    worker = StoreWorker(Broken(str(tmp_path), "default", 1, LocalFiles(tmp_path)), "default")
    worker.give(Allocate(IssuedIds(7, 1)))
    worker.give(Finish(checkpoint_id=7, epoch=1, is_asked_unaligned=False, acknowledged=()))
    worker.close()
    first, second = worker.results()
    assert isinstance(first, AllocationFailed)
    assert isinstance(second, StoreProblem)
    assert "ZeroDivisionError('finish')" in second.reason
    assert worker.results() == []
