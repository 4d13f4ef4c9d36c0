# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""Bells of the native parts and of their twin: each wakes the other, in the same files."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.idle import sleep_ns
from framegate.spec.pool.bells import StreamBells

from framegate._native import Frame, PoolConsumer, PoolProducer, PoolRegions
from tests.conformance.pool_checks import pipes
from tests.conformance.pool_world import EPOCH, STREAM_ID, WATCHDOG_NS, Pipes, regions_in, until
from tests.own_folder import own_folder

FRAME = np.arange(8, dtype=np.uint8)


@pytest.fixture
def regions() -> Iterator[PoolRegions]:
    """Regions that lie where a driver puts them, so that there are bells beside them."""
    with own_folder("bells") as folder:
        (folder / "namespace").mkdir()
        (folder / "namespace" / "driver.lock").touch()
        yield regions_in(folder / "namespace" / str(STREAM_ID) / str(EPOCH))


@pytest.fixture
def twin(regions: PoolRegions) -> StreamBells:
    return StreamBells(Path(regions.paths[0]).parent)


def published(producer: PoolProducer, pipes: Pipes) -> FrameDescriptor:
    producer.publish(FRAME, None)
    return FrameDescriptor.decode(pipes.from_producer.take())


def a_producer(regions: PoolRegions, pipes: Pipes) -> PoolProducer:
    producer = PoolProducer(pipes.from_producer.publication, STREAM_ID, dtype=None, shape=None)
    producer.attach(regions)
    return producer


def test_a_native_writer_promises_for_its_epoch_until_it_leaves(
    regions: PoolRegions, twin: StreamBells, pipes: Pipes
) -> None:
    assert not twin.is_rung(EPOCH)
    producer = a_producer(regions, pipes)
    assert twin.is_rung(EPOCH)
    assert not twin.is_rung(EPOCH + 1)
    producer.detach()
    assert not twin.is_rung(EPOCH)


def test_a_native_writer_wakes_a_twin_that_sleeps_and_only_then(
    regions: PoolRegions, twin: StreamBells, pipes: Pipes
) -> None:
    producer = a_producer(regions, pipes)
    with twin.sleeper() as sleeper:
        published(producer, pipes)
        assert not sleeper.sleep(sleeper.lie_down(), 1_000_000), "nothing was written since it looked"
        seen = sleeper.lie_down()
        published(producer, pipes)
        assert sleeper.sleep(seen, WATCHDOG_NS), "the bell was rung before the sleep began"
        seen = sleeper.lie_down()
        later = threading.Timer(0.05, lambda: published(producer, pipes))
        later.start()
        assert sleeper.sleep(seen, WATCHDOG_NS)
        later.join()


def test_a_twin_wakes_a_native_reader_that_sleeps(regions: PoolRegions, twin: StreamBells, pipes: Pipes) -> None:
    descriptor = published(a_producer(regions, pipes), pipes)
    twin.promise(EPOCH)
    consumer = PoolConsumer(pipes.to_consumer.subscription, STREAM_ID)
    consumer.attach(regions)
    found = list[Frame]()

    def read() -> None:
        while not found:
            found.extend(consumer.poll(1, WATCHDOG_NS))

    reading = threading.Thread(target=read)
    reading.start()
    # A reader that would only look again and again is never rung.
    until(lambda: twin.ring() == 1, "asleep")
    assert pipes.to_consumer.publication.offer(descriptor.encode()) > 0
    until(lambda: bool(found) or twin.ring() > 1, "read")
    reading.join()
    assert [frame.seq for frame in found] == [descriptor.seq]


def sleeps(consumer: PoolConsumer, twin: StreamBells) -> int:
    """How often a reader that waits in vain was found asleep."""
    reading = threading.Thread(target=consumer.poll, args=(1, 100_000_000))
    reading.start()
    rung = 0
    while reading.is_alive():
        rung += twin.ring()
        sleep_ns(1_000_000)
    return rung


@pytest.mark.parametrize("idle", ["backoff", "yield", "spin"])
def test_whoever_wants_to_stay_awake_does_not_sleep(
    regions: PoolRegions, twin: StreamBells, pipes: Pipes, idle: str
) -> None:
    twin.promise(EPOCH)
    own, other = (PoolConsumer(pipes.to_consumer.subscription, STREAM_ID, idle=each) for each in (idle, "bell"))
    for consumer in (own, other):
        consumer.attach(regions)
    assert sleeps(own, twin) == 0
    assert sleeps(other, twin) > 0


def test_a_reader_of_an_epoch_that_nobody_rings_for_stays_awake(
    regions: PoolRegions, twin: StreamBells, pipes: Pipes
) -> None:
    twin.promise(EPOCH + 1)
    consumer = PoolConsumer(pipes.to_consumer.subscription, STREAM_ID)
    consumer.attach(regions)
    assert sleeps(consumer, twin) == 0


def woken(consumer: PoolConsumer, seconds: float) -> int:
    """How often a thread that waits in vain for so long is woken."""
    counts = list[int]()

    def wait() -> None:
        for _ in range(2):
            status = Path(f"/proc/self/task/{threading.get_native_id()}/status").read_text()
            counts.append(int(re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[0]))
            if len(counts) == 1:
                consumer.poll(1, int(seconds * 1e9))

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join()
    return counts[1] - counts[0]


def test_a_reader_that_hears_another_publication_sleeps_too_short_to_hold_it_up(
    regions: PoolRegions, twin: StreamBells, pipes: Pipes
) -> None:
    twin.promise(EPOCH)
    consumer = PoolConsumer(pipes.to_consumer.subscription, STREAM_ID)
    consumer.attach(regions)
    alone = woken(consumer, 1.0)
    beside = pipes.to_consumer.beside()
    until(lambda: pipes.to_consumer.subscription.image_count == 2, "heard")
    try:
        assert woken(consumer, 1.0) > 5 * alone
    finally:
        beside.close()
    until(lambda: pipes.to_consumer.subscription.image_count == 1, "gone")
