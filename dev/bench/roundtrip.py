# SPDX-License-Identifier: Apache-2.0
"""How much longer is a round trip when Python plays one side, with the same idle strategy?

Another process echoes, natively in both cases. A round is one message there and back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, cast

from framegate.shmpool.transport.interface import Publication, Subscription

from dev.bench.bed import BACK, CHANNEL, THERE, connected, partner, transport
from dev.bench.result import Result, percentile
from framegate._native import bench_ping

MESSAGE_BYTES: Final = 96
ROUNDS: Final = 20_000
_REPEATS: Final = 5
_WAIT_NS: Final = 10_000_000_000


def run() -> Iterator[Result]:
    """For each strategy: the difference of the medians, and both distributions."""
    for idle in ("backoff", "yield"):
        yield from _compare(idle)


def _compare(idle: str) -> Iterator[Result]:
    native: list[float] = []
    python: list[float] = []
    differences: list[float] = []
    with transport() as client:
        # Before the partner: it waits for somebody to send its echoes to.
        subscription = client.add_subscription(CHANNEL, BACK, idle=idle)
        with partner(client, "echo", idle):
            publication = connected(client.add_publication(CHANNEL, THERE))
            for _ in range(_REPEATS):
                both = _native(publication, subscription, idle), _python(publication, subscription)
                native += both[0]
                python += both[1]
                differences.append(percentile(both[1], 0.5) - percentile(both[0], 0.5))
    yield Result(
        question=f"Python round trip over the native one, p50, {idle}",
        measured=percentile(differences, 0.5),
        unit="us",
        target=3,
        spread=(min(differences), max(differences)),
        how=f"{MESSAGE_BYTES} bytes, {_REPEATS} x {ROUNDS} rounds each, native echo process",
    )
    for name, times in (("native", native), ("Python", python)):
        p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
        yield Result(question=f"{name} round trip, p50, {idle}", measured=p50, unit="us", how=f"p99 {p99:.1f} us")


def _native(publication: Publication, subscription: Subscription, idle: str) -> list[float]:
    times = bench_ping(cast(Any, publication), cast(Any, subscription), ROUNDS, MESSAGE_BYTES, idle)
    assert len(times) == ROUNDS, "the echo stopped"  # noqa: S101  (or the figure lies)
    return [nanoseconds / 1e3 for nanoseconds in times]


def _python(publication: Publication, subscription: Subscription) -> list[float]:
    message, times = bytes(MESSAGE_BYTES), []
    for _ in range(ROUNDS):
        began_ns = time.perf_counter_ns()
        publication.offer(message)
        received = subscription.poll(1, _WAIT_NS)
        times.append((time.perf_counter_ns() - began_ns) / 1e3)
        assert len(received) == 1, "the echo stopped"  # noqa: S101  (or the figure lies)
    return times
