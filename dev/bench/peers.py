# SPDX-License-Identifier: Apache-2.0
"""How does framegate compare with other ways to bring frames from one Python process to another?

For each size and peer: frames a second as fast as the producer can, then the age of single frames at a pace of 500 a
second, from before they are sent to after they are read. All in turn, several times over, each time in new processes.
Of lossy peers only what came whole counts. framegate stands there four times: as it is, with a producer that waits for
nobody; with a consumer that yields where it would park; held back to what the consumer takes, as most of the others
are; and so with a ring of a few slots, because the buffers of the quickest peers are so few that they never leave the
cache. What a row says of the cause of a difference is what the same run measured with that cause taken away.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from framegate.shmpool.clock import monotonic_ns

from dev.bench.peer import Peer, Send, Words
from dev.bench.peer_framegate import FewSlotsFramegate, Framegate, HeldFramegate, YieldingFramegate
from dev.bench.peer_iceoryx2 import Iceoryx2
from dev.bench.peer_queue import Queue
from dev.bench.peer_run import consuming, ended, pace, send_one
from dev.bench.peer_shared_memory import SharedRing
from dev.bench.peer_zmq import PublishSubscribe, PushPull
from dev.bench.pool_bed import sized
from dev.bench.result import Result, percentile

PEERS: Final[tuple[type[Peer], ...]] = (
    Framegate,
    YieldingFramegate,
    HeldFramegate,
    FewSlotsFramegate,
    Queue,
    SharedRing,
    PushPull,
    PublishSubscribe,
    Iceoryx2,
)
_OURS: Final = (Framegate, YieldingFramegate, HeldFramegate, FewSlotsFramegate)
_RUSHING: Final = (Framegate, HeldFramegate, FewSlotsFramegate)
_WAITING: Final = (Framegate, YieldingFramegate)
SIZES: Final = (4 << 10, 64 << 10, 640 << 10, 4 << 20)
_TURNS: Final = 3
_RUSH_NS: Final = 250_000_000
_WARM_UP_NS: Final = 50_000_000
_SINGLES: Final = 150
_PACE_HZ: Final = 500
_WARM_UP, _RUSH, _PACED = 1, 2, 3


@dataclass(slots=True)
class Found:
    """What the turns of one peer with one size gave."""

    rates: list[float] = field(default_factory=list)
    ages_us: list[float] = field(default_factory=list)
    sent: int = 0
    whole: int = 0


def run() -> Iterator[Result]:
    """A row for each size and peer, and how far framegate is ahead of the best other one, for each size."""
    there = [peer for peer in PEERS if peer.package is None or importlib.util.find_spec(peer.package)]
    for frame_bytes in SIZES:
        found = {peer: Found() for peer in there}
        for _ in range(_TURNS):
            for peer, sums in found.items():
                _turn(peer, frame_bytes, sums)
        for peer in PEERS:
            yield _row(peer, frame_bytes, found.get(peer))
        for ours in _RUSHING:
            yield _ahead(ours, frame_bytes, found)
        for ours in _WAITING:
            for name, part in (("p50", 0.5), ("p99", 0.99)):
                yield _age(ours, frame_bytes, found, name, part)


def _row(peer: type[Peer], frame_bytes: int, found: Found | None) -> Result:
    question = f"{sized(frame_bytes)}: {peer.name}"
    if found is None:
        return Result(question=question, measured=None, how="not installed: see the group `bench` of pyproject.toml")
    rate = statistics.median(found.rates)
    p50, p99 = percentile(found.ages_us, 0.5), percentile(found.ages_us, 0.99)
    lost = 100 * (1 - found.whole / found.sent)
    return Result(
        question=question,
        measured=rate,
        unit="frames/s",
        spread=(min(found.rates), max(found.rates)),
        how=f"{rate * frame_bytes / 1e9:.2f} GB/s, p50 {p50:.0f} us, p99 {p99:.0f} us, lost in the rush {lost:.0f} %",
    )


def _ahead(ours: type[Peer], frame_bytes: int, found: dict[type[Peer], Found]) -> Result:
    others = [peer for peer in found if peer not in _OURS]

    def rate(peer: type[Peer]) -> float:
        return statistics.median(found[peer].rates)

    best = max(others, key=rate)
    ratios = [mine / other for mine, other in zip(found[ours].rates, found[best].rates, strict=True)]
    return Result(
        question=f"{sized(frame_bytes)}: {ours.name} ahead of the best peer",
        measured=statistics.median(ratios),
        unit="x",
        target=1,
        is_floor=True,
        spread=(min(ratios), max(ratios)),
        how="; ".join([f"frames/s, against {best.name}", *_lost(found[ours]), *_cold(ours, rate)]),
    )


def _lost(found: Found) -> Iterator[str]:
    if found.whole < found.sent:
        yield f"{100 * (1 - found.whole / found.sent):.0f} % were overwritten before they were read"


def _cold(ours: type[Peer], rate: Callable[[type[Peer]], float]) -> Iterator[str]:
    """What a deep ring costs, whose slots have left the cache when their turn comes: the same with few slots."""
    if ours is HeldFramegate:
        yield f"the same ring with few slots, which stay in the cache: {rate(FewSlotsFramegate) / rate(ours):.2f} x"


def _age(ours: type[Peer], frame_bytes: int, found: dict[type[Peer], Found], name: str, part: float) -> Result:
    others = [peer for peer in found if peer not in _OURS]
    mine = percentile(found[ours].ages_us, part)
    ages = {peer: percentile(found[peer].ages_us, part) for peer in others}
    quickest = min(others, key=lambda peer: ages[peer])
    return Result(
        question=f"{sized(frame_bytes)}: age {name}, {ours.name} over the quickest peer",
        measured=mine / ages[quickest],
        unit="x",
        target=1,
        how="; ".join([f"{mine:.0f} us over {ages[quickest]:.0f} us of {quickest.name}", *_parked(ours, found, part)]),
    )


def _parked(ours: type[Peer], found: dict[type[Peer], Found], part: float) -> Iterator[str]:
    """What the park costs by which a consumer saves its core: the same where it yields."""
    if ours is Framegate:
        yielding_us = percentile(found[YieldingFramegate].ages_us, part)
        yield f"its consumer parks up to 64 us; one that yields: {yielding_us:.0f} us"


def _turn(kind: type[Peer], frame_bytes: int, found: Found) -> None:
    frame: Words = np.arange(frame_bytes // 8, dtype=np.uint64)
    home = tempfile.mkdtemp(prefix="framegate-bench-peer-", dir="/dev/shm")
    try:
        with kind(home, frame_bytes) as peer, consuming(peer) as reports, peer.sending() as send:
            _rush(send, frame, _WARM_UP, _WARM_UP_NS)
            ended(send, frame, _WARM_UP, reports)
            found.sent += _rush(send, frame, _RUSH, _RUSH_NS)
            report = ended(send, frame, _RUSH, reports)
            found.whole += report.whole
            found.rates.append(report.whole / max(1, report.last_ns - report.first_ns) * 1e9)
            pace(send, frame, _PACED, _PACE_HZ, _SINGLES)
            found.ages_us += [age / 1e3 for age in ended(send, frame, _PACED, reports).ages_ns]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _rush(send: Send, frame: Words, phase: int, duration_ns: int) -> int:
    """As many frames as go; how many."""
    number, deadline_ns = 0, monotonic_ns() + duration_ns
    while monotonic_ns() < deadline_ns:
        number += 1
        send_one(send, frame, number, phase)
    return number
