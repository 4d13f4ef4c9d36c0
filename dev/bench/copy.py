# SPDX-License-Identifier: Apache-2.0
"""How much longer than the fastest bare copy does it take to publish a frame with its payload?

Both write into the same slots, whose memory was touched before and has left the cache since: the ring is several
times as large. The fastest copy is whichever of the plain and the non-temporal one was faster for that size.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from framegate.shmpool.transport.aeron import AeronTransport

from dev.bench.bed import transport
from dev.bench.pool_bed import (
    DESCRIPTORS,
    Partner,
    cold_slots,
    publish_beside_copies,
    sized,
)
from dev.bench.result import Result

SIZES: Final = ((4 << 10, None), (64 << 10, 1.3), (640 << 10, 1.3), (4 << 20, 1.3))
"""Bytes, and the target where there is one: in small frames the descriptor is what costs."""
_LAPS: Final = 2
_ROUNDS: Final = 9


def run() -> Iterator[Result]:
    """One result a size."""
    with transport() as client, Partner(client.aeron_dir, "drain", str(DESCRIPTORS)):
        for frame_bytes, target in SIZES:
            yield _compare(client, frame_bytes, target)


def _compare(client: AeronTransport, frame_bytes: int, target: float | None) -> Result:
    slots = cold_slots(frame_bytes)
    count = slots * _LAPS
    frames, plain, past_cache = publish_beside_copies(client, frame_bytes, slots, count, _ROUNDS)
    name, copies = min(("plain", plain), ("non-temporal", past_cache), key=lambda kind: statistics.median(kind[1]))
    ratios = [frame / copy for frame, copy in zip(frames, copies, strict=True)]
    frame_ns, copy_each_ns = statistics.median(frames), statistics.median(copies)
    return Result(
        question=f"publish of {sized(frame_bytes)} over the fastest bare copy",
        measured=statistics.median(ratios),
        unit="x",
        target=target,
        spread=(min(ratios), max(ratios)),
        how=f"{frame_ns / 1e3:.2f} us over {copy_each_ns / 1e3:.2f} us, {name}; "
        f"{frame_bytes / frame_ns:.1f} GB/s; cold slots, {slots * frame_bytes >> 20} MiB in turn",
    )
