# SPDX-License-Identifier: Apache-2.0
"""What producers declare, by the installed programs: regions that fit the frames, and clocks that are announced."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.schema import decode_any
from framegate.schema.errors import FrameTooLarge, InvalidValue
from framegate.schema.wire import ClockDomain, ShmPoolAnnounce
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Subscription

from tests.system.pool import STREAM, Pool

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

MIB = 1 << 20
YEAR_NS = 365 * 86_400 * 1_000_000_000
REALTIME, MONOTONIC = ClockDomain.REALTIME_SYNCED, ClockDomain.MONOTONIC


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    """As people start it: nothing is said of slots and frames."""
    pool = Pool(system, shm)
    pool.sizes = ()
    return pool


def bytes_of_epoch(pool: Pool, epoch: int) -> int:
    files = [path for path in Path(pool.base_dir).glob(f"*/*/{STREAM}/{epoch}/*") if path.suffix in {".ring", ".pool"}]
    return sum(path.stat().st_size for path in files)


@pytest.mark.parametrize(("shape", "most"), [("48", 1.26), ("64x64", 17.1), ("640x1024", 128.1)])
def test_a_stream_takes_the_memory_that_its_frames_need(shape: str, most: float, pool: Pool) -> None:
    pool.start_driver()
    consumer = pool.consume("--json", "--verify")
    producer = pool.produce("--rate", "100", "--count", "20", "--shape", shape, "--wait-consumers", "1", "--json")
    epoch = producer.says(event="ready")["epoch"]
    consumer.until(lambda: any(each.get("seq") == 19 for each in consumer.objects()), "read all")
    assert 0 < bytes_of_epoch(pool, epoch) <= most * MIB
    consumer.send(signal.SIGINT)
    assert consumer.wait() == 0, consumer
    assert consumer.objects()[-1]["verify_errors"] == 0


def test_a_shape_that_fits_no_pool_is_refused_at_the_start_with_the_flag_to_set(pool: Pool) -> None:
    pool.start_driver("--frame-bytes", "4096")
    refused = pool.produce("--rate", "1", "--shape", "4097", "--json")
    assert refused.wait() == 1, refused
    error = refused.objects()[-1]
    assert (error["name"], error["facts"]["frame_bytes"], error["facts"]["limit_bytes"]) == (
        "FRAME_TOO_LARGE",
        4097,
        4096,
    )
    assert "--frame-bytes" in error["hint"]
    fits = pool.produce("--max-rate", "--count", "1", "--shape", "4096")
    assert fits.wait() == 0, fits


def test_a_frame_that_outgrows_what_was_declared_is_refused_with_the_flag_to_set(pool: Pool) -> None:
    pool.start_driver()
    with pool.client() as client, client.producer(STREAM, shape=(48,), dtype="uint8") as producer:
        with pytest.raises(FrameTooLarge, match="frame_bytes=65 limit_bytes=64") as caught:
            producer.claim(shape=(65,), dtype="uint8")
        assert "--frame-bytes" in str(caught.value)
        assert producer.publish(np.zeros(48, np.uint8)) == 0


def test_a_clock_without_a_name_is_refused(pool: Pool) -> None:
    pool.start_driver()
    with pool.client() as client, pytest.raises(InvalidValue, match="monotonic, realtime"):
        client.producer(STREAM, clock="sundial")


# --- clocks ------------------------------------------------------------------------------------------------


class Announces:
    """Hears what drivers announce of one stream."""

    def __init__(self, heard: Subscription, system: System) -> None:
        self._heard, self._system = heard, system
        self.last: ShmPoolAnnounce | None = None

    def await_(self, domain: ClockDomain, epoch: int) -> ShmPoolAnnounce:
        """The first announce of that epoch, which must be of that domain."""

        def look() -> ShmPoolAnnounce | None:
            for received in self._heard.poll(64):
                message = decode_any(received.data)
                if isinstance(message, ShmPoolAnnounce) and message.stream_id == STREAM and message.epoch == epoch:
                    self.last = message
            return self.last if self.last is not None and self.last.epoch == epoch else None

        found = self._system.until(look, f"an announce of epoch {epoch}")
        assert found.announce_clock_domain is domain
        return found


@pytest.fixture
def announces(pool: Pool, media_driver: MediaDriver, system: System) -> Iterator[Announces]:
    """A media driver of its own, so that lease drivers come and go under those who listen."""
    with AeronTransport(media_driver.aeron_dir) as transport:
        yield Announces(transport.add_subscription("aeron:ipc?term-length=4m|tether=false", 1001), system)


def is_near(stamp_ns: int, now_ns: int) -> bool:
    return abs(stamp_ns - now_ns) < YEAR_NS


def frames(consumer: Program, epoch: int) -> list[dict[str, Any]]:
    return [each for each in consumer.objects() if each.get("epoch") == epoch and "seq" in each]


def test_a_clock_that_is_declared_is_announced_and_stamps_frames_and_changes_with_the_producer(
    pool: Pool, announces: Announces
) -> None:
    pool.start_driver()
    consumer = pool.consume("--json")
    for words, domain, now in (
        (["--clock", "realtime"], REALTIME, realtime_ns),
        (["--clock", "monotonic"], MONOTONIC, monotonic_ns),
        ([], MONOTONIC, monotonic_ns),
    ):
        producer = pool.produce("--rate", "100", "--shape", "48", "--wait-consumers", "1", "--json", *words)
        epoch = producer.says(event="ready")["epoch"]
        announce = announces.await_(domain, epoch)
        assert is_near(announce.announce_timestamp_ns, now())
        consumer.until(lambda epoch=epoch: len(frames(consumer, epoch)) > 5, "reading")  # type: ignore[misc]
        assert all(is_near(each["timestamp_ns"], now()) for each in frames(consumer, epoch))
        producer.send(signal.SIGINT)
        assert producer.wait() == 0, producer


def test_a_driver_that_is_restarted_is_told_the_clock_again(pool: Pool, announces: Announces, system: System) -> None:
    driver = pool.start_driver()
    with pool.client() as client:
        producer = client.producer(STREAM, shape=(48,), dtype="uint8", clock="realtime")
        first = producer.epoch
        assert first is not None
        announces.await_(REALTIME, first)
        driver.send(signal.SIGKILL)
        driver.wait()
        pool.start_driver()
        second = system.until(lambda: (producer.epoch or 0) > first and producer.epoch, "attached again")
        announces.await_(REALTIME, second)
        producer.publish(np.zeros(48, np.uint8))


def test_a_driver_file_says_the_clock_of_a_stream_whose_producer_does_not(
    pool: Pool, announces: Announces, tmp_path: Path
) -> None:
    config = tmp_path / "driver.toml"
    pools = "payload_pools = [{ pool_id = 1, stride_bytes = 64 }]"
    stream = f'[streams.cam]\nstream_id = {STREAM}\nprofile = "a"\nclock = "realtime"\n'
    config.write_text(f"[profiles.a]\n{pools}\n{stream}")
    pool.start_driver("--config", str(config))
    with pool.client() as client, client.producer(STREAM, shape=(48,), dtype="uint8") as producer:
        assert producer.epoch is not None
        announces.await_(REALTIME, producer.epoch)
        producer.publish(np.zeros(48, np.uint8), timestamp_ns=realtime_ns())
