# SPDX-License-Identifier: Apache-2.0
"""Barriers, watermarks and signals at their sources, with real processes: where they stand, and whom they disturb."""

from __future__ import annotations

import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from framegate.joinbarrier.checkpoint.injector import BarrierInjectorHandle
from framegate.recording.reader import Recording
from framegate.schema import decode_any
from framegate.schema.control import (
    CheckpointBarrier,
    ControlSignal,
    InjectBarrier,
    SignalCategory,
    SignalKind,
    Watermark,
)
from framegate.schema.errors import MessageError
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.client.client import Client
from framegate.shmpool.producer.command_word import NAME
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Subscription
from framegate.shmpool.transport.streams import Streams, untethered

from tests.system.conftest import System
from tests.system.join_bed import LEFT, RIGHT, JoinBed, interrupted, killed, summary_of
from tests.system.journal_table import read_rows
from tests.system.pool import Pool

SMALL = ("--shape", "4x4")
EPOCH = 3


class Ear:
    """The shared descriptor stream, as it is heard: frames by their number, barriers with their place."""

    def __init__(self, subscription: Subscription, system: System) -> None:
        self.messages: list[Any] = []
        self.data: list[bytes] = []
        self._subscription, self._system = subscription, system

    def listen(self) -> None:
        while found := self._subscription.poll(1_000):
            for each in found:
                self.data.append(each.data)
                self.messages.append(decode_any(each.data))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            self.listen()
            return condition()

        self._system.until(look, what)

    def of(self, stream: int, epoch: int | None = None) -> list[Any]:
        """What belongs to a stream, in its order."""

        def epoch_of(message: Any) -> int:
            found: int = message.epoch if isinstance(message, FrameDescriptor) else message.source_epoch
            return found

        ours = [message for message in self.messages if message.stream_id == stream]
        return [message for message in ours if epoch in {None, epoch_of(message)}]

    def barriers(self, stream: int, epoch: int | None = None) -> list[CheckpointBarrier]:
        return [message for message in self.of(stream, epoch) if isinstance(message, CheckpointBarrier)]

    def until_barrier(self, stream: int, checkpoint_id: int) -> None:
        def has_come() -> bool:
            return any(barrier.checkpoint_id == checkpoint_id for barrier in self.barriers(stream))

        self.until(has_come, f"barrier {checkpoint_id} on stream {stream}")

    def until_frames(self, stream: int, count: int, epoch: int | None = None) -> None:
        def have_come() -> bool:
            frames = [each for each in self.of(stream, epoch) if isinstance(each, FrameDescriptor)]
            return len(frames) >= count

        self.until(have_come, f"{count} frames on stream {stream}")

    def assert_in_place(self, stream: int) -> None:
        """Each barrier names the frame that came before it, and what comes after it is later."""
        last: dict[int, int] = {}
        for message in self.of(stream):
            if isinstance(message, FrameDescriptor):
                assert message.seq == last.get(message.epoch, -1) + 1
                last[message.epoch] = message.seq
            elif isinstance(message, CheckpointBarrier | ControlSignal):
                assert message.after_seq == last.get(message.source_epoch), message


@contextmanager
def listening(pool: Pool, system: System) -> Iterator[tuple[Ear, Client]]:
    streams = Streams()
    with AeronTransport(pool.aeron_dir) as transport, pool.client() as client:
        yield Ear(transport.add_subscription(untethered(streams.channel), streams.descriptor), system), client


def ask(client: Client, checkpoint_id: int, pipeline: str = "default") -> None:
    """As the coordinator does."""
    message = InjectBarrier(checkpoint_id=checkpoint_id, epoch=EPOCH, flags=0, pipeline=pipeline)
    assert client.send(message)


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    pool = Pool(system, shm)
    pool.start_driver()
    return pool


def test_sources_send_the_coordinators_barriers_in_their_place_also_from_inside_user_code(
    pool: Pool, system: System
) -> None:
    with listening(pool, system) as (ear, client):
        steady = pool.produce("--rate", "500", *SMALL, "--json", stream=LEFT)
        busy = system.own_program("busy_producer", pool.aeron_dir, pool.base_dir, str(RIGHT))
        steady.says(event="ready")
        busy.says(event="ready")
        ask(client, 1)
        ear.until_barrier(LEFT, 1)
        ear.until_barrier(RIGHT, 1)
        busy.tell("go")
        computing = busy.says(event="computing")
        for checkpoint_id in (2, 3):
            ask(client, checkpoint_id)
            # It has come while the producer computes: nobody told that to go on.
            ear.until_barrier(RIGHT, checkpoint_id)
            ear.until_barrier(LEFT, checkpoint_id)
        assert not [each for each in busy.objects() if each["event"] == "published"]
        busy.tell("go on")
        busy.says(event="published")
        ear.until_frames(RIGHT, 4)
        ask(client, 9, pipeline="another")
        ask(client, 4)
        ear.until_barrier(RIGHT, 4)
        ear.until_barrier(LEFT, 4)
        assert [(each.checkpoint_id, each.after_seq) for each in ear.barriers(RIGHT)] == [
            (1, None),
            (2, computing["seq"] - 1),
            (3, computing["seq"] - 1),
            (4, computing["seq"]),
        ]
        assert [each.checkpoint_id for each in ear.barriers(LEFT)] == [1, 2, 3, 4]
        assert {each.epoch for each in ear.barriers(LEFT)} == {EPOCH}
        # What is over is not sent again, and said: a coordinator that began anew would wait in vain.
        ask(client, 3)
        steady.until(lambda: "barrier 3 is not sent" in steady.stderr, "saying so")
        ear.listen()
        assert ear.barriers(LEFT)[-1].checkpoint_id == 4
        ear.assert_in_place(LEFT)
        ear.assert_in_place(RIGHT)
    counters = interrupted(steady)
    assert (counters["barriers_sent"], counters["barrier_duplicates_ignored"]) == (4, 1)


