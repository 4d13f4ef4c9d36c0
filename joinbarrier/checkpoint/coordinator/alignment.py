# SPDX-License-Identifier: Apache-2.0
"""Decides whether a pipeline's next checkpoint may be unaligned, and whether its threshold makes too many of them so
(B24).

>>> alignment = Alignment(CoordinatorRules(pipeline="default", store="/data/ck"), Counter())
>>> alignment.is_next_unaligned(is_asked=True)
True
>>> alignment.aborted(AbortCause.SERIALISATION_FAILED)
>>> alignment.is_next_unaligned(is_asked=True), alignment.is_aligned_next
(False, True)
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from framegate.joinbarrier.checkpoint.coordinator.actions import Action, CoordinatorRules, Stored, Warn
from framegate.schema.control import AbortCause

UNALIGNED_IN_A_ROW: Final = 5
"""After so many checkpoints in a row that the threshold made unaligned, the threshold is too low or an input too slow
(B24).
"""
_ALIGNED_NEXT: Final = (AbortCause.SERIALISATION_FAILED, AbortCause.CHANNEL_READ_FAILED)


class Alignment:
    """What recent checkpoints of a pipeline mean for the next one."""

    def __init__(self, rules: CoordinatorRules, counts: Counter[str]) -> None:
        self.is_aligned_next = False
        """Whether the next checkpoint must be aligned, because the previous one failed in a way that only an unaligned
        one can.
        """
        self._rules = rules
        self._counts = counts
        self._unaligned_in_a_row = 0

    def is_next_unaligned(self, *, is_asked: bool) -> bool:
        """Whether the next checkpoint is unaligned from its start. ``is_asked``: a request wants that."""
        is_wanted = is_asked or self._rules.is_forced
        return is_wanted and self._rules.is_unaligned_allowed and not self.is_aligned_next

    def aborted(self, cause: AbortCause) -> None:
        """Note that a checkpoint was aborted."""
        self.is_aligned_next = cause in _ALIGNED_NEXT

    def stored(self, stored: Stored) -> list[Action]:
        """Note that a checkpoint is complete. One that was requested unaligned says nothing about the threshold."""
        self.is_aligned_next = False
        if stored.was_threshold_triggered:
            self._unaligned_in_a_row += 1
        elif not stored.is_unaligned:
            self._unaligned_in_a_row = 0
        if not stored.was_threshold_triggered or self._unaligned_in_a_row % UNALIGNED_IN_A_ROW:
            return []
        self._counts["unaligned_warnings"] += 1
        many = f"{self._unaligned_in_a_row} checkpoints of pipeline {self._rules.pipeline} in a row"
        key = f"checkpoint.{self._rules.pipeline}.alignment_timeout_ms = {self._rules.alignment_timeout_ms}"
        return [Warn(f"{many} became unaligned: an input is slow, or the threshold {key} is too low")]
