# SPDX-License-Identifier: Apache-2.0
"""A file descriptor for selectors and event loops: it can be read while a consumer has frames to give."""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from framegate._native import Frame


class Readable:
    """Waits for frames on a thread of its own, a batch ahead of whoever reads."""

    def __init__(self, ready: deque[Frame], refill: Callable[[], bool], is_over: Callable[[], bool]) -> None:
        """``refill`` waits until frames are ``ready``, or for a while; ``is_over`` says whether none will be."""
        self._ready, self._refill, self._is_over = ready, refill, is_over
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="framegate-readable", daemon=True)
        self._wanted.set()
        self._thread.start()

    def take(self, limit: int, timeout_s: float) -> list[Frame]:
        """Frames that are there; waits up to ``timeout_s`` for the first. Raises what ended the waiting thread."""
        if not self._ready and timeout_s and not self._stopped.is_set():
            select.select([self.fd], [], [], timeout_s)
        frames = [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
        if not frames and self._failure is not None:
            raise self._failure
        if not self._ready and self._thread.is_alive() and not self._wanted.is_set():
            with suppress(BlockingIOError):
                os.eventfd_read(self.fd)
            self._wanted.set()
        return frames

    def stop(self) -> None:
        """Close the descriptor. Idempotent."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._wanted.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        os.close(self.fd)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wanted.wait()
            try:
                while not (self._stopped.is_set() or self._refill() or self._is_over()):
                    continue
            except BaseException as failure:
                self._failure = failure
            if self._stopped.is_set():
                return
            self._wanted.clear()
            # After the end and after a failure it stays readable: the reader then finds nothing, and learns why.
            os.eventfd_write(self.fd, 1)
            if self._failure is not None or self._is_over():
                return
