# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""The native loops that measurements stand on do what they say, and count what they did not do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from framegate.schema.errors import FrameTooLarge, InvalidValue, NotAttached
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from framegate._native import (
    AeronClient,
    PoolConsumer,
    PoolProducer,
    bench_ages,
    bench_bare_offer,
    bench_paced,
    bench_publish,
    bench_read,
)
from tests.conformance.pool_checks import counting, pipes, world
from tests.conformance.pool_world import RING, STREAM_ID, WATCHDOG_NS, Pipe, Pipes, PoolWorld, pool_world, until

FRAME_BYTES = 64
TOO_LARGE = 8192
PATIENCE_S = 20.0


@pytest.fixture
def producer(world: PoolWorld, pipes: Pipes) -> PoolProducer:
    producer = PoolProducer(pipes.from_producer.publication, STREAM_ID, dtype=None, shape=None)
    producer.attach(world.native)
    return producer


@pytest.fixture
def consumer(world: PoolWorld, pipes: Pipes) -> PoolConsumer:
    consumer = PoolConsumer(pipes.from_producer.subscription, STREAM_ID)
    consumer.attach(world.native)
    return consumer


def slot_bytes(world: PoolWorld, seq: int) -> bytes:
    pool = min(world.strides, key=lambda pool: (world.strides[pool] < FRAME_BYTES, world.strides[pool]))
    return bytes(world.reference.payload(pool, seq % RING.nslots)[:FRAME_BYTES])


# --- publishing as fast as it goes -----------------------------------------------------------------------


def test_a_frame_that_is_not_copied_is_committed_and_announced_as_its_slot_lies(
    world: PoolWorld, pipes: Pipes, producer: PoolProducer
) -> None:
    producer.publish(np.full(FRAME_BYTES, 7, np.uint8), seq=RING.nslots)
    assert bench_publish(producer, FRAME_BYTES, RING.nslots, False)[1] == RING.nslots
    assert slot_bytes(world, 2 * RING.nslots) == bytes([7] * FRAME_BYTES)
    assert bench_publish(producer, FRAME_BYTES, RING.nslots)[1] == RING.nslots
    assert slot_bytes(world, 3 * RING.nslots) == bytes([0x5A] * FRAME_BYTES)
    heard = [FrameDescriptor.decode(message.data).seq for message in pipes.from_producer.subscription.poll()]
    assert heard == list(range(RING.nslots, 3 * RING.nslots + 1))


@pytest.mark.parametrize("copied", [True, False])
def test_a_frame_that_fits_nowhere_ends_the_loop(producer: PoolProducer, copied: bool) -> None:
    assert bench_publish(producer, TOO_LARGE, 10, copied)[1] == 0
    assert producer.next_seq == 0


def test_bare_offers_are_messages_that_nobody_counts(aeron_dir: str) -> None:
    client = AeronClient(aeron_dir)
    pipe = Pipe(client)
    assert bench_bare_offer(pipe.publication, FRAME_BYTES, 3)[1] == 3
    assert [message.data for message in pipe.subscription.poll()] == [bytes([0x5A] * FRAME_BYTES)] * 3
    assert pipe.publication.counters()["sent"] == 0
    pipe.publication.close()
    assert bench_bare_offer(pipe.publication, FRAME_BYTES, 3)[1] == 0
    assert client.close()


# --- publishing at a pace ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [0.0, 1e6])
def test_a_paced_run_ends_after_its_count_and_says_which_frames_it_were(
    producer: PoolProducer, consumer: PoolConsumer, rate_hz: float
) -> None:
    producer.publish(counting((3,)))
    sent, not_sent, first, last, elapsed_ns = bench_paced(producer, FRAME_BYTES, rate_hz, count=RING.nslots)
    assert (sent, not_sent, first, last) == (RING.nslots, 0, 1, RING.nslots)
    assert elapsed_ns > 0
    assert list(consumer.poll(100).seqs)[-1] == RING.nslots


def test_no_frame_of_a_paced_run_comes_before_it_is_due(producer: PoolProducer, consumer: PoolConsumer) -> None:
    """At 100 a second frame k is stamped no earlier than k times 10 ms after the call."""
    began_ns = monotonic_ns()
    assert bench_paced(producer, FRAME_BYTES, 100.0, count=3)[:2] == (3, 0)
    stamps = list(consumer.poll().timestamps)
    assert len(stamps) == 3
    now_ns = monotonic_ns()
    assert all(began_ns + 10_000_000 * frame <= stamp <= now_ns for frame, stamp in enumerate(stamps))


def test_a_paced_run_ends_after_its_time_and_counts_every_frame_that_was_due(producer: PoolProducer) -> None:
    """At 100 a second, frames are due at 0, 10, 20, 30 and 40 ms: whether each was in time depends on the machine."""
    sent, not_sent, first, last, elapsed_ns = bench_paced(producer, FRAME_BYTES, 100.0, seconds=0.045)
    assert elapsed_ns >= 45_000_000
    assert (sent + not_sent, first, last) == (5, 0, sent - 1)


def test_a_rate_that_cannot_be_held_shows_as_frames_that_were_not_sent(producer: PoolProducer) -> None:
    sent, not_sent, *_ = bench_paced(producer, FRAME_BYTES, 1e12, seconds=0.001)
    assert sent + not_sent >= 1_000_000_000
    assert not_sent > sent


