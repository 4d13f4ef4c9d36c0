# SPDX-License-Identifier: Apache-2.0
"""How near does Python come to the native rate, when it offers 96-byte messages in batches?

The same exclusive publication is driven by a native loop and by ``offer_batch``, in turn, with another process
draining the stream. One call a message is reported beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any, Final, cast

from framegate.shmpool.transport.interface import OfferBound

from dev.bench.bed import CHANNEL, THERE, connected, partner, transport
from dev.bench.result import Result, in_turn
from framegate._native import bench_offer

MESSAGE_BYTES: Final = 96
BATCH: Final = 1_000
MESSAGES: Final = 500_000
_ROUNDS: Final = 9


def run() -> Iterator[Result]:
    """The ratio, and the rates that it is made of."""
    batch, message = bytes(BATCH * MESSAGE_BYTES), bytes(MESSAGE_BYTES)
    with transport() as client, partner(client, "drain"):
        patient = OfferBound(attempts=1 << 40, deadline_ns=10_000_000_000)
        publication = connected(client.add_publication(CHANNEL, THERE, bound=patient))

        def native() -> float:
            spent_ns, taken = bench_offer(cast(Any, publication), MESSAGE_BYTES, MESSAGES)
            return taken / spent_ns * 1e3

        def batched() -> float:
            began_ns = time.perf_counter_ns()
            taken = sum(publication.offer_batch(batch, MESSAGE_BYTES).sent for _ in range(MESSAGES // BATCH))
            return taken / (time.perf_counter_ns() - began_ns) * 1e3

        def single() -> float:
            began_ns = time.perf_counter_ns()
            taken = sum(publication.offer(message) > 0 for _ in range(MESSAGES))
            return taken / (time.perf_counter_ns() - began_ns) * 1e3

        rates = in_turn((native, batched, single), _ROUNDS)
    of_native, of_batch, of_single = (statistics.median(column) for column in rates)
    ratios = [batch_rate / native_rate for native_rate, batch_rate, _ in zip(*rates, strict=True)]
    how = f"{MESSAGE_BYTES}-byte messages, IPC, another process drains, {_ROUNDS} rounds in turn"
    yield Result(
        question="Python offer_batch against the native loop, rate",
        measured=statistics.median(ratios),
        unit="x",
        target=0.5,
        is_floor=True,
        spread=(min(ratios), max(ratios)),
        how=how,
    )
    yield Result(question="native offers", measured=of_native, unit="M/s", how=how)
    yield Result(question="Python offer_batch, 1000 a call", measured=of_batch, unit="M/s")
    yield Result(question="Python offer, one a call", measured=of_single, unit="M/s")