def test_a_source_that_was_killed_sends_no_id_twice(pool: Pool, system: System) -> None:
    with listening(pool, system) as (ear, client):
        first = pool.produce("--rate", "500", *SMALL, "--json")
        before = first.says(event="ready")["epoch"]
        ear.until_frames(LEFT, 10)
        ask(client, 5)
        ear.until_barrier(LEFT, 5)
        killed(first)
        second = pool.produce("--rate", "500", *SMALL, "--json")
        epoch = second.says(event="ready")["epoch"]
        assert epoch > before
        ear.until_frames(LEFT, 1, epoch)
        # The coordinator repeats what it asked for, until it has every snapshot.
        ask(client, 5)
        ask(client, 4)
        second.until(lambda: "barrier 4 is not sent" in second.stderr, "saying so")
        (word,) = Path(pool.base_dir).rglob(NAME)
        BarrierInjectorHandle.open(word).inject(6, EPOCH)
        ear.until_barrier(LEFT, 6)
        assert [each.checkpoint_id for each in ear.barriers(LEFT)] == [5, 6]
        ear.assert_in_place(LEFT)
        assert interrupted(second)["barrier_duplicates_ignored"] >= 1


def test_without_a_coordinator_barriers_come_by_their_interval_and_ids_grow_over_lives(
    pool: Pool, system: System
) -> None:
    words = ("--rate", "100", *SMALL, "--barrier-interval-ms", "20", "--json")
    with listening(pool, system) as (ear, client):
        lives = []
        for _ in range(2):
            program = pool.produce(*words)
            epoch = program.says(event="ready")["epoch"]
            ear.until(lambda epoch=epoch: len(ear.barriers(LEFT, epoch)) >= 3, "three barriers")  # type: ignore[misc]
            lives.append(program)
            if len(lives) == 1:
                killed(program)
        ids = [each.checkpoint_id for each in ear.barriers(LEFT)]
        assert all(before < after for before, after in pairwise(ids)), ids
        ear.assert_in_place(LEFT)
        # A coordinator allocates all ids from the moment when it is heard.
        ask(client, 1_000_000)
        ear.until_barrier(LEFT, 1_000_000)
        heard = len(ear.of(LEFT))
        ear.until(lambda: len(ear.of(LEFT)) > heard + 20, "publishing on")
        assert ear.barriers(LEFT)[-1].checkpoint_id == 1_000_000
    assert "has a coordinator" in lives[-1].stderr
    interrupted(lives[-1])


def test_a_driver_that_ends_leaves_no_command_word(system: System, shm: Path) -> None:
    pool = Pool(system, shm)
    driver = pool.start_driver()
    producer = pool.produce("--rate", "100", *SMALL, "--json")
    producer.says(event="ready")
    assert len(list(Path(pool.base_dir).rglob(NAME))) == 1
    interrupted(producer)
    driver.send(signal.SIGINT)
    assert driver.wait() == 0, driver
    assert list(Path(pool.base_dir).rglob("*")) == []


# --- Who does not know them, or need not care ----------------------------------------------------------------


def known_to_the_family(data: bytes) -> int | None:
    """A decoder of another program: schema 900 and its descriptors, and nothing else. The frame's number."""
    if len(data) < 8:
        return None
    block_length, template, schema, _version = struct.unpack_from("<4H", data)
    if schema != 900 or template != 4 or len(data) < 8 + block_length:
        return None
    seq: int = struct.unpack_from("<Q", data, 20)[0]
    return seq


FRAMES = 120


def between_all_kinds(client: Client, producer: Any, seq: int) -> None:
    """Something between every two frames."""
    match seq % 4:
        case 0:
            producer.watermark(seq)
        case 1:
            producer.barrier(seq + 1, EPOCH)
        case 2:
            test = ControlSignal(
                category=SignalCategory.BARRIER,
                kind=SignalKind.SYNC_TEST,
                barrier_id=seq,
                stream_id=producer.stream_id,
                source_epoch=producer.epoch,
                after_seq=None,
                pipeline="default",
            )
            producer.send_between(test.encode())
        case _:
            ask(client, 1_000 + seq)


