# SPDX-License-Identifier: Apache-2.0
"""When a coordinator does what time alone asks for: checkpoints by an interval, announces; and nothing too early.

>>> schedule = Schedule(CoordinatorRules(pipeline="default", store="/data/ck"))
>>> schedule.look(0)
>>> schedule.is_settled(2_999_999_999), schedule.is_settled(3_000_000_000)
(False, True)
"""

from __future__ import annotations

from framegate.joinbarrier.checkpoint.coordinator.actions import CoordinatorRules


class Schedule:
    """Of one life. It begins with the first look at the time."""

    def __init__(self, rules: CoordinatorRules) -> None:
        self._rules = rules
        self._settled_ns: int | None = None
        self._due_ns = 0
        self._announce_ns = 0

    def look(self, now_ns: int) -> None:
        """The time, before each event."""
        if self._settled_ns is None:
            self._settled_ns = now_ns + self._rules.operator_timeout_ns
            self._due_ns = now_ns + self._rules.interval_ns

    def is_settled(self, now_ns: int) -> bool:
        """Before all operators had time to say hello, a checkpoint would miss some of them."""
        return self._settled_ns is not None and now_ns >= self._settled_ns

    def is_due(self, now_ns: int) -> bool:
        """Whether the interval asks for a checkpoint."""
        return bool(self._rules.interval_ns) and now_ns >= self._due_ns

    def begins(self, now_ns: int) -> None:
        """A checkpoint. The next is due from now, not from when this was: missed intervals give one checkpoint."""
        self._due_ns = now_ns + self._rules.interval_ns

    def is_announce_due(self, now_ns: int) -> bool:
        """Whether what holds was not said for a whole period."""
        return now_ns >= self._announce_ns

    def announces(self, now_ns: int) -> None:
        """What holds is said now."""
        self._announce_ns = now_ns + self._rules.announce_period_ns
