# SPDX-License-Identifier: Apache-2.0
"""A replay's part in checkpoints, with a coordinator that is this test: what is stored and said, and when.

Senders are played, the control stream is in memory, and only the files are real.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar, cast

import pytest
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema import Message, decode_any
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    OperatorHello,
    OperatorState,
    PipelineAnnounce,
)
from framegate.shmpool.client.client import Client
from framegate.shmpool.producer.sent_barrier import SentBarrier
from framegate.shmpool.transport.loopback.network import LoopbackNetwork
from framegate.tools.replay.checkpoints import ReplayCheckpoints, operator_id_of
from framegate.tools.replay.place import POSITION_MAX, Place
from framegate.tools.replay.replay_state import ReplayState, StreamState, decode_replay_state
from framegate.tools.replay.sender import Sender

from tests.unit.joinbarrier.part_world import STREAMS, Station
from tests.unit.watchdog import until

LEFT, RIGHT, LATE = 10_001, 10_002, 10_003
OPERATOR = "replay-10001-10002"
EPOCH, RECORDED = 5, 77
_Said = TypeVar("_Said", bound=Message)


class PlayedSender:
    """Stands in for a stream's sender."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.ended_state: StreamState | None = None
        self.told: list[tuple[SentBarrier, int | None]] = []

    def cut(self, checkpoint_id: int, after_seq: int | None, place: Place) -> None:
        """Its barrier went out."""
        sent = SentBarrier(checkpoint_id, EPOCH, 9, after_seq, place.number)
        self.told.append((sent, RECORDED))

    def end(self, place: Place) -> None:
        self.ended_state = state_of(self.stream, place, source_epoch=None, after_seq=3)

    def sent_barriers(self) -> list[tuple[SentBarrier, int | None]]:
        found, self.told = self.told, []
        return found


def state_of(stream: int, place: Place, *, source_epoch: int | None = 9, after_seq: int | None = None) -> StreamState:
    return StreamState(
        stream=stream,
        loop=place.loop,
        position=place.position,
        recorded_epoch=RECORDED,
        source_epoch=source_epoch,
        after_seq=after_seq,
    )


class World:
    def __init__(self, path: Path, *, is_restoring: bool = False) -> None:
        network = LoopbackNetwork()
        self.station = Station(network)
        own = network.client()
        self._speaks = own.add_publication(STREAMS.channel, STREAMS.control)
        self._hears = own.add_subscription(STREAMS.channel, STREAMS.control)
        self.store = CheckpointStore(path / "store")
        self.senders = {stream: PlayedSender(stream) for stream in (LEFT, RIGHT)}
        senders = cast(dict[int, Sender], self.senders)
        client = cast(Client, self.station)
        self.heard: list[int] = []
        hear = (lambda announce: self.heard.append(announce.current_checkpoint_id)) if is_restoring else None
        self.part = ReplayCheckpoints(client, "default", [LEFT, RIGHT], senders, "mark", hear)
        self._said: list[Message] = []
        self._now_ns = 0

    def announce(self, *, last: int, current: int) -> None:
        self.say(
            PipelineAnnounce(
                last_checkpoint_id=last,
                current_checkpoint_id=current,
                epoch=EPOCH,
                flags=0,
                alignment_timeout_ms=1_000,
                late_barrier_timeout_ms=1_000,
                operator_timeout_ms=1_000,
                pipeline="default",
                store=self.store.place,
            )
        )

    def say(self, message: Message) -> None:
        assert self._speaks.try_offer(message.encode()) > 0
        self.work()

    def work(self) -> None:
        self._now_ns += 1_000_000
        self.station.work(self._now_ns)
        self._said += [decode_any(each.data) for each in self._hears.poll(1_000)]

    def said(self, kind: type[_Said]) -> list[_Said]:
        return [each for each in self._said if isinstance(each, kind)]

    def acks(self) -> list[tuple[int, AckStatus]]:
        return [(each.checkpoint_id, each.status) for each in self.said(BarrierAck)]

    def until_acks(self, *wanted: tuple[int, AckStatus]) -> None:
        def have_come() -> bool:
            self.work()
            return len(self.acks()) >= len(wanted)

        until(have_come)
        assert self.acks() == list(wanted)

    def stored(self, checkpoint_id: int) -> ReplayState:
        part = self.store.part(checkpoint_id, OPERATOR)
        assert part.inflight == ()
        return decode_replay_state((Path(self.store.place) / f"{checkpoint_id}/{part.state.path}").read_bytes())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.part.close()


BOTH = AckStatus.SNAPSHOT_TAKEN, AckStatus.COMPLETE


def test_each_streams_place_at_its_own_barrier_is_stored_and_both_steps_are_acknowledged(world: World) -> None:
    world.announce(last=1, current=1)
    world.senders[LEFT].cut(1, 19, Place(0, 60))
    world.work()
    assert world.acks() == []
    world.senders[RIGHT].cut(1, 40, Place(0, 123))
    world.until_acks(*((1, step) for step in BOTH))
    found = world.stored(1)
    assert found.streams == (
        state_of(LEFT, Place(0, 60), after_seq=19),
        state_of(RIGHT, Place(0, 123), after_seq=40),
    )
    assert (found.operator_id, found.checkpoint_id, found.epoch, found.source) == (OPERATOR, 1, EPOCH, "mark")
    acks = world.said(BarrierAck)
    assert sum(each.bytes for each in acks) == world.store.part(1, OPERATOR).size_bytes
    assert {each.operator_id for each in acks} == {OPERATOR}


