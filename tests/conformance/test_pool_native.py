# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""What the native producer and consumer do beside writing and reading slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from framegate.schema.errors import (
    NotAttached,
    RegionBusy,
)
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.reference import ReferenceWriter, commit

from framegate._native import Frame, PoolConsumer, PoolProducer, bench_publish
from tests.conformance.pool_checks import KINDS, assert_shows, counting, descriptor, pipes, taken, world, writer
from tests.conformance.pool_world import (
    EPOCH,
    RING,
    STREAM_ID,
    Array,
    NativeReader,
    Pipe,
    Pipes,
    PoolWorld,
    pool_world,
    until,
)

# --- What else a native consumer leaves alone ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "counter"),
    [({"epoch": EPOCH - 1}, "other_epoch"), ({"epoch": EPOCH + 1}, "other_epoch"), ({"stream_id": 1}, "other_streams")],
)
def test_a_descriptor_of_another_epoch_or_stream_is_dropped(
    world: PoolWorld, changes: dict[str, int], counter: str
) -> None:
    found, reader = world.writer("native").publish(counting((3,))), world.reader("native")
    assert reader.read(replace(found, **changes)) == counter
    assert_shows(reader.read(found), counting((3,)))


def test_gaps_and_late_frames_are_counted_apart(world: PoolWorld) -> None:
    writer, reader = world.writer("native"), world.reader("native")
    assert isinstance(reader, NativeReader)
    frames = [writer.publish(counting((3,))) for _ in range(RING.nslots + 3)]
    reader.read(frames[0])
    for seq in (1, 4, 6):
        reader.read(frames[seq])
    found = {name: count for name, count in reader.counters().items() if count}
    assert found == {"frames": 2, "gap_drops": 3, "late_drops": 2, "drop_other_frame": 2}


def test_a_sequence_that_comes_again_is_no_frame(world: PoolWorld) -> None:
    writer, reader = world.writer("native"), world.reader("native")
    frames = [writer.publish(counting((3,))) for _ in range(2)]
    assert_shows(reader.read(frames[1]), counting((3,)))
    assert [reader.read(frames[seq]) for seq in (1, 0)] == ["regressions", "regressions"]


# --- An open claim ------------------------------------------------------------------------------------------


@contextmanager
def _open_claim(
    world: PoolWorld, pipes: Pipes, kind: str, dtype: str
) -> Iterator[tuple[Array, Callable[[Array], object]]]:
    """A claim of four elements, and a way to publish another frame meanwhile."""
    writer: ReferenceWriter | PoolProducer
    if kind == "reference":
        writer = ReferenceWriter(world.reference)
        with writer.claim((4,), dtype) as made:
            yield made.array, writer.publish
    else:
        writer = _producer(world, pipes)
        with writer.claim(None, shape=(4,), dtype=dtype) as claim:
            yield claim.array, writer.publish


