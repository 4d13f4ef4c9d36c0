# SPDX-License-Identifier: Apache-2.0
"""Streams whose descriptors have an Aeron stream of their own, by configuration on both sides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.schema.errors import InvalidValue
from framegate.shmpool.client.client import connect
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.producer.producer import Producer

from tests.system.pool import STREAM, Pool

if TYPE_CHECKING:
    from tests.system.conftest import System

SHARED, APART = STREAM, STREAM + 1
DESCRIPTORS = 1_101
FRAMES = 20


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    pool = Pool(system, shm)
    pool.start_driver()
    return pool


def publish_and_read(pool: Pool, producers: list[Producer], consumers: list[Consumer]) -> None:
    """Both streams at once; each consumer gets all of its own, and sees nothing of the other's."""
    for producer in producers:
        pool.wait_ready(producer, 1)
    for _ in range(FRAMES):
        for producer in producers:
            producer.publish(np.zeros(8, np.uint8))
    for producer, consumer in zip(producers, consumers, strict=True):
        producer.end()
        assert [each.seq for each in consumer] == list(range(FRAMES))
        counters = consumer.counters()
        assert (counters["frames"], counters["other_streams"]) == (FRAMES, 0)


def test_a_consumer_of_one_stream_never_sees_what_another_sends_on_its_own_descriptor_stream(pool: Pool) -> None:
    with pool.client() as client:
        producers = [client.producer(SHARED), client.producer(APART, descriptor_stream=DESCRIPTORS)]
        consumers = [client.consumer(SHARED), client.consumer(APART, descriptor_stream=DESCRIPTORS)]
        publish_and_read(pool, producers, consumers)


def test_both_sides_are_told_by_the_drivers_file_and_one_by_its_environment(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "driver.toml"
    config.write_text(
        f'[driver]\naeron_dir = "{pool.aeron_dir}"\n[shm]\nbase_dir = "{pool.base_dir}"\n'
        f'[streams.apart]\nstream_id = {APART}\nprofile = "any"\ndescriptor_stream = {DESCRIPTORS}\n'
    )
    monkeypatch.setenv("FRAMEGATE_DESCRIPTOR_STREAMS", f"{APART}={DESCRIPTORS}")
    with connect(pool.aeron_dir, pool.base_dir) as by_environment:
        monkeypatch.delenv("FRAMEGATE_DESCRIPTOR_STREAMS")
        with connect(config=config) as by_file:
            producers = [by_file.producer(SHARED), by_file.producer(APART)]
            consumers = [by_environment.consumer(SHARED), by_environment.consumer(APART)]
            publish_and_read(pool, producers, consumers)


def test_the_commands_take_it_as_an_option(pool: Pool) -> None:
    own = ("--descriptor-stream", str(DESCRIPTORS))
    consumer = pool.consume("--verify", "--json", *own, stream=APART)
    words = ("--rate", "1000", "--count", str(FRAMES), "--end", "--wait-consumers", "1", "--json", "--shape", "32x64")
    producer = pool.produce(*words, *own, stream=APART)
    assert producer.wait() == consumer.wait() == 0, (producer, consumer)
    assert consumer.objects()[-1]["frames"] == FRAMES
    assert producer.objects()[-1]["descriptors_unheard"] == 0


@pytest.mark.parametrize("number", [0, -1, 1 << 31])
def test_a_number_that_is_no_aeron_stream_is_refused_before_a_lease_is_asked_for(pool: Pool, number: int) -> None:
    with pool.client() as client:
        for make in (client.producer, client.consumer):
            with pytest.raises(InvalidValue):
                make(STREAM, descriptor_stream=number)
    assert pool.region_files() == []
