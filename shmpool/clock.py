# SPDX-License-Identifier: Apache-2.0
"""The clocks: only this module asks for the time. All other code is given a clock, or a time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A clock that counts nanoseconds from an origin of its own."""

    def __call__(self) -> int: ...


def monotonic_ns() -> int:
    """CLOCK_MONOTONIC: it never goes back, and is the same for all processes of this host since boot."""
    return time.monotonic_ns()


def realtime_ns() -> int:
    """CLOCK_REALTIME: wall time, for people and for epochs. It may step."""
    return time.time_ns()


class ManualClock:
    """A clock that a test moves.

    >>> clock = ManualClock()
    >>> clock.advance(5)
    >>> clock()
    5
    """

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = start_ns

    def __call__(self) -> int:
        return self._now_ns

    def advance(self, delta_ns: int) -> None:
        """Move on by ``delta_ns``. A negative step is like a clock that was set back."""
        self._now_ns += delta_ns
