# SPDX-License-Identifier: Apache-2.0
"""What does it cost to turn a descriptor into a validated view of its frame, over the bare poll of as many messages?

The descriptors, and as many bare messages, lie ready; one native loop polls, the other reads and validates, before
and after. No payload byte is touched. Once more with everything written by another core, as it is in real life.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

from framegate.shmpool.transport.streams import DEFAULT_CHANNEL

from dev.bench.bed import transport
from dev.bench.pool_bed import (
    BARE,
    DESCRIPTORS,
    MESSAGE_BYTES,
    STREAM,
    offer_ns,
    producer_on,
    publication,
    publish_ns,
    regions,
    sized,
)
from dev.bench.result import Result, in_turn
from framegate._native import PoolConsumer, bench_poll, bench_read

SIZES: Final = ((4 << 10, 1024, 40), (640 << 10, 128, 10))
"""Bytes, slots (a lap is read at a time), laps a round."""
_LIMIT: Final = 64
_ROUNDS: Final = 9
REFERENCE: Final = "an independent C implementation: 21 ns on such a machine"


def run() -> Iterator[Result]:
    """For each size: what the view costs over the poll; for small frames also across cores."""
    for frame_bytes, slots, laps in SIZES:
        yield _over_poll(frame_bytes, slots, laps, is_far=False)
    if len(os.sched_getaffinity(0)) > 1:
        yield _over_poll(*SIZES[0], is_far=True)


def _over_poll(frame_bytes: int, slots: int, laps: int, *, is_far: bool) -> Result:
    with transport() as client, regions(frame_bytes, slots) as made:
        polled = cast(Any, client.add_subscription(DEFAULT_CHANNEL, BARE))
        consumer = PoolConsumer(cast(Any, client.add_subscription(DEFAULT_CHANNEL, DESCRIPTORS)), STREAM)
        consumer.attach(made)
        with publication(client, BARE) as bare, publication(client) as said:
            producer = producer_on(made, said)
            poll = partial(
                _laps, laps, slots, lambda: offer_ns(bare, slots), lambda: bench_poll(polled, slots, _LIMIT), is_far
            )
            read = partial(
                _laps,
                laps,
                slots,
                lambda: publish_ns(producer, frame_bytes, slots, copied=False),
                lambda: bench_read(consumer, slots, _LIMIT, False, 1.0),
                is_far,
            )
            floors, costs = in_turn((poll, read), _ROUNDS)
    over = [cost - floor for cost, floor in zip(costs, floors, strict=True)]
    where = "written by another core" if is_far else "written by the same core"
    read_ns, poll_ns = statistics.median(costs), statistics.median(floors)
    return Result(
        question=f"validated view of a {sized(frame_bytes)} frame over the bare poll, {where}",
        measured=statistics.median(over),
        unit="ns",
        target=None if is_far else 25,
        spread=(min(over), max(over)),
        how=f"{read_ns:.1f} ns less poll of {MESSAGE_BYTES} bytes {poll_ns:.1f} ns, {slots} at a time; {REFERENCE}",
    )


def _laps(
    laps: int, slots: int, fill: Callable[[], object], empty: Callable[[], tuple[int, ...]], is_far: bool
) -> float:
    """Nanoseconds for each of the messages that ``fill`` writes and ``empty`` takes, ``slots`` at a time."""
    total_ns = 0
    for _ in range(laps):
        with _core(0 if is_far else -1):
            fill()
        with _core(-1):
            spent_ns, *done = empty()
        assert set(done) == {slots}, f"{done} of {slots} were there"  # noqa: S101  (or the figure lies)
        total_ns += spent_ns
    return total_ns / laps / slots


@contextmanager
def _core(index: int) -> Iterator[None]:
    """This thread on one core of those it may use."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[index]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
