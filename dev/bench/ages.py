# SPDX-License-Identifier: Apache-2.0
"""How old is a frame when it arrives?

At 1000 frames a second: from the time in the slot, taken when the frame is published, to when a reader in another
process has it. Native on both sides, with the producer asleep between two frames, and the same in Python: there the age
ends with the return of ``poll``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import LONGEST_PARK_NS, sleep_ns
from framegate.shmpool.producer.producer import DESCRIPTOR_BOUND
from framegate.shmpool.transport.aeron import AeronTransport

from dev.bench.bed import transport
from dev.bench.pool_bed import Partner, named, producer_on, publication, regions
from dev.bench.result import Result, percentile
from framegate._native import PoolProducer, bench_paced

FRAME_BYTES: Final = 4 << 10
SLOTS: Final = 1_024
RATE_HZ: Final = 1_000
_PACE_NS: Final = 1_000_000_000 // RATE_HZ
SINGLES: Final = 1_000
_ROUNDS: Final = 5
TARGETS_US: Final = {"yield": 4.0, "backoff": 1.5 * LONGEST_PARK_NS / 1e3}


def run() -> Iterator[Result]:
    """With either idle strategy of the reader, natively and in Python."""
    with transport() as client:
        for idle, target in TARGETS_US.items():
            yield _ages(client, idle, "aged", _pace_natively, "native on both sides", target)
            yield _ages(client, idle, "late", _pace, "Python on both sides", None)


def bare_ages_us(rounds: int) -> list[float]:
    """The ages with the default idle strategy, natively: what this machine gives whoever waits for one stream."""
    with transport() as client:
        return [age for ages in _rounds(client, "backoff", "aged", _pace_natively, rounds) for age in ages]


def _ages(
    client: AeronTransport, idle: str, role: str, pace: Callable[[PoolProducer], None], sides: str, target: float | None
) -> Result:
    rounds = _rounds(client, idle, role, pace, _ROUNDS)
    together = [age for ages in rounds for age in ages]
    medians = [percentile(ages, 0.5) for ages in rounds]
    p99, p999 = percentile(together, 0.99), percentile(together, 0.999)
    return Result(
        question=f"age of a frame when it arrives, p50, {idle}, {sides}",
        measured=percentile(together, 0.5),
        unit="us",
        target=target,
        spread=(min(medians), max(medians)),
        how=f"p99 {p99:.1f} us, p99.9 {p999:.1f} us; 4 KiB at {RATE_HZ}/s, {len(together)} frames",
    )


def _rounds(
    client: AeronTransport, idle: str, role: str, pace: Callable[[PoolProducer], None], count: int
) -> list[list[float]]:
    """So many, after one for warming up."""
    rounds: list[list[float]] = []
    with (
        regions(FRAME_BYTES, SLOTS) as made,
        Partner(client.aeron_dir, role, named(made, FRAME_BYTES), idle) as partner,
        publication(client, bound=DESCRIPTOR_BOUND) as said,
    ):
        producer = producer_on(made, said)
        for _ in range(count + 1):
            partner.tell(str(SINGLES))
            partner.answer()
            pace(producer)
            rounds.append([nanoseconds / 1e3 for nanoseconds in partner.answer()])
    return rounds[1:]


def _pace_natively(producer: PoolProducer) -> None:
    sent, *_ = bench_paced(producer, FRAME_BYTES, RATE_HZ, count=SINGLES)
    assert sent == SINGLES, f"{sent} of {SINGLES} were announced"  # noqa: S101  (or the reader waits in vain)


def _pace(producer: PoolProducer) -> None:
    frame = np.ones(FRAME_BYTES, np.uint8)
    due_ns = monotonic_ns()
    for _ in range(SINGLES):
        due_ns += _PACE_NS
        sleep_ns(max(0, due_ns - monotonic_ns()))
        producer.publish(frame)
