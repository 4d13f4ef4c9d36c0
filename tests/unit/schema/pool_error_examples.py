# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of the pool, through product code."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from framegate.driver.mediadriver import MediaDriver
from framegate.shmpool.client.client import Client, connect
from framegate.shmpool.commands.consume import ConsumeOptions, require_count
from framegate.shmpool.layout.uri import RegionUri
from framegate.shmpool.transport.aeron import AeronTransport

from framegate._native import PoolConsumer, PoolProducer, PoolRegions
from tests.own_folder import own_folder


def _regions(folder: Path, slots: int = 1) -> PoolRegions:
    return PoolRegions.create(
        str(folder),
        stream_id=1,
        epoch=7,
        nslots=slots,
        pools=[(1, 64)],
        mode=0o600,
        prefault=False,
        require_hugepages=False,
        lock=False,
        now_ns=1,
    )


def _open(regions: PoolRegions, allowed: str, epoch: int = 7) -> PoolRegions:
    return PoolRegions.open(
        regions.paths[0],
        stream_id=1,
        epoch=epoch,
        nslots=1,
        pools=[(1, 64, regions.paths[1])],
        allowed=[allowed],
        writable=False,
        require_hugepages=False,
        prefault=False,
    )


@contextmanager
def _stream() -> Iterator[tuple[PoolProducer, PoolConsumer]]:
    """A producer and a consumer of a ring with one slot."""
    with (
        own_folder("example") as home,
        MediaDriver(aeron_dir=f"{home}/aeron"),
        AeronTransport(f"{home}/aeron") as transport,
    ):
        regions = _regions(home / "pool")
        consumer = PoolConsumer(transport.add_subscription("aeron:ipc", 5), 1)  # type: ignore[arg-type]
        producer = PoolProducer(transport.add_publication("aeron:ipc", 5), 1, dtype="uint8", shape=None)  # type: ignore[arg-type]
        producer.attach(regions)
        consumer.attach(regions)
        yield producer, consumer


def _refused() -> None:
    with own_folder("example") as home:
        _open(_regions(home / "pool"), allowed=f"{home}/elsewhere")


def _mismatch() -> None:
    with own_folder("example") as home:
        _open(_regions(home / "pool"), allowed=str(home), epoch=8)


def _busy() -> None:
    with _stream() as (producer, _), producer.claim(shape=[1]):
        producer.publish(np.zeros(1, np.uint8))


def _lapped() -> None:
    with _stream() as (producer, consumer):
        producer.publish(np.zeros(1, np.uint8))
        frame = consumer.poll(timeout_ns=5_000_000_000)[0]
        producer.publish(np.zeros(1, np.uint8))
        frame.copy()


def _too_large() -> None:
    with _stream() as (producer, _):
        producer.publish(np.zeros(65, np.uint8))


def _wrong_array() -> None:
    with _stream() as (producer, _):
        producer.publish(np.zeros(1, np.float32))


def _not_attached() -> None:
    with _stream() as (producer, _):
        producer.detach()
        producer.publish(np.zeros(1, np.uint8))


@contextmanager
def _driver(slots: int, frame_bytes: int) -> Iterator[Client]:
    """A client of a driver whose rings are so large."""
    with own_folder("example") as home:
        command = [
            sys.executable,
            "-m",
            "framegate",
            "driver",
            "--aeron-dir",
            f"{home}/aeron",
            "--base-dir",
            f"{home}/b",
        ]
        command += ["--slots", str(slots), "--frame-bytes", str(frame_bytes)]
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline().startswith("ready")
            with connect(f"{home}/aeron", f"{home}/b") as client:
                yield client
        finally:
            driver.send_signal(signal.SIGINT)
            driver.communicate()


def _second_producer() -> None:
    with _driver(2, 64) as client, client.producer(10_001), client.producer(10_001):
        pass


def _no_room_for_a_ring() -> None:
    # A tebibyte.
    with _driver(1024, 1 << 30) as client:
        client.producer(10_001)


def _no_lease_driver() -> None:
    with (
        own_folder("example") as home,
        MediaDriver(aeron_dir=f"{home}/aeron"),
        connect(f"{home}/aeron", f"{home}/b", wait_driver_s=0.2) as client,
    ):
        client.producer(10_001)


POOL_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    201: _refused,
    202: _mismatch,
    203: _busy,
    204: _lapped,
    205: _too_large,
    206: _wrong_array,
    207: _not_attached,
    208: _second_producer,
    209: _no_lease_driver,
    210: lambda: RegionUri.parse("memfd:anything"),
    211: lambda: require_count(ConsumeOptions(stream=10001, count=50), 20),
    213: _no_room_for_a_ring,
}
