# SPDX-License-Identifier: Apache-2.0
"""Remembers which checkpoints are over for an operator, and how they ended."""

from __future__ import annotations

from collections import deque
from typing import Final

from framegate.joinbarrier.checkpoint.actions import Kind

ABORTED_REMEMBERED: Final = 64
"""How many aborted ids are remembered. Barriers of older ones are ignored as stale."""


class History:
    """The ids of checkpoints that are over: all up to ``highest``. A restored operator begins with its checkpoint's id
    as ``floor`` (P14).
    """

    def __init__(self, floor: int) -> None:
        self.highest = floor
        self._aborted = deque[int](maxlen=ABORTED_REMEMBERED)

    def finish(self, checkpoint_id: int) -> None:
        """Note that a checkpoint was snapshotted, and is over."""
        self.highest = max(self.highest, checkpoint_id)

    def abort(self, checkpoint_id: int) -> None:
        """Note that a checkpoint was aborted or cancelled, so that its late barriers are ignored (B11)."""
        self.highest = max(self.highest, checkpoint_id)
        if checkpoint_id not in self._aborted:
            self._aborted.append(checkpoint_id)

    def verdict(self, checkpoint_id: int, current_id: int = 0) -> str | None:
        """Why a barrier is ignored; None if it begins a checkpoint. A barrier below the current one is stale (B9)."""
        if checkpoint_id > max(self.highest, current_id):
            return None
        return Kind.IGNORED_ABORTED if checkpoint_id in self._aborted else Kind.IGNORED_STALE
