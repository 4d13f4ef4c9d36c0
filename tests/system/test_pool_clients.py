# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers in this process, over a real driver: several of each, rates, streams of their own, misuse."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import framegate.shmpool
import numpy as np
import pytest
from framegate.schema.errors import AttachRefused, FrameTooLarge, NotAttached, WrongArray
from framegate.schema.wire import FrameProgress
from framegate.shmpool.client.client import Client

from tests.system.pool import STREAM, Pool, Reader

if TYPE_CHECKING:
    from tests.system.conftest import System

SHAPE = (8, 64)
RANGES = """
[driver]
descriptor_stream_id_range = "31000-31009"
control_stream_id_range = "32000-32009"
"""


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    pool = Pool(system, shm, slots=64, frame_bytes=4_096)
    config = shm / "driver.toml"
    config.write_text(RANGES)
    pool.start_driver("--config", str(config))
    return pool


@pytest.fixture
def client(pool: Pool) -> Iterator[Client]:
    with pool.client() as client:
        yield client


def frame(number: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.full(SHAPE, number % 256, np.uint8)


def test_several_consumers_of_one_stream_and_several_streams_of_one_client_do_not_mix(
    pool: Pool, client: Client, system: System
) -> None:
    """All share one descriptor stream: what is another stream's is skipped, and nothing else happens by it."""
    streams = [STREAM, STREAM + 1, STREAM + 2]
    producers = [client.producer(stream, shape=SHAPE, dtype="uint8") for stream in streams]
    readers = [Reader(client.consumer(stream), system) for stream in streams for _ in range(2)]
    for producer in producers:
        pool.wait_ready(producer, 2)
    for number in range(40):
        for offset, producer in enumerate(producers):
            assert producer.publish(frame(100 * offset + number)) == number
    for reader in readers:
        reader.read(lambda reader=reader: len(reader.seen) == 40, "40 frames")  # type: ignore[misc]
        offset = streams.index(reader.consumer.stream_id)
        assert reader.sequences(producers[offset].epoch) == list(range(40))
        assert [payload[0] for payload in reader.payloads] == [(100 * offset + number) % 256 for number in range(40)]
        counters = reader.consumer.counters()
        assert counters["other_streams"] > 0
        lost = {name: value for name, value in counters.items() if name not in ("frames", "other_streams")}
        assert not any(lost.values()), lost


def test_awaiting_frames_ends_with_the_stream(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    consumer = client.consumer(STREAM)
    pool.wait_ready(producer, 1)

    async def produce() -> None:
        for number in range(20):
            producer.publish(frame(number))
            await asyncio.sleep(0)
        producer.end()

    async def both() -> list[int]:
        task = asyncio.create_task(produce())
        found = [each.seq async for each in consumer]
        await task
        return found

    assert asyncio.run(both()) == list(range(20))


def test_poll_gives_no_more_than_the_limit_and_iterating_ends_in_time(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    consumer = client.consumer(STREAM, timeout_s=0.05)
    pool.wait_ready(producer, 1)
    assert consumer.poll() == []
    for number in range(10):
        producer.publish(frame(number))
    assert [each.seq for each in consumer.poll(3, timeout_s=5)] == [0, 1, 2]
    assert [each.seq for each in consumer] == list(range(3, 10))


def test_a_rate_leaves_frames_out_by_their_timestamps_and_loses_none(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    consumer = client.consumer(STREAM, max_rate_hz=100)
    everything = client.consumer(STREAM)
    pool.wait_ready(producer, 2)
    for number in range(50):
        producer.publish(frame(number), timestamp_ns=number * 2_000_000)
    producer.end()
    assert [each.seq for each in consumer] == list(range(0, 50, 5))
    assert len(list(everything)) == 50
    counters = consumer.counters()
    assert (counters["rate_limited"], counters["gap_drops"], counters["late_drops"]) == (40, 0, 0)


def test_a_stream_of_its_own_is_taken_up_without_losing_or_repeating_a_frame(
    pool: Pool, client: Client, system: System
) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    own = Reader(client.consumer(STREAM, own_stream=True), system)
    shared = Reader(client.consumer(STREAM), system)
    pool.wait_ready(producer, 2)

    def publish_and_read() -> bool:
        producer.publish(frame(len(own.seen)))
        own.take(own.consumer.poll(timeout_s=0.01))
        shared.take(shared.consumer.poll())
        hears = own.consumer.streams.hears
        return hears is not None and 31_000 <= hears.stream_id <= 31_009

    system.until(publish_and_read, "its own stream taken up")
    for _ in range(20):
        publish_and_read()
    producer.end()
    for reader in (own, shared):
        reader.read(reader.consumer.has_finished, "the end")
        assert reader.sequences(producer.epoch) == list(range(len(reader.seen)))
        assert reader.consumer.counters()["gap_drops"] == 0
    assert len(own.seen) == len(shared.seen)
    # It hears no other's descriptors there.
    own.consumer.close()
    system.until(lambda: not producer._own_streams, "the stream closed with its consumer")


def test_a_rate_on_a_stream_of_its_own_is_held_by_the_producer(pool: Pool, client: Client, system: System) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    consumer = client.consumer(STREAM, own_stream=True, max_rate_hz=1)
    pool.wait_ready(producer, 1)

    def is_taken_up() -> bool:
        producer.publish(frame(0))
        consumer.poll()
        hears = consumer.streams.hears
        return hears is not None and hears.stream_id != client._streams.descriptor

    system.until(is_taken_up, "its own stream taken up")
    shown = consumer.counters()["frames"]

    def is_shown_one_more() -> bool:
        producer.publish(frame(0))
        consumer.poll()
        return consumer.counters()["frames"] > shown

    for _ in range(50):
        producer.publish(frame(0))
    system.until(is_shown_one_more, "a frame after those that were left out")
    counters = consumer.counters()
    # What the producer left out was not lost; and all of it is counted.
    assert (counters["gap_drops"], counters["late_drops"]) == (0, 0)
    assert counters["rate_limited"] >= 50
    producer.end()
    list(consumer)
    assert consumer.has_finished()


@pytest.mark.parametrize("own_stream", [False, True])
def test_progress_is_told_to_whoever_asked_while_the_frame_is_filled(
    pool: Pool, client: Client, system: System, own_stream: bool
) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    heard: list[FrameProgress] = []
    payloads: list[bytes] = []

    def hear(message: FrameProgress) -> None:
        """What COMPLETE speaks of is there for whoever looks."""
        pools = [path for path in pool.region_files() if f"/{message.epoch}/" in path and path.endswith(".pool")]
        payloads.append((Path(pool.base_dir) / pools[0]).read_bytes()[64 : 64 + slot_bytes()])
        heard.append(message)

    consumer = client.consumer(STREAM, on_progress=hear, own_stream=own_stream)
    silent = client.consumer(STREAM)
    pool.wait_ready(producer, 2)
    system.until(lambda: producer.audience.wants_progress, "asked for progress")
    if own_stream:
        system.until(lambda: consumer.streams.hears_progress is not None, "granted a control stream")
        system.until(lambda: producer._own_streams, "opened by the producer")
        hears = consumer.streams.hears_progress
        system.until(lambda: hears is not None and hears.is_connected, "connected")
    with producer.claim() as slot:
        for row in range(SHAPE[0]):
            slot.array[row] = row
            producer.progress(slot, (row + 1) * SHAPE[1])
        system.until(lambda: len(heard) >= 2, "told of progress")
        assert consumer.poll() == []
    assert [message.state.name for message in heard] == ["STARTED", "COMPLETE"]
    assert [message.payload_bytes_filled for message in heard] == [SHAPE[1], slot_bytes()]
    assert payloads[1] == b"".join(bytes([row]) * SHAPE[1] for row in range(SHAPE[0]))
    assert [each.seq for each in consumer.poll(timeout_s=5)] == [0] == list({message.seq for message in heard})
    assert [each.seq for each in silent.poll(timeout_s=5)] == [0]


def slot_bytes() -> int:
    return SHAPE[0] * SHAPE[1]


def test_a_wrong_array_is_refused_before_anything_is_written(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    consumer = client.consumer(STREAM)
    pool.wait_ready(producer, 1)
    for wrong in (
        np.zeros(SHAPE, np.int8),
        np.zeros(SHAPE, ">u2"),
        np.zeros((8, 63), np.uint8),
        np.zeros((64, 8), np.uint8),
        np.zeros(8 * 64, np.uint8),
        np.zeros(SHAPE, np.complex64),
        np.zeros(SHAPE, object),
    ):
        with pytest.raises(WrongArray):
            producer.publish(wrong)
    assert producer.counters()["frames"] == 0
    assert producer.publish(frame(1)) == 0
    assert [each.seq for each in consumer.poll(timeout_s=5)] == [0]


def test_a_frame_that_fits_no_pool_is_refused_before_anything_is_written(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM)
    for large in (4_097, 10_000_000):
        with pytest.raises(FrameTooLarge, match=f"frame_bytes={large} limit_bytes=4096"):
            producer.publish(np.zeros(large, np.uint8))
        with pytest.raises(FrameTooLarge):
            producer.claim(shape=(large,), dtype="uint8")
    assert producer.publish(np.zeros(4_096, np.uint8)) == 0
    assert producer.publish(np.zeros((2, 3), np.float64)) == 1
    assert producer.counters()["frames"] == 2


def test_a_claim_that_fails_is_abandoned_and_its_sequence_used_again(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    consumer = client.consumer(STREAM)
    pool.wait_ready(producer, 1)
    with pytest.raises(ZeroDivisionError), producer.claim() as slot:
        slot.array[:] = 1 // 0
    with producer.claim() as slot:
        assert slot.seq == 0
        slot.array[:] = 9
    (found,) = consumer.poll(timeout_s=5)
    assert (found.seq, found.array[0, 0]) == (0, 9)
    counters = producer.counters()
    assert (counters["abandoned"], counters["frames"]) == (1, 1)


def test_after_close_nothing_is_published_and_the_next_producer_may_come(pool: Pool, client: Client) -> None:
    producer = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    first = producer.epoch
    producer.close()
    with pytest.raises(NotAttached):
        producer.publish(frame(0))
    second = client.producer(STREAM, shape=SHAPE, dtype="uint8")
    assert first is not None
    assert second.epoch is not None
    assert second.epoch > first


def test_consumers_follow_a_restarted_producer_into_its_new_epoch(pool: Pool, client: Client, system: System) -> None:
    readers = [Reader(client.consumer(STREAM), system) for _ in range(2)]
    epochs = []
    for life in range(3):
        with client.producer(STREAM, shape=SHAPE, dtype="uint8") as producer:
            pool.wait_ready(producer, 2)
            epochs.append(producer.epoch)
            for number in range(10):
                producer.publish(frame(10 * life + number))
            for reader in readers:
                reader.read(lambda reader=reader, life=life: len(reader.seen) == 10 * (life + 1), "read")  # type: ignore[misc]
    for reader in readers:
        assert reader.seen == [(epoch, seq) for epoch in epochs for seq in range(10)]
        assert [payload[0] for payload in reader.payloads] == list(range(30))
        assert reader.consumer.counters()["gap_drops"] == 0
        assert reader.consumer.attaches == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of the test's own needs root")
def test_a_full_base_directory_is_told_with_the_reason_and_leaves_nothing_half_made(system: System, shm: Path) -> None:
    base = shm / "base"
    base.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(base)], check=False)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    pool = Pool(system, shm, slots=64, frame_bytes=65_536)
    try:
        driver = pool.start_driver()
        with pool.client() as client:
            with pytest.raises(AttachRefused) as caught:
                client.producer(STREAM, shape=SHAPE, dtype="uint8")
            assert caught.value.facts["code"] == "INTERNAL_ERROR"
            assert "NO_ROOM" in caught.value.message
        assert pool.region_files() == []
        driver.send(signal.SIGINT)
        assert driver.wait() == 0, driver
    finally:
        system.close()
        # Closed before the mount goes; what still held it would keep it.
        assert subprocess.run(["umount", str(base)], check=False).returncode == 0, os.strerror(errno.EBUSY)


def test_the_worked_example_of_the_page_runs(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(framegate.shmpool.__file__).with_name("README.md").read_text()
    example = page.split("```python\n")[1].partition("```")[0].replace("(480, 640)", "(48, 64)")
    monkeypatch.setenv("FRAMEGATE_AERON_DIR", pool.aeron_dir)
    monkeypatch.setenv("FRAMEGATE_BASE_DIR", pool.base_dir)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102  (our own page)
    first, second, counters = capsys.readouterr().out.splitlines()
    assert (first, second) == ("0 0", f"1 {7 * 48 * 64}")
    assert "'frames': 2" in counters
