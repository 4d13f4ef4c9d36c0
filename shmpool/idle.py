# SPDX-License-Identifier: Apache-2.0
"""Idling: what a loop does when it found nothing to do. This is the twin of the native idle strategies.

``busy`` spins, ``yield`` offers the core to other threads, and ``sleep`` sleeps 1 ms. ``backoff``, the default, spins
10 times, yields 20 times, then parks from 1 us up to 64 us. Only this module sleeps.
"""

from __future__ import annotations

import os
import time
from typing import Final, Literal, get_args

IdleName = Literal["busy", "yield", "backoff", "sleep"]
IDLE_NAMES: Final[tuple[str, ...]] = get_args(IdleName)
WaitName = Literal["bell", "backoff", "yield", "spin"]
"""How a consumer or engine waits for frames: ``spin`` is ``busy`` for loops; ``bell`` sleeps until a writer rings."""
WAIT_NAMES: Final[tuple[str, ...]] = get_args(WaitName)

SPINS: Final = 10
YIELDS: Final = 20
SHORTEST_PARK_NS: Final = 1_000
LONGEST_PARK_NS: Final = 64_000
SLEEP_NS: Final = 1_000_000

SPIN: Final = 0
YIELD: Final = -1


class Idler:
    """The idling of one loop: call ``idle`` after a turn without work, and ``reset`` after a turn with work.

    >>> idler = Idler("sleep")
    >>> idler.next_pause()
    1000000
    """

    def __init__(self, strategy: IdleName = "backoff") -> None:
        if strategy not in IDLE_NAMES:
            raise ValueError(f"idle strategy {strategy!r} is none of {', '.join(IDLE_NAMES)}")
        self._strategy = strategy
        self.reset()

    def reset(self) -> None:
        """Note that there was work: the next pause is the shortest again."""
        self._empty_turns = 0
        self._park_ns = SHORTEST_PARK_NS

    def next_pause(self) -> int:
        """Decide the next pause without making it: ``SPIN``, ``YIELD``, or nanoseconds to park."""
        match self._strategy:
            case "busy":
                return SPIN
            case "yield":
                return YIELD
            case "sleep":
                return SLEEP_NS
            case _:
                return self._back_off()

    def _back_off(self) -> int:
        if self._empty_turns < SPINS + YIELDS:
            self._empty_turns += 1
            return SPIN if self._empty_turns <= SPINS else YIELD
        park_ns, self._park_ns = self._park_ns, min(self._park_ns * 2, LONGEST_PARK_NS)
        return park_ns

    def idle(self) -> None:
        """Pause once."""
        pause = self.next_pause()
        if pause == YIELD:
            os.sched_yield()
        elif pause != SPIN:
            time.sleep(pause / 1e9)


def sleep_ns(duration_ns: int) -> None:
    """Sleep, in a wait that is not the idling of a loop."""
    time.sleep(duration_ns / 1e9)
