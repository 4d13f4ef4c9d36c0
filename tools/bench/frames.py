# SPDX-License-Identifier: Apache-2.0
"""How many 4 KiB frames a second pass from one process to another, and how old is a single one when it arrives?

A native loop publishes as fast as it can, as a camera would: it waits for nobody. Another process validates every
frame natively. Once with a deep ring, whose slots are cold when their turn comes, and once with one that the cache
holds; beside it stands what the bare copy into the same ring would allow. The age is measured at a pace of 1000
frames a second, from the time in the slot, taken when the frame is published, to the return of the reader's ``poll``:
in Python, because the native module has no such loop.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import numpy as np
from framegate.shmpool.aeron import AeronTransport
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import LONGEST_PARK_NS, sleep_ns
from framegate.shmpool.producer import DESCRIPTOR_BOUND
from framegate.shmpool.streams import DEFAULT_CHANNEL, untethered
from framegate.tools.bench.bed import transport
from framegate.tools.bench.pool_bed import DESCRIPTORS, Partner, copy_ns, named, producer_on, publication, regions
from framegate.tools.bench.result import Result, percentile, rounds

from framegate._native import PoolProducer, bench_publish

FRAME_BYTES: Final = 4 << 10
DEEP_SLOTS: Final = 16_384
FEW_SLOTS: Final = 1_024
FRAMES: Final = 500_000
_ROUNDS: Final = 7
_COPIES: Final = 100_000
PACE_NS: Final = 1_000_000
SINGLES: Final = 1_000
_SINGLE_ROUNDS: Final = 5
TARGETS_US: Final = {"yield": 4.0, "backoff": 1.5 * LONGEST_PARK_NS / 1e3}


def run() -> Iterator[Result]:
    """The rates, then the ages with either idle strategy."""
    with transport() as client:
        yield from _rates(client, DEEP_SLOTS, target=3)
        yield from _rates(client, FEW_SLOTS, target=None)
        for idle in TARGETS_US:
            yield from _ages(client, idle)


def _rates(client: AeronTransport, slots: int, target: float | None) -> Iterator[Result]:
    validated: list[float] = []
    lost: list[float] = []
    with (
        regions(FRAME_BYTES, slots) as made,
        Partner(client.aeron_dir, "read", named(made, FRAME_BYTES)) as partner,
        publication(client, bound=DESCRIPTOR_BOUND) as said,
        closing(client.add_subscription(untethered(DEFAULT_CHANNEL), DESCRIPTORS)) as pace,
    ):
        # With a subscription of its own, as every producer of the pool: it is at the head, whoever stalls.
        producer = producer_on(made, said, pace)

        def sent() -> float:
            spent_ns, published = bench_publish(producer, FRAME_BYTES, FRAMES)
            assert published == FRAMES, "a frame was refused"  # noqa: S101  (or the figure lies)
            partner.tell("report")
            valid = partner.answer()["valid"]
            validated.append(valid / spent_ns * 1e3)
            lost.append(100 * (1 - valid / FRAMES))
            return published / spent_ns * 1e3

        rate, spread = rounds(sent, _ROUNDS)
        unannounced = producer.counters()["descriptors_lost"]
        bare_ns = min(copy_ns(made, FRAME_BYTES, _COPIES, past_cache=past_cache) for past_cache in (False, True))
    how = f"4 KiB, {_ROUNDS} x {FRAMES} frames, native loops in two processes; {rate * FRAME_BYTES / 1e3:.1f} GB/s"
    yield Result(
        question=f"frames sent, {slots} slots",
        measured=rate,
        unit="M/s",
        target=target,
        is_floor=True,
        spread=spread,
        how=f"{how}; the bare copy alone would allow {1e3 / bare_ns:.1f} M/s",
    )
    # The first round was for warming up.
    yield _other_side(f"validated, {slots} slots", validated[1:], "M/s", "by another process, in the time of sending")
    what = f"sent and not validated; {unannounced} descriptors were given up in all rounds"
    yield _other_side(f"lost, {slots} slots", lost[1:], "%", what)


def _other_side(what: str, found: list[float], unit: str, how: str) -> Result:
    spread = (min(found), max(found))
    return Result(question=f"frames {what}", measured=statistics.median(found), unit=unit, spread=spread, how=how)


def _ages(client: AeronTransport, idle: str) -> Iterator[Result]:
    ages: list[list[float]] = []
    with (
        regions(FRAME_BYTES, FEW_SLOTS) as made,
        Partner(client.aeron_dir, "late", named(made, FRAME_BYTES), idle) as partner,
        publication(client, bound=DESCRIPTOR_BOUND) as said,
    ):
        producer = producer_on(made, said)
        for _ in range(_SINGLE_ROUNDS + 1):
            partner.tell(str(SINGLES))
            partner.answer()
            _pace(producer)
            ages.append([nanoseconds / 1e3 for nanoseconds in partner.answer()])
    del ages[0]
    together = [age for ages_of_round in ages for age in ages_of_round]
    medians = [percentile(ages_of_round, 0.5) for ages_of_round in ages]
    p99, p999 = percentile(together, 0.99), percentile(together, 0.999)
    yield Result(
        question=f"age of a frame when it arrives, p50, {idle}",
        measured=percentile(together, 0.5),
        unit="us",
        target=TARGETS_US[idle],
        spread=(min(medians), max(medians)),
        how=f"p99 {p99:.1f} us, p99.9 {p999:.1f} us; 4 KiB at 1000/s, {len(together)} frames; Python on both sides",
    )


def _pace(producer: PoolProducer) -> None:
    frame = np.ones(FRAME_BYTES, np.uint8)
    due_ns = monotonic_ns()
    for _ in range(SINGLES):
        due_ns += PACE_NS
        sleep_ns(max(0, due_ns - monotonic_ns()))
        producer.publish(frame)
