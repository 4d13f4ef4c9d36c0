# SPDX-License-Identifier: Apache-2.0
"""What does publishing a frame cost over the bare offer of its descriptor, payload copy apart?

A frame of no bytes is claim, commit and descriptor alone. Of a frame with a payload, the bare copy of the same bytes
into the same slots is subtracted, whichever of the plain and the non-temporal one was faster. Another process drains.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Final

from framegate.shmpool.aeron import AeronTransport
from framegate.tools.bench.bed import transport
from framegate.tools.bench.pool_bed import (
    DESCRIPTORS,
    MESSAGE_BYTES,
    Partner,
    copy_ns,
    offer_ns,
    producer_on,
    publication,
    publish_ns,
    regions,
    sized,
)
from framegate.tools.bench.result import Result, in_turn

OFFERS: Final = 200_000
SIZES: Final = ((4 << 10, 1024, 50_000), (640 << 10, 128, 768))
"""Bytes, slots, frames a round."""
_ROUNDS: Final = 9
REFERENCE: Final = "an independent C implementation publishes in 113-135 ns on such a machine"


def run() -> Iterator[Result]:
    """The ratio for each size, and the times that it is made of."""
    with transport() as client, Partner(client.aeron_dir, "drain", str(DESCRIPTORS)):
        yield from _without_payload(client)
        for frame_bytes, slots, frames in SIZES:
            yield from _with_payload(client, frame_bytes, slots, frames)


def _without_payload(client: AeronTransport) -> Iterator[Result]:
    with regions(64, 1024) as made, publication(client) as bare, publication(client) as said:
        producer = producer_on(made, said)
        offers, frames = in_turn((lambda: offer_ns(bare, OFFERS), lambda: publish_ns(producer, 0, OFFERS)), _ROUNDS)
    yield _ratio(
        "publish of 0 bytes over the bare offer",
        [frame / offer for frame, offer in zip(frames, offers, strict=True)],
        f"claim, commit, descriptor against {MESSAGE_BYTES} bytes offered; nothing subtracted; 1024 slots",
    )
    yield _time("bare exclusive offer", offers, f"{MESSAGE_BYTES} bytes, IPC, another process drains")
    yield _time("publish of 0 bytes", frames, REFERENCE)


def _with_payload(client: AeronTransport, frame_bytes: int, slots: int, count: int) -> Iterator[Result]:
    size = sized(frame_bytes)
    with regions(frame_bytes, slots) as made, publication(client) as bare, publication(client) as said:
        producer = producer_on(made, said)
        offers, frames, plain, past_cache = in_turn(
            (
                lambda: offer_ns(bare, OFFERS),
                lambda: publish_ns(producer, frame_bytes, count),
                lambda: copy_ns(made, frame_bytes, count, past_cache=False),
                lambda: copy_ns(made, frame_bytes, count, past_cache=True),
            ),
            _ROUNDS,
        )
    best = min(("plain", plain), ("non-temporal", past_cache), key=lambda kind: statistics.median(kind[1]))
    copy = statistics.median(best[1])
    rest = [frame - copied for frame, copied in zip(frames, best[1], strict=True)]
    yield _ratio(
        f"publish of {size} less its copy, over the bare offer",
        [over / offer for over, offer in zip(rest, offers, strict=True)],
        f"subtracted: the {best[0]} copy, median {copy:.0f} ns; left: {statistics.median(rest):.0f} ns; {slots} slots",
    )
    how = f"plain copy {statistics.median(plain):.0f} ns, non-temporal {statistics.median(past_cache):.0f} ns"
    yield _time(f"publish of {size}, copy included", frames, how)


def _ratio(question: str, ratios: list[float], how: str) -> Result:
    spread = (min(ratios), max(ratios))
    measured = statistics.median(ratios)
    return Result(question=question, measured=measured, unit="x", target=1.5, spread=spread, how=how)


def _time(question: str, times: list[float], how: str) -> Result:
    spread = (min(times), max(times))
    return Result(question=question, measured=statistics.median(times), unit="ns", spread=spread, how=how)
