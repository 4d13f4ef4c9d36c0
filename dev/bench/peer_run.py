# SPDX-License-Identifier: Apache-2.0
"""A run of one peer: its consumer's process, frames with their number and time, and what the consumer reports."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

from framegate.schema.errors import AddTimedOut
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from dev.bench.peer import END, HEAD, STUCK_S, Peer, Send, Words
from dev.bench.peer_consumer import Report, consume

_LOOK_S: Final = 0.02


@contextmanager
def consuming(peer: Peer) -> Iterator[Connection]:
    """The consumer's process, once it listens."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=consume, args=(peer, there), daemon=True)
    process.start()
    try:
        _awaited(here, STUCK_S)
        yield here
    finally:
        process.terminate()
        process.join()


def _awaited(reports: Connection, timeout_s: float) -> object:
    if not reports.poll(timeout_s):
        raise AddTimedOut("the consumer's process said nothing")
    return reports.recv()


def send_one(send: Send, frame: Words, number: int, phase: int) -> None:
    """Send a frame with its number and the time."""
    frame[-1] = number
    HEAD.pack_into(frame, 0, number, monotonic_ns(), phase)
    send(frame)


def pace(send: Send, frame: Words, phase: int, rate_hz: float, count: int) -> None:
    """So many frames, each at its time."""
    due_ns = monotonic_ns()
    for number in range(1, count + 1):
        due_ns += int(1e9 / rate_hz)
        sleep_ns(max(0, due_ns - monotonic_ns()))
        send_one(send, frame, number, phase)


def ended(send: Send, frame: Words, phase: int, reports: Connection) -> Report:
    """Says that the phase is over until the consumer has heard it: a lossy peer may lose that too."""
    deadline_ns = monotonic_ns() + int(STUCK_S * 1e9)
    while monotonic_ns() < deadline_ns:
        send_one(send, frame, END, phase)
        if reports.poll(_LOOK_S):
            report = reports.recv()
            assert isinstance(report, Report)  # noqa: S101  (for the type checker)
            return report
    raise AddTimedOut("the consumer did not hear the end of the frames", phase=phase)