def test_frames_whose_descriptor_was_given_up_count_as_not_sent(world: PoolWorld, aeron_dir: str) -> None:
    """The log holds a few hundred descriptors, nobody reads them, and each is offered once."""
    client = AeronClient(aeron_dir)
    channel, stream = "aeron:ipc?term-length=64k", 29_999
    heard = client.add_subscription(channel, stream, idle="sleep", timeout_ns=WATCHDOG_NS)
    said = client.add_publication(channel, stream, exclusive=True, attempts=1, deadline_ns=0, timeout_ns=WATCHDOG_NS)
    until(lambda: said.is_connected and heard.image_count == 1, "connected")
    producer = PoolProducer(said, STREAM_ID, dtype=None, shape=None)
    producer.attach(world.native)
    sent, not_sent, first, last, _ = bench_paced(producer, FRAME_BYTES, 0.0, count=2_000)
    assert 0 < sent < 2_000
    assert (sent + not_sent, first, last) == (2_000, 0, 1_999)
    assert producer.counters()["descriptors_lost"] == not_sent
    assert client.close()


def test_a_paced_run_of_no_frames_names_none(producer: PoolProducer) -> None:
    assert bench_paced(producer, FRAME_BYTES, 0.0, count=0)[:4] == (0, 0, None, None)
    assert bench_paced(producer, FRAME_BYTES, 0.0, seconds=0.0)[:4] == (0, 0, None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"rate_hz": -1.0},
        {"rate_hz": float("nan")},
        {"rate_hz": float("inf")},
        {"count": None},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
    ],
)
def test_a_pace_that_makes_no_sense_is_refused_before_anything_is_published(
    producer: PoolProducer, changes: dict[str, float]
) -> None:
    with pytest.raises(InvalidValue):
        bench_paced(**{"producer": producer, "frame_bytes": FRAME_BYTES, "rate_hz": 1.0, "count": 1, **changes})  # type: ignore[arg-type]
    assert producer.next_seq == 0


@pytest.mark.parametrize("copied", [True, False])
def test_a_paced_frame_that_fits_nowhere_raises(producer: PoolProducer, copied: bool) -> None:
    with pytest.raises(FrameTooLarge):
        bench_paced(producer, TOO_LARGE, 0.0, count=1, copied=copied)


def test_a_paced_run_without_a_lease_raises(producer: PoolProducer) -> None:
    producer.detach()
    with pytest.raises(NotAttached):
        bench_paced(producer, FRAME_BYTES, 0.0, count=1)


# --- reading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("idle", ["busy", "yield", "backoff", "sleep"])
def test_an_age_is_from_the_time_in_the_slot_to_now(producer: PoolProducer, consumer: PoolConsumer, idle: str) -> None:
    before_ns = monotonic_ns()
    bench_paced(producer, FRAME_BYTES, 0.0, count=4)
    published_ns = monotonic_ns()
    sleep_ns(1_000_000)
    reading_ns = monotonic_ns()
    ages = bench_ages(consumer, 4, idle, PATIENCE_S)
    read_ns = monotonic_ns()
    assert len(ages) == 4
    assert all(reading_ns - published_ns <= age <= read_ns - before_ns for age in ages)


def test_ages_come_while_frames_do(pipes: Pipes) -> None:
    """The ring is longer than all that is sent: whatever pause the reader makes, it loses nothing."""
    with pool_world(pipes, replace(RING, nslots=64)) as world, ThreadPoolExecutor(1) as thread:
        producer = PoolProducer(pipes.from_producer.publication, STREAM_ID, dtype=None, shape=None)
        consumer = PoolConsumer(pipes.from_producer.subscription, STREAM_ID)
        producer.attach(world.native)
        consumer.attach(world.native)
        ages = thread.submit(bench_ages, consumer, 20, "backoff", PATIENCE_S)
        assert bench_paced(producer, FRAME_BYTES, 1_000.0, count=20)[0] == 20
        assert len(ages.result()) == 20
        assert consumer.counters()["frames"] == 20


def test_reading_ends_when_its_time_is_over_and_nothing_came(consumer: PoolConsumer) -> None:
    assert bench_ages(consumer, 1, "yield", 0.01) == []
    spent_ns, *counts = bench_read(consumer, 1, 1, False, 0.01)
    assert spent_ns >= 10_000_000
    assert counts == [0, 0]


@pytest.mark.parametrize("copied", [True, False])
def test_frames_that_were_overwritten_are_not_read(
    producer: PoolProducer, consumer: PoolConsumer, copied: bool
) -> None:
    bench_publish(producer, FRAME_BYTES, RING.nslots + 2)
    _, seen, valid = bench_read(consumer, RING.nslots, 100, copied, PATIENCE_S)
    assert (seen, valid) == (RING.nslots, RING.nslots)
    assert consumer.counters()["late_drops"] == 2


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_reading_time_that_makes_no_sense_is_refused(consumer: PoolConsumer, seconds: float) -> None:
    with pytest.raises(InvalidValue):
        bench_read(consumer, 1, 1, False, seconds)
    with pytest.raises(InvalidValue):
        bench_ages(consumer, 1, "yield", seconds)


def test_an_idle_strategy_that_nobody_knows_is_refused(consumer: PoolConsumer) -> None:
    with pytest.raises(InvalidValue, match="idle"):
        bench_ages(consumer, 1, "noop", 0.0)
