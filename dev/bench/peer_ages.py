# SPDX-License-Identifier: Apache-2.0
"""How soon is a frame read by a consumer that sleeps until it comes, at the rates of cameras and of slow sensors?

For each size and rate: the age of single frames, from before they are sent to after they are read, by framegate's
default consumer, by every other way that sleeps, and by a bare futex, which is the floor. All in turn, several times
over, each time in new processes. A wait that saves the core must not be later than the quickest of the others.

framegate's ring is as deep as in the comparison of rates, so the memory of its slots is cold when their turn comes. The
others have a few slots. The same consumer on a ring of eight slots is told too.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Iterator
from typing import Final

import numpy as np

from dev.bench.peer import Peer, Words
from dev.bench.peer_framegate import Framegate, ShallowFramegate
from dev.bench.peer_futex import BareFutex
from dev.bench.peer_iceoryx2 import Iceoryx2
from dev.bench.peer_queue import Queue
from dev.bench.peer_run import consuming, ended, pace
from dev.bench.peer_shared_memory import SharedRing
from dev.bench.peer_zmq import PublishSubscribe, PushPull
from dev.bench.pool_bed import sized
from dev.bench.result import Result, percentile

_PEERS: Final[tuple[type[Peer], ...]] = (Queue, SharedRing, PushPull, PublishSubscribe, Iceoryx2)
_SIZES: Final = (4 << 10, 64 << 10, 640 << 10, 4 << 20)
_TURNS: Final = 7
_RATES: Final = ((1, 2), (10, 12), (100, 720), (1000, 720))
"""Frames a second, and how many of them in each turn."""
_QUICK_TURNS: Final = 3
_QUICK_RATES: Final = ((1, 1), (10, 10), (100, 150), (1000, 500))
_P99_FROM: Final = 400
"""As few samples say nothing of the slowest hundredth."""
_WARM_UP: Final = 30
_Ages = dict[tuple[type[Peer], int], list[float]]


def run(*, quick: bool = False) -> Iterator[Result]:
    """About an hour and a half; ``quick``, five minutes with two sizes."""
    there = [peer for peer in _PEERS if peer.package is None or importlib.util.find_spec(peer.package)]
    sizes, turns, rates = ((_SIZES[0], _SIZES[2]), _QUICK_TURNS, _QUICK_RATES) if quick else (_SIZES, _TURNS, _RATES)
    for frame_bytes in sizes:
        ages: _Ages = {}
        kinds: list[type[Peer]] = [Framegate, ShallowFramegate, BareFutex, *there]
        for _ in range(turns):
            for peer in kinds:
                _turn(peer, frame_bytes, rates, ages)
        for rate_hz, _ in rates:
            for name, part, least in (("p50", 0.5, 1), ("p99", 0.99, _P99_FROM)):
                if len(ages[Framegate, rate_hz]) >= least:
                    yield from _rows(f"{sized(frame_bytes)} at {rate_hz}/s", name, part, rate_hz, there, ages)


def _turn(kind: type[Peer], frame_bytes: int, rates: tuple[tuple[int, int], ...], ages: _Ages) -> None:
    frame: Words = np.arange(frame_bytes // 8, dtype=np.uint64)
    home = tempfile.mkdtemp(prefix="framegate-bench-peer-", dir="/dev/shm")
    try:
        with kind(home, frame_bytes) as peer, consuming(peer) as reports, peer.sending() as send:
            pace(send, frame, 1, 1000, _WARM_UP)
            ended(send, frame, 1, reports)
            for phase, (rate_hz, count) in enumerate(rates, 2):
                pace(send, frame, phase, rate_hz, count)
                found = ended(send, frame, phase, reports).ages_ns
                ages.setdefault((kind, rate_hz), []).extend(age / 1e3 for age in found)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _rows(what: str, name: str, part: float, rate_hz: int, there: list[type[Peer]], ages: _Ages) -> Iterator[Result]:
    mine = percentile(ages[Framegate, rate_hz], part)
    floor = percentile(ages[BareFutex, rate_hz], part)
    others = {peer.name: percentile(ages[peer, rate_hz], part) for peer in there}
    quickest = min(others, key=others.__getitem__)
    shallow = percentile(ages[ShallowFramegate, rate_hz], part)
    told = ", ".join(f"{other} {age:.0f}" for other, age in others.items())
    how = f"{mine:.0f} us, with eight slots {shallow:.0f}; {told}; {BareFutex.name} {floor:.0f}"
    yield Result(
        question=f"{what}, {name}: default consumer over the quickest that sleeps",
        measured=mine / others[quickest],
        unit="x",
        target=0.9,
        how=how,
        beside=(("framegate", mine), (ShallowFramegate.name, shallow), *others.items(), (BareFutex.name, floor)),
        beside_unit="us",
    )
    yield Result(
        question=f"{what}, {name}: default consumer over a bare futex",
        measured=mine / floor,
        unit="x",
        target=1.3,
        how=f"of the same run; {len(ages[Framegate, rate_hz])} frames each",
    )