def test_foreign_consumers_our_own_agents_and_recorders_are_not_disturbed(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm)
    bed.start_driver()
    pool, file = bed.pool, bed.folder / "out.mcap"
    agent = bed.join(bed.lockstep())
    told = ("record", str(file), "--streams", f"{LEFT},{RIGHT}", "--payload", "--json")
    recorder = system.framegate(*told, *pool.places)
    recorder.says(event="ready")
    with listening(pool, system) as (ear, client):
        consumer = client.consumer(LEFT, timeout_s=30)
        producers = [client.producer(stream, shape=(4, 4), dtype="uint8") for stream in (LEFT, RIGHT)]
        assert producers[0].wait_consumers(3, 30)
        assert producers[1].wait_consumers(2, 30)
        frame = np.zeros((4, 4), np.uint8)
        for seq in range(FRAMES):
            for producer in producers:
                between_all_kinds(client, producer, seq)
                producer.publish(frame)
        # The last one that the coordinator asked for.
        ear.until_barrier(LEFT, 1_000 + FRAMES - 1)
        ear.until_barrier(RIGHT, 1_000 + FRAMES - 1)
        for producer in producers:
            producer.end()
        assert [each.seq for each in consumer] == list(range(FRAMES))
        heard = consumer.control()
        ear.until(lambda: len([each for each in ear.messages if isinstance(each, ControlSignal)]) >= 62, "the ends")
    ear.assert_in_place(LEFT)
    ear.assert_in_place(RIGHT)
    assert summary_of(agent)["rows"] == FRAMES
    assert [row.out_seq for row in read_rows(bed.journal())] == list(range(FRAMES))
    assert summary_of(recorder)["complete"]
    # Each stands where it stands for whoever knows it, and is not there for whoever does not.
    ours = [data for data, each in zip(ear.data, ear.messages, strict=True) if each.stream_id == LEFT]
    known = [known_to_the_family(data) for data in ours]
    assert [seq for seq in known if seq is not None] == list(range(FRAMES))
    between = [each for each in ear.of(LEFT) if not isinstance(each, FrameDescriptor)]
    assert {type(each) for each in between} == {CheckpointBarrier, Watermark, ControlSignal}
    assert [each.message for each in heard] == between
    assert [each.after_seq for each in heard if isinstance(each.message, CheckpointBarrier)] == [
        each.after_seq for each in ear.barriers(LEFT)
    ]
    recorded = [each for each in _recorded(file) if each.stream_id == LEFT]
    assert [each for each in recorded if isinstance(each, CheckpointBarrier | Watermark | ControlSignal)] == between
    _assert_joins_the_same(bed, file)


def _recorded(file: Path) -> list[Any]:
    found = list[Any]()
    with Recording.open(file) as recording:
        for each in recording:
            try:
                message = each.message()
            except MessageError:
                continue
            if isinstance(message, FrameDescriptor | CheckpointBarrier | Watermark | ControlSignal):
                found.append(message)
    return found


def _assert_joins_the_same(bed: JoinBed, file: Path) -> None:
    """Barriers are in the file, and in no row."""
    again = bed.join(bed.lockstep("again"), "--from", str(file), is_ready=False)
    assert summary_of(again)["rows"] == FRAMES


def test_a_replay_sends_the_coordinators_barriers_and_recorded_ones_only_when_raw(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm)
    bed.start_driver()
    pool, file = bed.pool, bed.folder / "out.mcap"
    recorder = system.framegate("record", str(file), "--streams", str(LEFT), "--payload", "--json", *pool.places)
    recorder.says(event="ready")
    schedule = bed.folder / "frames.csv"
    rows = [f"{seq},{seq},,{seq + 1}" if seq % 10 else f"{seq},{seq},," for seq in range(60)]
    schedule.write_text("\n".join(["at_ms,seq,timestamp_ns,barrier", *rows]) + "\n")
    producer = pool.produce("--schedule", str(schedule), "--wait-consumers", "1", "--end", *SMALL, "--json")
    assert producer.wait() == 0, producer
    assert summary_of(recorder)["complete"]
    with listening(pool, system) as (ear, client):
        replay = system.framegate(
            "replay", str(file), "--speed", "0.2", "--loop", "0", "--pipeline", "mine", "--json", *pool.places
        )
        replay.says(event="ready")
        ear.until_frames(LEFT, 3)
        ask(client, 500)
        ask(client, 501, pipeline="mine")
        ear.until_barrier(LEFT, 501)
        assert [each.checkpoint_id for each in ear.barriers(LEFT)] == [501]
        ear.assert_in_place(LEFT)
        replay.send(signal.SIGINT)
        assert replay.wait() == 0, replay
    with listening(pool, system) as (ear, client):
        raw = system.framegate("replay", str(file), "--speed", "max", "--raw", "--json", *pool.places)
        assert raw.wait() == 0, raw
        ear.until_barrier(LEFT, 60)
        assert [each.checkpoint_id for each in ear.barriers(LEFT)] == [seq + 1 for seq in range(60) if seq % 10]
        ear.assert_in_place(LEFT)
