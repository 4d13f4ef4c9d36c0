# SPDX-License-Identifier: Apache-2.0
"""Aligns signals of every upstream by count alone: it does not know which upstream sent one."""

from __future__ import annotations

from framegate.joinbarrier.checkpoint.signals import Arrival, Key


class SignalCounter:
    """Counts arrivals of the one pending signal. A refused arrival changes nothing.

    Ids of a kind only grow. So an id at or below the newest complete one of its kind is a repeat. It must not become
    pending, because nobody would ever complete it, and every later signal would overlap.
    """

    def __init__(self, expected_upstreams: int) -> None:
        self.expected = expected_upstreams
        self.ended = 0
        self.pending: Key | None = None
        self._arrived = 0
        self._last: Key | None = None
        self._complete = dict[int, int]()
        """For each kind, the highest id that was complete."""

    def arrive(self, key: Key) -> Arrival:
        """Count a signal that one upstream delivered."""
        if self.pending is not None and key != self.pending:
            return Arrival.OVERLAPPING
        barrier_id, kind = key
        if barrier_id <= self._complete.get(kind, -1) or self.ended >= self.expected:
            return Arrival.DUPLICATE
        if self.pending is None:
            self.pending, self._arrived = key, self.ended
        return self._one_more()

    def end(self, *, has_delivered: bool) -> Arrival | None:
        """Note that an upstream has ended: it counts as delivering every later signal, and the pending one unless it
        already had.

        None if more upstreams have ended than there are.
        """
        if self.ended >= self.expected:
            return None
        self.ended += 1
        return Arrival.PENDING if self.pending is None or has_delivered else self._one_more()

    def _one_more(self) -> Arrival:
        self._arrived += 1
        if self._arrived < self.expected:
            return Arrival.PENDING
        assert self.pending is not None  # noqa: S101  (only a pending signal has arrivals)
        barrier_id, kind = self._last = self.pending
        self.pending, self._complete[kind] = None, barrier_id
        return Arrival.COMPLETE

    @property
    def last(self) -> Key | None:
        """The signal that became complete most recently."""
        return self._last
