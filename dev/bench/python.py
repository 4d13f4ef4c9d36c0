# SPDX-License-Identifier: Apache-2.0
"""What does Python add, when it publishes and reads 4 KiB frames through the interface that programs use?

A whole driver serves; producer and consumer are those of ``connect``, with their thread and leases. The native loops
drive the same producer and consumer, in turn with Python. While publishing is measured another process drains.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, cast

import numpy as np
from framegate.shmpool.client.client import Client
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.producer.producer import Producer
from framegate.shmpool.transport.streams import Streams

from dev.bench.pool_bed import STREAM, Partner, pool, publish_ns
from dev.bench.result import Result, in_turn
from framegate._native import PoolConsumer, PoolProducer, bench_read

FRAME_BYTES: Final = 4 << 10
SLOTS: Final = 4_096
FRAMES: Final = 20_000
BATCH: Final = 64
LAP: Final = 2_048
"""Frames that lie ready when reading begins; half the ring, so none is lapped."""
_LAPS: Final = 10
_ROUNDS: Final = 9


def run() -> Iterator[Result]:
    """Publishing, then reading."""
    with _producing() as (client, producer):
        yield from _publishing(client, producer)
    # Another driver: the last one may keep the drain's stream for a while, and hold a producer up by it.
    with _producing() as (client, producer), client.consumer(STREAM, timeout_s=5.0) as consumer:
        yield from _reading(producer, consumer)


@contextmanager
def _producing() -> Iterator[tuple[Client, Producer]]:
    with pool(SLOTS, FRAME_BYTES) as client, client.producer(STREAM, shape=(FRAME_BYTES,), dtype="uint8") as producer:
        yield client, producer


def _publishing(client: Client, producer: Producer) -> Iterator[Result]:
    frame, frames = np.ones(FRAME_BYTES, np.uint8), np.ones((BATCH, FRAME_BYTES), np.uint8)

    def single() -> float:
        began_ns = time.perf_counter_ns()
        for _ in range(FRAMES):
            producer.publish(frame)
        return (time.perf_counter_ns() - began_ns) / FRAMES

    def batched() -> float:
        batches = FRAMES // BATCH
        began_ns = time.perf_counter_ns()
        done = sum(producer.publish_batch(frames) for _ in range(batches))
        return (time.perf_counter_ns() - began_ns) / done

    with Partner(client.aeron_dir, "drain", str(Streams().descriptor)):
        native, singles, batches = in_turn(
            (lambda: publish_ns(_native_producer(producer), FRAME_BYTES, FRAMES), single, batched), _ROUNDS
        )
    floor = f"native {statistics.median(native):.0f} ns a frame; 4 KiB, {SLOTS} slots, another process drains"
    yield _over("publish(array) over the native call", singles, native, 700, floor)
    yield _ratio(f"publish_batch of {BATCH} over the native call", batches, native, floor)


def _reading(producer: Producer, consumer: Consumer) -> Iterator[Result]:
    native_consumer = _native_consumer(consumer)

    def laps(empty: Callable[[], int]) -> float:
        total_ns = 0
        for _ in range(_LAPS):
            publish_ns(_native_producer(producer), FRAME_BYTES, LAP)
            total_ns += empty()
        return total_ns / _LAPS / LAP

    def natively() -> int:
        spent_ns, _, valid = bench_read(native_consumer, LAP, BATCH, False, 5.0)
        assert valid == LAP, f"{valid} of {LAP} were there"  # noqa: S101  (or the figure lies)
        return spent_ns

    def iterated() -> int:
        began_ns = time.perf_counter_ns()
        for frame in islice(consumer, LAP):
            frame.array[0]
        return time.perf_counter_ns() - began_ns

    def polled() -> int:
        began_ns, found = time.perf_counter_ns(), 0
        while found < LAP:
            found += len(consumer.poll(BATCH))
        return time.perf_counter_ns() - began_ns

    native, each, batches = in_turn((lambda: laps(natively), lambda: laps(iterated), lambda: laps(polled)), _ROUNDS)
    floor = f"native {statistics.median(native):.0f} ns a frame; 4 KiB, {LAP} ready, written by the same core"
    measured = statistics.median(each) / 1e3
    yield Result(
        question="iterate a consumer, frame.array[0] read",
        measured=measured,
        unit="us",
        target=1.5,
        spread=(min(each) / 1e3, max(each) / 1e3),
        how=floor,
    )
    floor = f"{floor}; batches with their columns, no Frame is made"
    yield _ratio(f"poll({BATCH}) over the native read", batches, native, floor)


def _native_producer(producer: Producer) -> PoolProducer:
    return cast(PoolProducer, cast(Any, producer)._native)


def _native_consumer(consumer: Consumer) -> PoolConsumer:
    return cast(PoolConsumer, cast(Any, consumer)._native)


def _over(question: str, costs: list[float], floors: list[float], target: float, how: str) -> Result:
    over = [cost - floor for cost, floor in zip(costs, floors, strict=True)]
    measured, spread = statistics.median(over), (min(over), max(over))
    how = f"{statistics.median(costs):.0f} ns; {how}"
    return Result(question=question, measured=measured, unit="ns", target=target, spread=spread, how=how)


def _ratio(question: str, costs: list[float], floors: list[float], how: str) -> Result:
    ratios = [cost / floor for cost, floor in zip(costs, floors, strict=True)]
    measured, spread = statistics.median(ratios), (min(ratios), max(ratios))
    how = f"{statistics.median(costs):.0f} ns; {how}"
    return Result(question=question, measured=measured, unit="x", target=1.2, spread=spread, how=how)
