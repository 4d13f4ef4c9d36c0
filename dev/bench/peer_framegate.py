# SPDX-License-Identifier: Apache-2.0
"""framegate as programs use it: a driver, ``connect``, ``publish``, iterating a consumer."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import numpy as np
from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import Idler

from dev.bench.peer import Peer, Send, Words
from dev.bench.pool_bed import STREAM, cache_bytes, driver, stride_bytes

_FEW_SLOTS: Final = 8
_HELD_NS: Final = 100_000_000
"""The producer goes on after so long, in case the last frames before were lost."""


class Framegate(Peer):
    """Lossy: the producer waits for nobody."""

    name = "framegate"
    last_seq = 0

    def __enter__(self) -> Peer:
        self._driver = ExitStack()
        self._driver.enter_context(driver(self.home, self.depth, self.frame_bytes))
        return self

    def __exit__(self, *exc: object) -> None:
        self._driver.close()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_driver"}

    @contextmanager
    def sending(self) -> Iterator[Send]:
        with connect(f"{self.home}/aeron", f"{self.home}/pool") as client, client.producer(STREAM) as producer:
            yield producer.publish

    def frames(self) -> Iterator[Words]:
        with connect(f"{self.home}/aeron", f"{self.home}/pool") as client, client.consumer(STREAM) as consumer:
            for frame in consumer:
                self.last_seq = frame.seq
                yield np.asarray(frame)
                self.torn += not frame.is_valid()


class ShallowFramegate(Framegate):
    """A ring of a few slots, as those of the others are."""

    name = "framegate, few slots"

    @property
    def depth(self) -> int:
        """As the ring that one writes by hand."""
        return _FEW_SLOTS


class YieldingFramegate(Framegate):
    """Its consumer does not park where nothing has come: it offers its core to others, and looks again."""

    name = "framegate, yielding"

    def frames(self) -> Iterator[Words]:
        idler = Idler("yield")
        with connect(f"{self.home}/aeron", f"{self.home}/pool") as client, client.consumer(STREAM) as consumer:
            while True:
                found = consumer.poll()
                if not found:
                    idler.idle()
                for frame in found:
                    yield np.asarray(frame)
                    self.torn += not frame.is_valid()


class HeldFramegate(Framegate):
    """As the peers that lose nothing hold their producer back: at half a ring ahead, by a number beside the stream."""

    name = "framegate, held back"

    def __enter__(self) -> Peer:
        self._read = multiprocessing.get_context("spawn").RawValue("Q", 0)
        return super().__enter__()

    @contextmanager
    def sending(self) -> Iterator[Send]:
        idler, ahead_max, read = Idler("yield"), self.depth // 2, self._read
        with super().sending() as publish:

            def send(frame: Words) -> None:
                seq = publish(frame)
                deadline_ns = monotonic_ns() + _HELD_NS
                while seq - read.value >= ahead_max and monotonic_ns() < deadline_ns:
                    idler.idle()

            yield send

    def frames(self) -> Iterator[Words]:
        for words in super().frames():
            yield words
            self._read.value = self.last_seq


class FewSlotsFramegate(HeldFramegate):
    """Held back, in a ring as short as the buffers of some peers, which the cache that both cores share could hold."""

    name = "framegate, few slots, held back"

    @property
    def depth(self) -> int:
        """As many as half the cache holds; two at least, or nothing overlaps."""
        return max(2, min(_FEW_SLOTS, cache_bytes() // 2 // stride_bytes(self.frame_bytes)))
