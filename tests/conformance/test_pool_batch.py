# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""The frames of one poll: a sequence whose frames are made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from framegate._native import Frame, FrameBatch, PoolConsumer, PoolProducer
from tests.conformance.pool_checks import counting, pipes
from tests.conformance.pool_world import EPOCH, RING, STREAM_ID, Pipes, PoolWorld, pool_world, until

COUNT = 5
EIGHT_SLOTS = replace(RING, nslots=8)
NO_TIME = 2**64 - 1


@pytest.fixture
def world(pipes: Pipes) -> Iterator[PoolWorld]:
    with pool_world(pipes, EIGHT_SLOTS) as world:
        yield world


def producer_in(world: PoolWorld, pipes: Pipes) -> PoolProducer:
    producer = PoolProducer(pipes.from_producer.publication, STREAM_ID, dtype=None, shape=None)
    producer.attach(world.native)
    return producer


def consumer_in(world: PoolWorld, pipes: Pipes) -> PoolConsumer:
    consumer = PoolConsumer(pipes.from_producer.subscription, STREAM_ID)
    consumer.attach(world.native)
    return consumer


def polled(consumer: PoolConsumer, count: int) -> FrameBatch:
    """So many frames that were published already."""
    found = list[FrameBatch]()

    def has_come() -> bool:
        if batch := consumer.poll():
            found.append(batch)
        return bool(found)

    until(has_come, "read")
    assert len(found[0]) == count
    return found[0]


@pytest.fixture
def batch(world: PoolWorld, pipes: Pipes) -> FrameBatch:
    """Frames 0 to 4, frame k of k + 1 elements at time 100 + k; the last without a time."""
    producer = producer_in(world, pipes)
    for seq in range(COUNT):
        producer.publish(counting((seq + 1,)), 100 + seq if seq < COUNT - 1 else None, 200 + seq, 300 + seq)
    return polled(consumer_in(world, pipes), COUNT)


def test_a_batch_is_a_sequence_of_its_frames_in_their_order(batch: FrameBatch) -> None:
    assert isinstance(batch, Sequence)
    assert [frame.seq for frame in batch] == [batch[index].seq for index in range(COUNT)] == list(range(COUNT))
    assert [batch[index].seq for index in range(-COUNT, 0)] == list(range(COUNT))
    assert [frame.seq for frame in reversed(batch)] == list(range(COUNT))[::-1]
    assert bool(batch)


def test_each_frame_of_a_batch_is_whole_as_if_it_had_come_alone(batch: FrameBatch) -> None:
    for seq, frame in enumerate(batch):
        np.testing.assert_array_equal(frame.array, counting((seq + 1,)))
        assert frame.timestamp_ns == (100 + seq if seq < COUNT - 1 else None)
        assert (frame.descriptor_timestamp_ns, frame.trace_id) == (200 + seq, 300 + seq)
        assert (frame.stream_id, frame.epoch, frame.shape) == (STREAM_ID, EPOCH, (seq + 1,))


@pytest.mark.parametrize("index", [COUNT, -COUNT - 1, 2**62, -(2**62)])
def test_an_index_outside_a_batch_is_an_index_error(batch: FrameBatch, index: int) -> None:
    with pytest.raises(IndexError):
        batch[index]


@pytest.mark.parametrize("key", ["0", 1.0, None])
def test_a_key_that_is_no_index_is_a_type_error(batch: FrameBatch, key: object) -> None:
    with pytest.raises(TypeError):
        batch[key]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "part",
    [slice(1, 3), slice(None), slice(None, None, -1), slice(-2, None), slice(4, 0, -3), slice(3, 1), slice(9, 12)],
)
def test_a_slice_of_a_batch_is_a_batch_of_what_the_list_would_hold(batch: FrameBatch, part: slice) -> None:
    found = batch[part]
    assert isinstance(found, FrameBatch)
    assert list(found.seqs) == [frame.seq for frame in found] == list(range(COUNT))[part]


