# SPDX-License-Identifier: Apache-2.0
"""A running ``framegate driver`` and its clients, for the tests of the pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from framegate.schema.errors import AttachRefused
from framegate.shmpool.client.client import Client
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.producer.producer import Producer

from framegate._native import Frame

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

STREAM = 10_001
_Found = TypeVar("_Found")


class Pool:
    """One driver in folders of the test's own; programs and clients that know where it is."""

    def __init__(self, system: System, shm: Path, *, slots: int = 128, frame_bytes: int = 65_536) -> None:
        self.system = system
        self.aeron_dir, self.base_dir = str(shm / "aeron"), str(shm / "base")
        self.sizes: tuple[str, ...] = ("--slots", str(slots), "--frame-bytes", str(frame_bytes))
        self.places = ("--aeron-dir", self.aeron_dir, "--base-dir", self.base_dir)

    def start_driver(self, *words: str) -> Program:
        """Start ``framegate driver`` and wait until clients may attach."""
        driver = self.system.framegate("driver", *self.places, *self.sizes, "--json", *words)
        driver.says(event="ready")
        return driver

    def produce(self, *words: str, stream: int = STREAM) -> Program:
        return self.system.framegate("produce", "--stream", str(stream), *self.places, *words)

    def consume(self, *words: str, stream: int = STREAM) -> Program:
        return self.system.framegate("consume", "--stream", str(stream), *self.places, *words)

    def client(self, **options: Any) -> Client:
        return Client(aeron_dir=self.aeron_dir, base_dirs=[self.base_dir], **options)

    def producer(self, client: Client, stream: int = STREAM, **options: Any) -> Producer:
        """The producer of a stream; waits while a dead one's lease stands in the way."""

        def attach() -> Producer | None:
            try:
                return client.producer(stream, **options)
            except AttachRefused as refusal:
                if refusal.facts["code"] != "REJECTED":
                    raise
                return None

        return self.system.until(attach, "a producer attached")

    def region_files(self) -> list[str]:
        """All region files there are, by their places."""
        base = Path(self.base_dir)
        found = [*base.rglob("header.ring"), *base.rglob("*.pool")]
        return sorted(str(path.relative_to(base)) for path in found)

    def wait_ready(self, producer: Producer, consumers: int) -> None:
        self.system.until(lambda: producer.wait_consumers(consumers, 0), f"{consumers} consumers ready")


class Reader:
    """Reads a consumer and remembers epoch, sequence and payload of each frame."""

    def __init__(self, consumer: Consumer, system: System) -> None:
        self.consumer = consumer
        self._system = system
        self.seen: list[tuple[int, int]] = []
        self.payloads: list[bytes] = []

    def read(self, until: Callable[[], bool], what: str) -> None:
        """Read until a condition holds."""

        def turn() -> bool:
            self.take(self.consumer.poll(timeout_s=0.01))
            return until()

        self._system.until(turn, what)

    def take(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            self.seen.append((frame.epoch, frame.seq))
            self.payloads.append(frame.tobytes())

    def sequences(self, epoch: int | None) -> list[int]:
        return [seq for found, seq in self.seen if found == epoch]