def test_a_stream_that_has_ended_owes_no_barrier_and_its_end_is_its_place(world: World) -> None:
    world.announce(last=1, current=1)
    world.senders[LEFT].end(Place(0, 90))
    world.senders[RIGHT].cut(1, 40, Place(0, 123))
    world.until_acks(*((1, step) for step in BOTH))
    assert world.stored(1).streams[0] == state_of(LEFT, Place(0, 90), source_epoch=None, after_seq=3)


def test_a_barrier_that_went_before_the_end_counts_and_not_the_end(world: World) -> None:
    world.announce(last=1, current=1)
    world.senders[LEFT].cut(1, 10, Place(0, 33))
    world.senders[LEFT].end(Place(0, 90))
    world.senders[RIGHT].cut(1, 40, Place(0, 123))
    world.until_acks(*((1, step) for step in BOTH))
    assert world.stored(1).streams[0].position == 33


def test_a_stream_that_was_attached_later_owes_its_barrier_too(world: World) -> None:
    world.announce(last=1, current=1)
    world.senders[LATE] = PlayedSender(LATE)
    for stream in (LEFT, RIGHT):
        world.senders[stream].cut(1, 0, Place(0, 3))
    world.work()
    assert world.acks() == []
    world.senders[LATE].cut(1, None, Place(0, 0))
    world.until_acks(*((1, step) for step in BOTH))
    assert [each.stream for each in world.stored(1).streams] == [LEFT, RIGHT, LATE]


def test_a_stream_that_is_not_attached_yet_is_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    later = world.senders.pop(RIGHT)
    world.announce(last=1, current=1)
    world.senders[LEFT].cut(1, 0, Place(0, 3))
    world.work()
    assert world.acks() == []
    later.cut(1, None, Place(0, 0))
    world.senders[RIGHT] = later
    world.until_acks(*((1, step) for step in BOTH))
    world.part.close()


@pytest.mark.parametrize("is_said", [True, False])
def test_a_checkpoint_that_is_over_is_given_up_and_the_next_one_is_stored(world: World, is_said: bool) -> None:
    world.announce(last=1, current=1)
    world.senders[LEFT].cut(1, 0, Place(0, 3))
    world.work()
    if is_said:
        aborted = CheckpointAborted(
            checkpoint_id=1, epoch=EPOCH, cause=AbortCause.TIMEOUT, pipeline="default", reason=""
        )
        world.say(aborted)
    world.announce(last=2, current=2)
    world.senders[RIGHT].cut(1, 0, Place(0, 6))
    for stream in (LEFT, RIGHT):
        world.senders[stream].cut(2, 1, Place(0, 12))
    world.until_acks(*((2, step) for step in BOTH))
    world.announce(last=2, current=0)
    assert world.acks() == [(2, step) for step in BOTH]


def test_while_it_is_restored_no_checkpoint_waits_for_it_and_the_next_one_is_stored(tmp_path: Path) -> None:
    world = World(tmp_path, is_restoring=True)
    for _ in range(2):
        world.announce(last=1, current=1)
    assert world.acks() == [(1, AckStatus.FAILED)]
    assert world.heard == [1, 1]
    world.part.is_restoring = False
    world.announce(last=2, current=2)
    for stream in (LEFT, RIGHT):
        world.senders[stream].cut(2, 1, Place(0, 12))
    world.until_acks((1, AckStatus.FAILED), *((2, step) for step in BOTH))
    world.part.close()


def test_a_store_that_refuses_fails_the_checkpoint_with_its_reason(world: World) -> None:
    Path(world.store.place).write_text("no directory")
    world.announce(last=1, current=1)
    for stream in (LEFT, RIGHT):
        world.senders[stream].cut(1, 0, Place(0, 3))
    world.until_acks((1, AckStatus.FAILED))
    assert world.said(BarrierAck)[0].reason.startswith("STORE_FAILED: ")


def test_a_place_that_no_number_holds_fails_the_checkpoint_and_names_the_stream(world: World) -> None:
    world.announce(last=1, current=1)
    world.senders[LEFT].cut(1, 0, Place(0, POSITION_MAX + 9))
    world.until_acks((1, AckStatus.FAILED))
    assert f"stream {LEFT}" in world.said(BarrierAck)[0].reason


def test_it_says_hello_by_its_streams_and_leaves_at_the_end(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.work()
    world.part.close()
    world.work()
    hellos = world.said(OperatorHello)
    assert [each.state for each in hellos] == [OperatorState.PRESENT, OperatorState.LEAVING]
    assert {each.operator_id for each in hellos} == {OPERATOR}


def test_what_was_begun_is_acknowledged_before_it_leaves(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.announce(last=1, current=1)
    for stream in (LEFT, RIGHT):
        world.senders[stream].cut(1, 0, Place(0, 3))
    world.work()
    world.part.close()
    world.work()
    assert world.acks() == [(1, step) for step in BOTH]
    assert world.said(OperatorHello)[-1].state is OperatorState.LEAVING


def test_an_id_names_the_streams_in_any_order_and_many_by_a_digest() -> None:
    assert operator_id_of([3, 1, 2, 1]) == operator_id_of([1, 2, 3]) == "replay-1-2-3"
    many = operator_id_of(range(1, 100))
    assert many != operator_id_of([*range(1, 99), 100])
    assert len(many) <= 128
