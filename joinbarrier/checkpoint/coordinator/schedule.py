# SPDX-License-Identifier: Apache-2.0
"""When a coordinator does what only time asks for: periodic checkpoints and announces, and nothing too early.

>>> schedule = Schedule(CoordinatorRules(pipeline="default", store="/data/ck"))
>>> schedule.look(0)
>>> schedule.is_settled(2_999_999_999), schedule.is_settled(3_000_000_000)
(False, True)
"""

from __future__ import annotations

from framegate.joinbarrier.checkpoint.coordinator.actions import CoordinatorRules


class Schedule:
    """The schedule of one run of a coordinator. It begins with the first look at the time."""

    def __init__(self, rules: CoordinatorRules) -> None:
        self._rules = rules
        self._settled_ns: int | None = None
        self._due_ns = 0
        self._announce_ns = 0

    def look(self, now_ns: int) -> None:
        """Note the time, before each event."""
        if self._settled_ns is None:
            self._settled_ns = now_ns + self._rules.operator_timeout_ns
            self._due_ns = now_ns + self._rules.interval_ns

    def is_settled(self, now_ns: int) -> bool:
        """Whether all operators had time to say hello. A checkpoint before that would miss some of them."""
        return self._settled_ns is not None and now_ns >= self._settled_ns

    def is_due(self, now_ns: int) -> bool:
        """Whether the interval asks for a checkpoint."""
        return bool(self._rules.interval_ns) and now_ns >= self._due_ns

    def begins(self, now_ns: int) -> None:
        """Note that a checkpoint begins. The next is due from now on, so that missed intervals give only one
        checkpoint.
        """
        self._due_ns = now_ns + self._rules.interval_ns

    def is_announce_due(self, now_ns: int) -> bool:
        """Whether the pipeline was not announced for a whole period."""
        return now_ns >= self._announce_ns

    def announces(self, now_ns: int) -> None:
        """Note that the pipeline is announced now."""
        self._announce_ns = now_ns + self._rules.announce_period_ns
