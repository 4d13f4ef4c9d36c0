# SPDX-License-Identifier: Apache-2.0
"""The consumer's process of a comparison: reads every frame of a peer, and reports at the end of each phase."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np
from framegate.shmpool.clock import monotonic_ns

from dev.bench.peer import END, HEAD, Peer

_PR_SET_TIMERSLACK = 29
_LINE_WORDS = 8


@dataclass(slots=True)
class Report:
    """What came in one phase, but for the frame that ended it."""

    whole: int = 0
    first_ns: int = 0
    last_ns: int = 0
    ages_ns: list[int] = field(default_factory=list)
    """From before a frame was sent to after it was read."""


def consume(peer: Peer, reports: Connection) -> None:
    """A report for each phase, and before that a word when the first frame was heard. Ends by being ended."""
    # As framegate's native waits do it for themselves: no peer that parks is to wait 50 us longer for that.
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
    reports.send("ready")
    current, report, is_over, was_whole = 0, Report(), False, False
    for words in peer.frames():
        if peer.torn and was_whole:
            # What looked whole was overwritten before it had been read to its end.
            report.whole -= 1
            report.ages_ns.pop()
        peer.torn, was_whole = 0, False
        number, sent_ns, phase = HEAD.unpack_from(words)
        if phase != current:
            current, report, is_over = phase, Report(), False
        if number == END:
            if not is_over:
                reports.send(report)
            is_over = True
            continue
        np.add.reduce(words[::_LINE_WORDS])
        report.last_ns = monotonic_ns()
        report.first_ns = report.first_ns or report.last_ns
        was_whole = words.item(-1) == number
        if was_whole:
            report.whole += 1
            report.ages_ns.append(report.last_ns - sent_ns)
