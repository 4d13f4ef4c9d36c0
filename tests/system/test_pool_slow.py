# SPDX-License-Identifier: Apache-2.0
"""A consumer that does not keep up, and a driver that announces seldom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.schema.control import CheckpointBarrier, ControlSignal, Watermark
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.streams import Streams, untethered

from tests.system.pool import STREAM, Pool

if TYPE_CHECKING:
    from tests.system.conftest import System

SLOTS = 64


def test_a_consumer_that_was_lapped_gets_fresh_frames_and_every_frame_is_counted_once(
    system: System, shm: Path
) -> None:
    """It reads four frames while forty come: always a little later than the ring allows."""
    pool = Pool(system, shm, slots=SLOTS)
    pool.start_driver()
    sent = 0
    with pool.client() as client:
        producer, consumer = client.producer(STREAM), client.consumer(STREAM)
        pool.wait_ready(producer, 1)

        def publish(count: int) -> None:
            nonlocal sent
            for _ in range(count):
                assert producer.publish(np.full(8, sent % 256, np.uint8)) == sent
                sent += 1

        publish(3 * SLOTS)
        behind = []
        frames = iter(consumer)
        for _ in range(20):
            for _ in range(4):
                found = next(frames)
                behind.append(sent - found.seq)
                assert found.copy()[0] == found.seq % 256
            publish(40)
        producer.end()
        rest = list(frames)
        assert max(behind) <= SLOTS
        # Not at the last moment, as they would be if reading went on with the oldest that is still there.
        assert sorted(behind)[len(behind) // 2] <= 3 * SLOTS // 4
        counters = consumer.counters()
        assert counters["frames"] == len(behind) + len(rest)
        assert counters["late_drops"] > 0
        assert counters["frames"] + counters["gap_drops"] + counters["late_drops"] == sent


def test_what_stands_between_the_frames_is_handed_out_with_its_place(system: System, shm: Path) -> None:
    pool = Pool(system, shm, slots=SLOTS)
    pool.start_driver()
    with pool.client() as client:
        producer, consumer = client.producer(STREAM), client.consumer(STREAM)
        pool.wait_ready(producer, 1)
        frame = np.zeros(8, np.uint8)
        producer.watermark(1)
        producer.publish(frame)
        epoch = producer.epoch
        assert epoch is not None
        barrier = CheckpointBarrier(
            checkpoint_id=7, epoch=1, flags=0, stream_id=STREAM, source_epoch=epoch, after_seq=producer.last_seq
        )
        producer.send_between(barrier.encode())
        producer.publish(frame)
        producer.watermark(2)
        producer.end()
        assert len(list(consumer)) == 2
        found = [(type(each.message), each.after_seq, each.epoch) for each in consumer.control()]
    places = [(Watermark, None), (CheckpointBarrier, 0), (Watermark, 1), (ControlSignal, 1)]
    assert found == [(kind, after_seq, epoch) for kind, after_seq in places]


@pytest.mark.parametrize("period_ms", [2_000, 3_000])
def test_a_driver_that_announces_seldom_loses_no_client_that_was_told_nothing(
    system: System, shm: Path, period_ms: int
) -> None:
    pool = Pool(system, shm)
    config = shm / "driver.toml"
    config.write_text(f"[policies]\nannounce_period_ms = {period_ms}\n")
    pool.start_driver("--config", str(config))
    streams = Streams()
    with AeronTransport(pool.aeron_dir) as transport, pool.client() as client:
        producer, consumer = client.producer(STREAM), client.consumer(STREAM)
        pool.wait_ready(producer, 1)
        ear = transport.add_subscription(untethered(streams.channel), streams.announce)
        announced = list[int]()

        def has_announced() -> bool:
            announced.extend(ShmPoolAnnounce.decode(each.data).announce_timestamp_ns for each in ear.poll())
            return len(announced) >= 3

        system.until(has_announced, "three announces")
        assert announced[-1] - announced[0] >= 2 * period_ms * 1_000_000 * 0.9
        assert (producer.attaches, consumer.attaches) == (1, 1)
        assert (producer.detach_reasons, consumer.detach_reasons) == ([], [])
        producer.publish(np.zeros(8, np.uint8))
        assert [each.seq for each in consumer.poll(timeout_s=5)] == [0]
