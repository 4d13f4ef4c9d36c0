# SPDX-License-Identifier: Apache-2.0
"""Joins as one writes them by hand: two producers, and a consumer that pairs frames by number in a dict.

Each of the ways in ``peers`` carries the frames of either producer. The consumer copies both payloads out, because the
slot, sample or buffer that they came in is used again; then the pair is there.
"""

from __future__ import annotations

import ctypes
import importlib.util
import multiprocessing
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from dev.bench.peer import END, HEAD, STUCK_S, Peer, Words
from dev.bench.peer_iceoryx2 import Iceoryx2
from dev.bench.peer_queue import Queue
from dev.bench.peer_shared_memory import SharedRing
from dev.bench.peer_zmq import PushPull

WAYS: Final[tuple[type[Peer], ...]] = (Queue, PushPull, Iceoryx2, SharedRing)
_SIDES: Final = ("left", "right")
_KEPT_BYTES: Final = 64 << 20
"""Payloads that were copied out lie in so much memory, in turn."""
_HELLO_S: Final = 0.02
_PR_SET_TIMERSLACK: Final = 29


@dataclass(frozen=True, slots=True)
class Phase:
    """So many frames of either producer, one each ``pace_ns``; 0: as fast as they go."""

    pairs: int
    pace_ns: int = 0


@dataclass(slots=True)
class Paired:
    """What the consumer made of a phase."""

    first_ns: int = 0
    last_ns: int = 0
    ages_ns: list[int] = field(default_factory=list)
    """From the later of the two sends to the pair."""

    def pairs_a_second(self) -> float:
        """Between the first pair and the last."""
        return (len(self.ages_ns) - 1) / max(1, self.last_ns - self.first_ns) * 1e9


def is_there(way: type[Peer]) -> bool:
    """Whether what a way needs is installed."""
    return way.package is None or importlib.util.find_spec(way.package) is not None


def joined_by_hand(way: type[Peer], frame_bytes: int, phases: Sequence[Phase]) -> list[Paired]:
    """What the phases gave, in new processes."""
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-hand-", dir="/dev/shm"))
    try:
        with ExitStack() as stack:
            peers = []
            for side in _SIDES:
                (home / side).mkdir()
                peers.append(stack.enter_context(way(str(home / side), frame_bytes)))
            reports = stack.enter_context(_child(_consume, peers, phases))
            starts = [stack.enter_context(_child(_produce, peer, phases)) for peer in peers]
            _awaited(reports)
            found = []
            for _ in phases:
                for start in starts:
                    start.send("go")
                found.append(_awaited(reports))
            return found
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _child(work: Any, *words: Any) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(*words, there), daemon=True)
    process.start()
    try:
        yield here
    finally:
        process.terminate()
        process.join()


def _awaited(pipe: Connection) -> Any:
    if not pipe.poll(3 * STUCK_S):
        raise AddTimedOut("a process of the comparison said nothing")
    return pipe.recv()


def _produce(peer: Peer, phases: Sequence[Phase], pipe: Connection) -> None:
    _tighten_timers()
    frame: Words = np.arange(peer.frame_bytes // 8, dtype=np.uint64)
    with peer.sending() as send:
        HEAD.pack_into(frame, 0, END, 0, 0)
        while not pipe.poll(_HELLO_S):
            # Until the consumer listens, which some ways do not wait for.
            send(frame)
        for phase in phases:
            pipe.recv()
            due_ns = monotonic_ns()
            for number in range(phase.pairs):
                if phase.pace_ns:
                    due_ns += phase.pace_ns
                    sleep_ns(max(0, due_ns - monotonic_ns()))
                HEAD.pack_into(frame, 0, number, monotonic_ns(), 0)
                send(frame)
        # What it sent lives as long as it does with some ways; the parent ends it.
        pipe.recv()


def _consume(peers: Sequence[Peer], phases: Sequence[Phase], pipe: Connection) -> None:
    _tighten_timers()
    sources = [peer.frames() for peer in peers]
    words = peers[0].frame_bytes // 8
    kept: Words = np.ones((max(4, _KEPT_BYTES // peers[0].frame_bytes), words), np.uint64)
    for source in sources:
        next(source)
    pipe.send("ready")
    for phase in phases:
        pipe.send(_paired(sources, kept, phase.pairs))


def _paired(sources: Sequence[Iterator[Words]], kept: Words, pairs: int) -> Paired:
    found, waiting, place = Paired(), dict[int, tuple[int, Words]](), 0
    while len(found.ages_ns) < pairs:
        for source in sources:
            frame = next(source)
            number, sent_ns, _ = HEAD.unpack_from(frame)
            while number == END:
                frame = next(source)
                number, sent_ns, _ = HEAD.unpack_from(frame)
            payload = kept[place % len(kept)]
            place += 1
            payload[:] = frame
            partner = waiting.pop(number, None)
            if partner is None:
                waiting[number] = sent_ns, payload
                continue
            found.last_ns = monotonic_ns()
            found.first_ns = found.first_ns or found.last_ns
            found.ages_ns.append(found.last_ns - max(sent_ns, partner[0]))
    return found


def _tighten_timers() -> None:
    """As framegate's native loops do it for themselves."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
