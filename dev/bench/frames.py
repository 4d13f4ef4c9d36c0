# SPDX-License-Identifier: Apache-2.0
"""How many 4 KiB frames a second pass from one process to another?

A native loop publishes as fast as it can, as a camera would: it waits for nobody. Another process validates every
frame natively, before and after, and touches no payload. Once the producer claims, commits and announces frames of
4 KiB whose payload it leaves as the slot lies: what the pool itself can do. Once it copies 4 KiB into each; beside that
stands what the bare copy into the same ring would allow. Both with a deep ring, whose slots are cold when their turn
comes, and with one that the cache holds. A producer that is quicker than the reader laps it; so what can be validated
without loss is measured at a pace.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from framegate.shmpool.producer.producer import DESCRIPTOR_BOUND
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.streams import DEFAULT_CHANNEL, untethered

from dev.bench.bed import transport
from dev.bench.pool_bed import DESCRIPTORS, Partner, copy_ns, named, producer_on, publication, regions
from dev.bench.result import Result, rounds
from framegate._native import bench_paced

FRAME_BYTES: Final = 4 << 10
DEEP_SLOTS: Final = 16_384
FEW_SLOTS: Final = 1_024
FRAMES: Final = 500_000
_ROUNDS: Final = 7
_COPIES: Final = 100_000
TARGET_M_S: Final = 3.0
PACE_HZ: Final = 3.2e6
REFERENCE: Final = "an independent C implementation, without payload too: 3.1 sent, 2.9 validated"


def run() -> Iterator[Result]:
    """Without the payload, at a pace and as fast as it goes, and with it; through a small ring and a deep one."""
    with transport() as client:
        for slots in (FEW_SLOTS, DEEP_SLOTS):
            yield from _rates(client, slots, rate_hz=PACE_HZ, copied=False)
            yield from _rates(client, slots, rate_hz=0.0, copied=False)
            yield from _rates(client, slots, rate_hz=0.0, copied=True)


def _rates(client: AeronTransport, slots: int, *, rate_hz: float, copied: bool) -> Iterator[Result]:
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

        def publish() -> float:
            sent, not_sent, _, _, spent_ns = bench_paced(producer, FRAME_BYTES, rate_hz, count=FRAMES, copied=copied)
            assert sent + not_sent == FRAMES, "a frame was refused"  # noqa: S101  (or the figure lies)
            partner.tell("report")
            valid = partner.answer()["valid"]
            validated.append(valid / spent_ns * 1e3)
            lost.append(100 * (1 - valid / FRAMES))
            return sent / spent_ns * 1e3

        rate, spread = rounds(publish, _ROUNDS)
        unannounced = producer.counters()["descriptors_lost"]
        bare_ns = min(copy_ns(made, FRAME_BYTES, _COPIES, past_cache=past_cache) for past_cache in (False, True))
    # The first round was for warming up.
    del validated[0], lost[0]
    how_fast = f"at {rate_hz / 1e6:g} M/s" if rate_hz else "as fast as it goes"
    name = f"4 KiB, {slots} slots, {'payload copied in' if copied else 'described'}, {how_fast}"
    work = (
        f"copy of 4 KiB, {rate * FRAME_BYTES / 1e3:.1f} GB/s; bare copy: {1e3 / bare_ns:.1f} M/s"
        if copied
        else REFERENCE
    )
    yield Result(
        question=f"{name}: sent",
        measured=rate,
        unit="M/s",
        target=None if copied else TARGET_M_S,
        is_floor=True,
        spread=spread,
        how=f"claim, commit, descriptor; {work}; {_ROUNDS} x {FRAMES} frames, native loops in two processes",
    )
    yield Result(
        question=f"{name}: validated",
        measured=statistics.median(validated),
        unit="M/s",
        target=TARGET_M_S if rate_hz else None,
        is_floor=True,
        spread=(min(validated), max(validated)),
        how=f"by another process, in the time of sending; {statistics.median(lost):.2f} % lost at the median, "
        f"{max(lost):.2f} % at most; {unannounced} descriptors given up in all rounds",
    )