def test_columns_are_arrays_to_numpy_and_agree_with_the_frames(batch: FrameBatch) -> None:
    seqs, stamps = np.asarray(batch.seqs), np.asarray(batch.timestamps)
    assert seqs.dtype == stamps.dtype == np.uint64
    assert seqs.tolist() == list(range(COUNT))
    assert stamps.tolist() == [100, 101, 102, 103, NO_TIME]
    assert batch.seqs.readonly


def test_an_empty_batch_is_false_and_has_empty_columns(world: PoolWorld, pipes: Pipes) -> None:
    batch = consumer_in(world, pipes).poll()
    assert not batch
    assert (len(batch), list(batch), list(batch.seqs), list(batch.timestamps), batch.valid()) == (0, [], [], [], 0)
    assert batch == []
    assert batch == FrameBatch()
    assert batch.epoch is None
    with pytest.raises(IndexError):
        batch[0]


def test_valid_counts_the_frames_that_were_not_overwritten_yet(world: PoolWorld, pipes: Pipes) -> None:
    producer = producer_in(world, pipes)
    consumer = consumer_in(world, pipes)
    slots = EIGHT_SLOTS.nslots
    for _ in range(slots):
        producer.publish(counting((3,)))
    batch = polled(consumer, slots)
    assert batch.valid() == slots
    for overwritten in (1, 2):
        producer.publish(counting((3,)))
        assert batch.valid() == slots - overwritten
    assert [frame.is_valid() for frame in batch] == [False, False] + [True] * (slots - 2)


def test_a_batch_is_made_of_frames_again_and_only_of_frames(batch: FrameBatch) -> None:
    again = FrameBatch([batch[3], batch[1]])
    assert list(again.seqs) == [3, 1]
    np.testing.assert_array_equal(again[0].array, counting((4,)))
    with pytest.raises(TypeError):
        FrameBatch([batch[0], 1])  # type: ignore[list-item]


def test_frames_are_equal_when_they_are_the_same_frame_of_the_same_epoch(batch: FrameBatch) -> None:
    assert batch[2] == batch[2]
    assert hash(batch[2]) == hash(batch[2])
    assert batch[2] != batch[1]
    assert batch[2] != object()
    assert (batch.index(batch[2]), batch.count(batch[2]), batch[2] in batch) == (2, 1, True)
    assert batch == list(batch) == FrameBatch(batch)
    assert batch != list(batch)[:-1]
    assert batch != FrameBatch(batch[::-1])
    assert batch != tuple(range(COUNT))
    with pytest.raises(ValueError, match="is not in list"):
        batch[:2].index(batch[2])


def test_one_batch_may_hold_frames_of_two_epochs(world: PoolWorld, pipes: Pipes) -> None:
    producer, consumer = producer_in(world, pipes), consumer_in(world, pipes)
    with pool_world(pipes, replace(EIGHT_SLOTS, epoch=EPOCH + 1)) as following:
        for seq in range(2):
            producer.publish(counting((3 + seq,)))
        producer.attach(following.native)
        for seq in range(3):
            producer.publish(counting((5 + seq,)))
        consumer.attach(following.native)
        batch = polled(consumer, 5)
        assert [(frame.epoch, frame.seq) for frame in batch] == [
            (EPOCH, 0),
            (EPOCH, 1),
            *((EPOCH + 1, seq) for seq in range(3)),
        ]
        for frame, length in zip(batch, (3, 4, 5, 6, 7), strict=True):
            np.testing.assert_array_equal(frame.array, counting((length,)))
        assert [(frame.epoch, frame.seq) for frame in batch[1:4:2]] == [(EPOCH, 1), (EPOCH + 1, 1)]
        assert (batch.epoch, batch[:2].epoch) == (EPOCH + 1, EPOCH), "of the last frame"
        assert batch[0] != batch[2]


def test_a_frame_of_a_batch_keeps_its_memory_when_batch_and_regions_are_gone(pipes: Pipes) -> None:
    with pool_world(pipes) as world:
        producer, consumer = producer_in(world, pipes), consumer_in(world, pipes)
        producer.publish(counting((3,)))
        frame: Frame = polled(consumer, 1)[0]
        producer.detach()
        consumer.detach()
        world.native.close()
    np.testing.assert_array_equal(frame.array, counting((3,)))
