# SPDX-License-Identifier: Apache-2.0
"""The floor of every peer that sleeps: shared memory and one futex word, without a lock and without a check."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from dev.bench.peer import Send, Words
from dev.bench.peer_shared_memory import SharedRing

_SYS_FUTEX: Final = 202
"""Of x86-64."""
_WAIT, _WAKE = 0, 1
_WRITTEN: Final = 0
_SLOTS: Final = 8


class BareFutex(SharedRing):
    """The same ring. The consumer sleeps on the count of frames, and the producer wakes it; nobody waits for room."""

    name = "a bare futex"

    @contextmanager
    def sending(self) -> Iterator[Send]:
        parts = self._parts()
        futex = _futex(parts[0])
        number = 0

        def send(frame: Words) -> None:
            nonlocal number
            np.copyto(parts[1 + number % _SLOTS], frame)
            number += 1
            parts[0][_WRITTEN] = number
            futex(_WAKE, 1)

        try:
            yield send
        finally:
            parts.clear()

    def frames(self) -> Iterator[Words]:
        parts = self._parts()
        futex = _futex(parts[0])
        number = 0
        while True:
            while (written := int(parts[0][_WRITTEN])) <= number:
                futex(_WAIT, written & 0xFFFF_FFFF)
            yield parts[1 + number % _SLOTS]
            number += 1


class _futex:  # noqa: N801  (called as the system call is)
    """The system call on the low half of the first word, without a time limit."""

    def __init__(self, words: Words) -> None:
        self._address = ctypes.c_void_p(words.ctypes.data)
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def __call__(self, operation: int, value: int) -> None:
        self._call(
            ctypes.c_long(_SYS_FUTEX), self._address, ctypes.c_int(operation), ctypes.c_uint32(value), None, None, 0
        )
