# SPDX-License-Identifier: Apache-2.0
"""Producers, consumers and drivers that are killed or stand still: what the others see, and that they go on."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.schema.errors import NotAttached
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.producer.producer import Producer

from tests.system.pool import STREAM, Pool, Reader

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

SHAPE = (64, 64)
WHOLE = 5
SECOND = 1_000_000_000


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    return Pool(system, shm, slots=64, frame_bytes=8_192)


def frame(number: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.full(SHAPE, number % 256, np.uint8)


def test_a_producer_killed_in_the_middle_of_a_frame_is_skipped_and_the_next_one_followed(
    pool: Pool, system: System
) -> None:
    pool.start_driver()
    with pool.client() as client:
        reader = Reader(client.consumer(STREAM), system)
        program = system.own_program("half_writer", pool.aeron_dir, pool.base_dir, str(STREAM), str(WHOLE))
        half = program.says(event="half")
        assert (program.wait(), half["seq"]) == (-signal.SIGKILL, WHOLE)
        reader.read(lambda: len(reader.seen) >= WHOLE, "the whole frames")
        with pool.producer(client, shape=SHAPE, dtype="uint8") as producer:
            assert producer.epoch is not None
            assert producer.epoch > half["epoch"]
            pool.wait_ready(producer, 1)
            for number in range(WHOLE):
                producer.publish(frame(100 + number))
            reader.read(lambda: len(reader.seen) >= 2 * WHOLE, "the next producer's")
            assert reader.sequences(half["epoch"]) == reader.sequences(producer.epoch) == list(range(WHOLE))
        wanted = [bytes([number]) * 4096 for number in [*range(WHOLE), *range(100, 100 + WHOLE)]]
        assert reader.payloads == wanted
        assert reader.consumer.attaches == 1


@contextmanager
def publishing(producer: Producer) -> Iterator[list[int]]:
    """A camera that goes on whatever happens: frames are published by a thread, lost leases waited out."""
    stop, made = threading.Event(), [0]

    def run() -> None:
        while not stop.is_set():
            try:
                producer.publish(frame(made[0]))
                made[0] += 1
            except NotAttached:
                pass
            stop.wait(0.002)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield made
    finally:
        stop.set()
        thread.join()


def test_a_killed_lease_driver_is_noticed_and_its_successor_found_without_help(
    pool: Pool, system: System, media_driver: MediaDriver, caplog: pytest.LogCaptureFixture
) -> None:
    """The media driver lives on: only the announces tell."""
    driver = pool.start_driver()
    with caplog.at_level(logging.WARNING), pool.client() as client:
        producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
        reader = Reader(client.consumer(STREAM), system)
        pool.wait_ready(producer, 1)
        first = producer.epoch
        assert first is not None
        with publishing(producer):
            reader.read(lambda: len(reader.seen) > 10, "frames")
            driver.send(signal.SIGKILL)
            driver.wait()
            system.until(lambda: not producer.is_attached, "the producer stopped")
            system.until(lambda: not reader.consumer.is_attached, "the consumer stopped")
            assert "the driver fell silent" in caplog.text
            pool.start_driver()
            reader.read(lambda: reader.seen[-1][0] > first, "frames of a new epoch")
            reader.read(lambda: len(reader.sequences(producer.epoch)) > 10, "more of them")
        assert "attached again" in caplog.text
        assert (producer.attaches, reader.consumer.attaches) == (2, 2)


def test_a_lease_driver_that_is_back_before_it_was_missed_ends_the_old_epoch(
    pool: Pool, system: System, media_driver: MediaDriver
) -> None:
    driver = pool.start_driver()
    with pool.client() as client:
        producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
        reader = Reader(client.consumer(STREAM), system)
        pool.wait_ready(producer, 1)
        first = producer.epoch
        assert first is not None
        driver.send(signal.SIGKILL)
        driver.wait()
        pool.start_driver()
        with pool.client() as other:
            # Somebody else makes the new driver announce the stream.
            other.consumer(STREAM)
            system.until(lambda: (producer.epoch or 0) > first, "the producer in a new epoch")
            with publishing(producer):
                reader.read(lambda: bool(reader.sequences(producer.epoch)), "frames of it")


def test_killed_drivers_are_noticed_and_their_successors_found_without_help(
    pool: Pool, system: System, caplog: pytest.LogCaptureFixture
) -> None:
    """`framegate driver` takes its media driver with it."""
    driver = pool.start_driver()
    (media_pid,) = driver.children()
    with caplog.at_level(logging.WARNING), pool.client(driver_timeout_ms=2_000) as client:
        producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
        reader = Reader(client.consumer(STREAM), system)
        pool.wait_ready(producer, 1)
        first = producer.epoch
        assert first is not None
        with publishing(producer):
            reader.read(lambda: len(reader.seen) > 10, "frames")
            driver.send(signal.SIGKILL)
            driver.wait()
            system.until_ended(media_pid)
            before = reader.consumer.counters()["frames"]
            system.until(lambda: not producer.is_attached and not reader.consumer.is_attached, "both stopped")
            pool.start_driver()
            reader.read(lambda: reader.seen[-1][0] > first, "frames of a new epoch")
        assert "connected again to the media driver" in caplog.text
        assert reader.consumer.counters()["frames"] > before > 10


def test_the_programs_go_on_after_their_driver_came_back(pool: Pool, system: System, media_driver: MediaDriver) -> None:
    driver = pool.start_driver()
    consumer = pool.consume("--json", "--verify")
    producer = pool.produce("--rate", "200", "--wait-consumers", "1", "--json", "--shape", "32x64")
    epoch = producer.says(event="ready")["epoch"]
    consumer.says(epoch=epoch)
    driver.send(signal.SIGTERM)
    assert driver.wait() == 0, driver
    consumer.until(lambda: "lost its lease" in consumer.stderr, "told of the loss")
    pool.start_driver()

    def follows() -> bool:
        return any(line.get("epoch", 0) > epoch for line in consumer.objects() if "seq" in line)

    consumer.until(follows, "in the new epoch")
    for program in (producer, consumer):
        program.send(signal.SIGINT)
        assert program.wait() == 0, program
        assert program.objects()[-1]["event"] == "summary"
    assert consumer.objects()[-1]["verify_errors"] == 0
    assert "attached again" in producer.stderr
    assert "attached again" in consumer.stderr


def test_a_killed_consumer_is_forgotten_and_nothing_of_it_is_left(pool: Pool, system: System) -> None:
    driver = pool.start_driver()
    with pool.client() as client:
        producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
        consumer = pool.consume("--json")
        pool.wait_ready(producer, 1)
        before = pool.region_files()
        consumer.send(signal.SIGKILL)
        consumer.wait()
        system.until(lambda: not producer.wait_consumers(1, 0), "forgotten")
        for number in range(200):
            producer.publish(frame(number))
        assert pool.region_files() == before
        assert producer.counters()["descriptors_lost"] == 0
    driver.send(signal.SIGTERM)
    assert driver.wait() == 0, driver
    assert driver.objects()[-1]["leases"] == 0
    assert not Path(pool.base_dir).exists()


@pytest.mark.parametrize(
    ("rate_hz", "standstill_s", "slots"),
    [
        pytest.param(12_000, 3, 16_384, id="usual"),
        pytest.param(1_000, 30, 4_096, id="long", marks=[pytest.mark.long, pytest.mark.timeout(240)]),
    ],
)
def test_a_consumer_that_stands_still_costs_the_others_nothing_and_counts_its_own_loss(
    system: System, shm: Path, rate_hz: int, standstill_s: int, slots: int
) -> None:
    """More passes than the descriptor stream and the ring hold; Aeron lets go of who does not read."""
    pool = Pool(system, shm, slots=slots, frame_bytes=64)
    pool.start_driver()
    words = (pool.aeron_dir, pool.base_dir, str(STREAM))
    steady, still = (system.own_program("steady_consumer", *words) for _ in range(2))
    with pool.client() as client:
        producer = client.producer(STREAM, shape=(8,), dtype="uint64")
        pool.wait_ready(producer, 2)
        with _at_rate(producer, rate_hz) as made:
            still.until(lambda: _counted(still)["frames"] > 100, "reading")
            system.suspend(still.pid)
            began_ns = monotonic_ns()
            system.until(lambda: monotonic_ns() - began_ns > standstill_s * SECOND, "the standstill over")
            read_before = _counted(still)["frames"]
            still.send(signal.SIGCONT)
            still.until(lambda: _counted(still)["frames"] > read_before + slots + 1_000, "reading again")
        producer.end()
        assert steady.wait() == still.wait() == 0, (steady, still)
        assert producer.counters()["descriptors_lost"] == 0
        total = made[0]
    assert _counted(steady) == {
        "event": "ended",
        "frames": total,
        "gap_drops": 0,
        "late_drops": 0,
        "unread": 0,
        "attaches": 1,
    }
    own = _counted(still)
    assert own["gap_drops"] + own["late_drops"] > 0
    assert own["frames"] + own["gap_drops"] + own["late_drops"] == total, (own, total)


def _counted(program: Program) -> dict[str, Any]:
    return program.objects()[-1] if program.objects() else {"frames": 0}


@contextmanager
def _at_rate(producer: Producer, rate_hz: int) -> Iterator[list[int]]:
    """Publish in small bursts, so many a second on the whole."""
    stop, made = threading.Event(), [0]
    burst = np.zeros((max(rate_hz // 500, 1), 8), np.uint64)

    def run() -> None:
        next_ns = monotonic_ns()
        while not stop.is_set():
            made[0] += producer.publish_batch(burst)
            next_ns += len(burst) * SECOND // rate_hz
            sleep_ns(max(next_ns - monotonic_ns(), 0))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield made
    finally:
        stop.set()
        thread.join()
