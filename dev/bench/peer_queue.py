# SPDX-License-Identifier: Apache-2.0
"""multiprocessing.Queue: arrays pickled through a pipe."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

from dev.bench.peer import STUCK_S, Peer, Send, Words


class Queue(Peer):
    """A thread of its own pickles what is put, later: so each frame is copied first, or the next would be in it."""

    name = "multiprocessing.Queue"

    def __enter__(self) -> Peer:
        self._queue: multiprocessing.Queue[Words] = multiprocessing.get_context("spawn").Queue(self.depth)
        return self

    def __exit__(self, *exc: object) -> None:
        # What nobody reads any more must not hold this process up at its end.
        self._queue.cancel_join_thread()
        self._queue.close()

    @contextmanager
    def sending(self) -> Iterator[Send]:
        yield lambda frame: self._queue.put(frame.copy(), timeout=STUCK_S)

    def frames(self) -> Iterator[Words]:
        while True:
            yield self._queue.get(timeout=STUCK_S)
