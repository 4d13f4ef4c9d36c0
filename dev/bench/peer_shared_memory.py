# SPDX-License-Identifier: Apache-2.0
"""multiprocessing.shared_memory with a Condition: the ring that one writes by hand."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from typing import Final

import numpy as np

from dev.bench.peer import STUCK_S, Peer, Send, Words

_SLOTS: Final = 8
_WRITTEN: Final = 0
_READ: Final = 1
_COUNTER_WORDS: Final = 8


class SharedRing(Peer):
    """Eight slots and two counters under one lock; who finds it full, or empty, waits for the other."""

    name = "shared_memory + Condition"

    def __enter__(self) -> Peer:
        self._condition = multiprocessing.get_context("spawn").Condition()
        self._memory = SharedMemory(create=True, size=8 * _COUNTER_WORDS + _SLOTS * self.frame_bytes)
        self._parts()[0][:] = 0
        return self

    def __exit__(self, *exc: object) -> None:
        self._memory.close()
        self._memory.unlink()

    def _parts(self) -> list[Words]:
        """The counters, then the slots."""
        assert self._memory.buf is not None  # noqa: S101  (for the type checker)
        words = np.frombuffer(self._memory.buf, np.uint64, _COUNTER_WORDS + _SLOTS * self.frame_bytes // 8)
        return [words[:_COUNTER_WORDS], *np.split(words[_COUNTER_WORDS:], _SLOTS)]

    @contextmanager
    def sending(self) -> Iterator[Send]:
        parts, condition = self._parts(), self._condition

        def send(frame: Words) -> None:
            with condition:
                if not condition.wait_for(lambda: parts[0][_WRITTEN] - parts[0][_READ] < _SLOTS, STUCK_S):
                    raise TimeoutError("the consumer of the ring stopped")
                number = int(parts[0][_WRITTEN])
            np.copyto(parts[1 + number % _SLOTS], frame)
            with condition:
                parts[0][_WRITTEN] += np.uint64(1)
                condition.notify()

        try:
            yield send
        finally:
            # The memory cannot be closed while an array shows it.
            parts.clear()

    def frames(self) -> Iterator[Words]:
        parts, condition = self._parts(), self._condition
        while True:
            with condition:
                if not condition.wait_for(lambda: parts[0][_WRITTEN] > parts[0][_READ], STUCK_S):
                    return
                number = int(parts[0][_READ])
            yield parts[1 + number % _SLOTS]
            with condition:
                parts[0][_READ] += np.uint64(1)
                condition.notify()
