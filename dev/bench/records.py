# SPDX-License-Identifier: Apache-2.0
"""What does it cost to collect descriptors into a numpy array, with every header checked, over the bare poll?

The log is filled with a batch in which every twentieth message belongs to another schema, then polled: once by a
native loop that looks at nothing, once by ``poll_records``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any, Final, cast

import numpy as np
from framegate.schema import wire
from framegate.shmpool.transport.interface import RecordKind

from dev.bench.bed import CHANNEL, THERE, connected, transport
from dev.bench.result import Result, in_turn
from framegate._native import bench_poll

MESSAGES: Final = 200_000
FOREIGN_EVERY: Final = 20
_ROUNDS: Final = 9


def run() -> Iterator[Result]:
    """One result."""
    descriptor = wire.FrameDescriptor(stream_id=10_001, epoch=7, seq=1)
    wanted = descriptor.encode()
    foreign = wanted[:4] + (904).to_bytes(2, "little") + wanted[6:]
    batch = b"".join(foreign if number % FOREIGN_EVERY == 0 else wanted for number in range(MESSAGES))
    records = MESSAGES - len(range(0, MESSAGES, FOREIGN_EVERY))
    with transport() as client:
        publication, subscription = client.add_publication(CHANNEL, THERE), client.add_subscription(CHANNEL, THERE)
        connected(publication)
        out = np.zeros(4096, wire.FrameDescriptor.dtype())
        kind = RecordKind(wire.FrameDescriptor.BLOCK_LENGTH, wire.FrameDescriptor.TEMPLATE_ID, 900, 1, True)

        def fill() -> None:
            assert publication.offer_batch(batch, len(wanted)).sent == MESSAGES  # noqa: S101  (or the figure lies)

        def bare() -> float:
            fill()
            spent_ns, _ = bench_poll(cast(Any, subscription), MESSAGES, 256)
            return spent_ns / MESSAGES

        def collected() -> float:
            fill()
            began_ns, found = time.perf_counter_ns(), 0
            while found < records:
                found += subscription.poll_records(kind, out)
            return (time.perf_counter_ns() - began_ns) / MESSAGES

        floors, costs = in_turn((bare, collected), _ROUNDS)
    over = [cost - floor for cost, floor in zip(costs, floors, strict=True)]
    yield Result.of_rounds(
        "poll into a numpy array, headers checked, 5 % foreign: over the bare poll",
        over,
        unit="ns/descriptor",
        target=10,
        how=f"bare {statistics.median(floors):.1f} ns, {MESSAGES} messages, {_ROUNDS} rounds in turn",
    )
