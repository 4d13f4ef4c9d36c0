# SPDX-License-Identifier: Apache-2.0
"""Output times that no input's frame gives: ticks of a clock, advances of the watermark, and pushed times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

OUT_TIMES_MAX: Final = 1024
"""Most times that wait to be outputs."""


class OutTimes:
    """The times of the next outputs. Ticks of a clock are computed, not stored."""

    def __init__(self, period_ns: int) -> None:
        self.period_ns = period_ns
        self.queue = list[int]()
        self.last_pushed: int | None = None
        self.next_tick: int | None = None
        self.clock_ns = 0

    @property
    def current(self) -> int | None:
        """The time of the next output, if it is due."""
        if self.queue:
            return self.queue[0]
        is_due = self.next_tick is not None and self.next_tick <= self.clock_ns
        return self.next_tick if is_due else None

    @property
    def due(self) -> Sequence[int]:
        """All times that are due, oldest first."""
        if self.queue or self.next_tick is None:
            return self.queue
        return range(self.next_tick, self.clock_ns + 1, self.period_ns)

    @property
    def horizon(self) -> int | None:
        """The smallest time that may still come, if that is known."""
        if self.next_tick is None:
            return self.last_pushed
        return self.next_tick + len(self.due) * self.period_ns

    def pop(self) -> None:
        """Remove the current time, which is done."""
        if self.queue:
            self.queue.pop(0)
        elif self.next_tick is not None:
            self.next_tick += self.period_ns

    def is_decreasing(self, time_ns: int) -> bool:
        """Whether a later time was pushed before."""
        return self.last_pushed is not None and time_ns < self.last_pushed

    def push(self, time_ns: int) -> bool:
        """Add a time; False if too many wait."""
        if len(self.queue) == OUT_TIMES_MAX:
            return False
        self.queue.append(time_ns)
        self.last_pushed = time_ns
        return True

    def new_epoch(self) -> None:
        """Allow times to start again, behind those that already wait."""
        self.last_pushed = self.queue[-1] if self.queue else None
