# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""What the native producer and consumer do beside writing and reading slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from framegate.schema.control import Watermark
from framegate.schema.errors import (
    NotAttached,
    RegionBusy,
)
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.layout import commit
from framegate.shmpool.transport.interface import Received
from framegate.spec.pool import ReferenceWriter

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
    assert found == {"frames": 2, "gap_drops": 3, "late_drops": 2, "drop_other_frame": 1, "skipped": 1}


SLOTS = 16


def _announced(pipes: Pipes, seqs: Iterable[int]) -> None:
    for seq in seqs:
        assert pipes.to_consumer.publication.offer(descriptor(seq).encode()) > 0


def _read_all(consumer: PoolConsumer, descriptors: int) -> list[int]:
    """The sequences of all frames that are given out until so many descriptors have been judged."""
    frames = list[Frame]()

    def are_judged() -> bool:
        frames.extend(consumer.poll())
        counters = consumer.counters()
        return sum(counters[name] for name in ("frames", "late_drops")) >= descriptors

    until(are_judged, "judged")
    return [frame.seq for frame in frames]


def test_a_reader_that_was_lapped_passes_over_what_is_or_will_be_gone(pipes: Pipes) -> None:
    """Read one by one, each frame would be lost: the oldest that is still there goes before its turn comes."""
    with pool_world(pipes, replace(RING, nslots=SLOTS), {1: 64}) as world:
        writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
        for _ in range(4 * SLOTS):
            writer.publish(counting((3,)))
        _announced(pipes, range(4 * SLOTS))
        assert _read_all(consumer, 4 * SLOTS) == list(range(3 * SLOTS, 4 * SLOTS))
        counters = consumer.counters()
        # One look at a slot for every half ring.
        assert (counters["late_drops"], counters["drop_other_frame"], counters["skipped"]) == (48, 6, 42)
        assert counters["frames"] + counters["gap_drops"] + counters["late_drops"] == 4 * SLOTS