@pytest.mark.parametrize("kind", KINDS)
def test_while_a_claim_is_open_nothing_else_is_begun(world: PoolWorld, pipes: Pipes, kind: str) -> None:
    with pytest.raises(RegionBusy), _open_claim(world, pipes, kind, "uint8") as (_, begin_another):
        begin_another(counting((16,)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_stays_what_it_is_when_another_frame_is_refused(world: PoolWorld, pipes: Pipes, kind: str) -> None:
    with _open_claim(world, pipes, kind, "float32") as (claimed, begin_another):
        claimed[...] = 1
        with pytest.raises(RegionBusy):
            begin_another(counting((16,)))
    assert_shows(world.reader("reference").read(descriptor(0)), np.ones(4, "float32"))


# --- What only the native producer and consumer do ------------------------------------------------------------


def _producer(world: PoolWorld, pipes: Pipes) -> PoolProducer:
    producer = PoolProducer(pipes.from_producer.publication, STREAM_ID, dtype=None, shape=None)
    producer.attach(world.native)
    return producer


def _consumer(world: PoolWorld, pipe: Pipe) -> PoolConsumer:
    consumer = PoolConsumer(pipe.subscription, STREAM_ID)
    consumer.attach(world.native)
    return consumer


def test_a_capture_time_that_is_left_out_is_now_by_the_monotonic_clock(world: PoolWorld, pipes: Pipes) -> None:
    producer, reader = _producer(world, pipes), world.reader("reference")
    stamps = [monotonic_ns()]
    for _ in range(3):
        producer.publish(counting((3,)))
        frame = taken(reader.read(FrameDescriptor.decode(pipes.from_producer.take())))
        assert frame.timestamp_ns is not None
        assert frame.descriptor_timestamp_ns is None
        stamps += [frame.timestamp_ns, monotonic_ns()]
    assert stamps == sorted(stamps)


def test_sequences_begin_at_0_in_every_epoch(world: PoolWorld, pipes: Pipes) -> None:
    producer = _producer(world, pipes)
    producer.publish(counting((3,)), seq=9)
    pipes.drain()
    with pool_world(pipes, replace(RING, epoch=EPOCH + 1)) as following:
        producer.attach(following.native)
        producer.publish(counting((3,)))
        found = FrameDescriptor.decode(pipes.from_producer.take())
        assert (found.epoch, found.seq) == (EPOCH + 1, 0)
        assert_shows(following.reader("reference").read(found), counting((3,)))
    assert commit.sequence(commit.load(world.slot(9 % RING.nslots))) == 9
    assert not bytes(world.slot(0)).strip(b"\0")


def test_a_producer_without_regions_publishes_nothing(world: PoolWorld, pipes: Pipes) -> None:
    producer = _producer(world, pipes)
    producer.detach()
    with pytest.raises(NotAttached):
        producer.publish(counting((3,)))
    assert not bytes(world.slot(0)).strip(b"\0")


def test_a_consumer_without_regions_drops_every_descriptor(world: PoolWorld, pipes: Pipes) -> None:
    consumer = _consumer(world, pipes.to_consumer)
    consumer.detach()
    found = world.writer("native").publish(counting((3,)))
    assert pipes.to_consumer.publication.offer(found.encode()) > 0
    until(lambda: not consumer.poll() and consumer.counters()["unmapped"] == 1, "dropped")
    consumer.attach(world.native)
    assert consumer.poll() == []


def test_a_new_epoch_forgets_sequences_and_words_of_the_old_one(world: PoolWorld, pipes: Pipes) -> None:
    reader = world.reader("native")
    assert isinstance(reader, NativeReader)
    last = world.writer("native").publish(counting((3,)), seq=100)
    assert_shows(reader.read(last), counting((3,)))
    with pool_world(pipes, replace(RING, epoch=EPOCH + 1)) as following:
        first = following.writer("native").publish(counting((5,)))
        reader.attach(following.native)
        assert_shows(reader.read(first), counting((5,)))
        assert reader.read(replace(last, seq=101)) == "other_epoch"


def test_every_descriptor_finds_its_frame_whole_while_the_producer_runs(pipes: Pipes) -> None:
    """A descriptor before its commit, or a commit before its payload, would show as a frame that is dropped or torn."""
    slots, frame_bytes = 128, 65536
    with pool_world(pipes, replace(RING, nslots=slots), {1: frame_bytes}) as world:
        producer, consumer = _producer(world, pipes), _consumer(world, pipes.from_producer)
        with ThreadPoolExecutor(1) as thread:
            for _ in range(20):
                published = thread.submit(bench_publish, producer, frame_bytes, slots)
                frames = list[Frame]()

                def has_all(frames: list[Frame] = frames) -> bool:
                    # Looked at as it comes: the payload's last byte was the last to be written.
                    for frame in consumer.poll():
                        assert frame.array[-1] == frame.array[0] == 0x5A
                        assert frame.is_valid()
                        frames.append(frame)
                    return len(frames) == slots or sum(consumer.counters().values()) > consumer.counters()["frames"]

                until(has_all, "read")
                assert published.result()[1] == len(frames) == slots
                for index in range(slots):
                    world.reference.payload(1, index)[:] = bytes(frame_bytes)


@pytest.mark.parametrize(("max_rate_hz", "wanted"), [(0, 10), (1, 1)])
def test_a_stream_of_a_consumers_own_is_held_to_its_rate_and_the_shared_one_is_not(
    world: PoolWorld, pipes: Pipes, max_rate_hz: int, wanted: int
) -> None:
    producer = _producer(world, pipes)
    producer.add_branch(1, pipes.to_consumer.publication, max_rate_hz)
    for _ in range(10):
        producer.publish(counting((3,)))
    shared = pipes.from_producer.subscription.poll()
    own = pipes.to_consumer.subscription.poll()
    assert [FrameDescriptor.decode(message.data).seq for message in shared] == list(range(10))
    # A pause of a second between two of these calls would let one more through, and never all.
    assert len(own) == 10 if wanted == 10 else 1 <= len(own) < 10
    assert own[0].data == shared[0].data


def test_a_consumer_may_hold_itself_to_a_rate_by_the_descriptors_times(world: PoolWorld, pipes: Pipes) -> None:
    writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
    consumer.limit_rate(10)
    frames = list[Frame]()
    for at_ms in (0, 50, 100, 120, 199, 200):
        found = writer.publish(counting((3,)), timestamp_ns=1, descriptor_timestamp_ns=at_ms * 1_000_000)
        assert pipes.to_consumer.publication.offer(found.encode()) > 0
        before = len(frames) + consumer.counters()["rate_limited"]

        def is_judged(before: int = before) -> bool:
            frames.extend(consumer.poll())
            return len(frames) + consumer.counters()["rate_limited"] > before

        until(is_judged, "judged")
    assert [frame.seq for frame in frames] == [0, 2, 5]
    assert consumer.counters()["rate_limited"] == 3