def test_after_a_lap_the_reader_stands_half_a_ring_behind_the_writer(pipes: Pipes) -> None:
    with pool_world(pipes, replace(RING, nslots=SLOTS), {1: 64}) as world:
        writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
        for _ in range(SLOTS + 1):
            writer.publish(counting((3,)))
        _announced(pipes, range(SLOTS + 1))
        # Frame 0 is gone. Frames 1 to 7 are still there, and would be gone before they were used.
        assert _read_all(consumer, SLOTS + 1) == list(range(SLOTS // 2, SLOTS + 1))


def test_a_frame_that_was_overwritten_in_the_hands_of_its_reader_is_a_lap_too(pipes: Pipes) -> None:
    with pool_world(pipes, replace(RING, nslots=SLOTS), {1: 64}) as world:
        writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
        for _ in range(SLOTS):
            writer.publish(counting((3,)))
        assert consumer.lapped(EPOCH + 1, 0) == 0
        assert consumer.lapped(EPOCH, 2) == 2 + SLOTS // 2
        assert consumer.lapped(EPOCH, 1) == 2 + SLOTS // 2
        _announced(pipes, range(SLOTS))
        assert _read_all(consumer, SLOTS) == list(range(2 + SLOTS // 2, SLOTS))


def test_a_frame_that_is_not_there_yet_is_no_lap(pipes: Pipes) -> None:
    with pool_world(pipes, replace(RING, nslots=SLOTS), {1: 64}) as world:
        writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
        for _ in range(4):
            writer.publish(counting((3,)))
        commit.store(world.slot(1), commit.in_progress(1))
        _announced(pipes, [0, 1, 2])
        assert _read_all(consumer, 3) == [0, 2]
        _announced(pipes, [SLOTS + 2, SLOTS + 3])
        assert _read_all(consumer, 5) == []
        assert consumer.counters()["skipped"] == 0


def test_what_was_passed_over_in_one_epoch_is_not_passed_over_in_the_next(pipes: Pipes) -> None:
    with (
        pool_world(pipes, replace(RING, nslots=SLOTS), {1: 64}) as world,
        pool_world(pipes, replace(RING, nslots=SLOTS, epoch=EPOCH + 1), {1: 64}) as following,
    ):
        writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
        for _ in range(SLOTS + 1):
            writer.publish(counting((3,)))
        _announced(pipes, [0])
        assert _read_all(consumer, 1) == []
        consumer.attach(following.native)
        first = following.writer("native").publish(counting((5,)))
        assert pipes.to_consumer.publication.offer(first.encode()) > 0
        assert _read_all(consumer, 2) == [0]


def test_what_the_sender_of_a_capped_stream_left_out_is_rate_limited_and_not_lost(
    world: PoolWorld, pipes: Pipes
) -> None:
    writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
    frames = [writer.publish(counting((3,))) for _ in range(RING.nslots)]

    def read(seq: int) -> None:
        before = consumer.counters()["frames"]
        assert pipes.to_consumer.publication.offer(frames[seq].encode()) > 0
        until(lambda: bool(consumer.poll()) or consumer.counters()["frames"] > before, "read")

    consumer.listen(pipes.to_consumer.subscription, capped=True)
    read(0)
    read(2)
    assert (consumer.counters()["rate_limited"], consumer.counters()["gap_drops"]) == (1, 0)
    frames += [writer.publish(counting((3,))) for _ in range(5)]
    # The stream without a cap may begin after some that the capped one would have left out.
    consumer.listen(pipes.to_consumer.subscription)
    read(5)
    assert (consumer.counters()["rate_limited"], consumer.counters()["gap_drops"]) == (3, 0)
    read(8)
    assert (consumer.counters()["rate_limited"], consumer.counters()["gap_drops"]) == (3, 2)


def test_a_control_message_comes_with_the_frame_that_was_read_before_it(world: PoolWorld, pipes: Pipes) -> None:
    writer, consumer = world.writer("native"), _consumer(world, pipes.to_consumer)
    first, second = (writer.publish(counting((3,))) for _ in range(2))
    said = Watermark(timestamp_ms=1, stream_id=STREAM_ID, source_epoch=EPOCH).encode()
    for message in (said, first.encode(), said, second.encode(), said):
        assert pipes.to_consumer.publication.offer(message) > 0
    events = list[tuple[bytes, int | None, int | None]]()

    def has_all() -> bool:
        consumer.poll()
        if consumer.has_events:
            events.extend(consumer.events())
        assert not consumer.has_events
        return len(events) == 3

    until(has_all, "heard")
    assert events == [(said, EPOCH, None), (said, EPOCH, 0), (said, EPOCH, 1)]


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


def test_what_was_announced_to_a_consumer_without_regions_has_passed_when_it_has_them_again(
    world: PoolWorld, pipes: Pipes
) -> None:
    """A producer that goes by its readers would wait for it for ever; a false descriptor says nothing."""
    consumer, writer = _consumer(world, pipes.to_consumer), world.writer("native")
    consumer.detach()
    found = [writer.publish(counting((3,))) for _ in range(3)]
    for each in (*found, replace(found[-1], seq=1 << 40)):
        assert pipes.to_consumer.publication.offer(each.encode()) > 0
    until(lambda: not consumer.poll() and consumer.counters()["unmapped"] == 4, "dropped")
    consumer.attach(world.native)
    assert consumer.last_seq == 2
    assert pipes.to_consumer.publication.offer(writer.publish(counting((3,))).encode()) > 0
    until(lambda: len(consumer.poll()) == 1, "the next frame")
    assert consumer.counters()["gap_drops"] == 3


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
    shared, own = list[Received](), list[Received]()

    def has_all() -> bool:
        # A poll ends with the term of the log, wherever in it the stream stands.
        shared.extend(pipes.from_producer.subscription.poll())
        own.extend(pipes.to_consumer.subscription.poll())
        return len(shared) == 10 and len(own) >= wanted

    until(has_all, "heard")
    own.extend(pipes.to_consumer.subscription.poll())
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
