# SPDX-License-Identifier: Apache-2.0
"""Which checkpoints are over for an operator, and how they ended."""

from __future__ import annotations

from collections import deque
from typing import Final

from framegate.joinbarrier.checkpoint.actions import Kind

ABORTED_REMEMBERED: Final = 64
"""Beyond these, an aborted id is only stale: it is ignored all the same."""


class History:
    """Ids at or below ``highest`` are over. A restored operator starts with its checkpoint as ``floor`` (P14)."""

    def __init__(self, floor: int) -> None:
        self.highest = floor
        self._aborted = deque[int](maxlen=ABORTED_REMEMBERED)

    def finish(self, checkpoint_id: int) -> None:
        """A checkpoint was snapshotted and is done with."""
        self.highest = max(self.highest, checkpoint_id)

    def abort(self, checkpoint_id: int) -> None:
        """A checkpoint was aborted or cancelled: its late barriers are to be ignored (B11)."""
        self.highest = max(self.highest, checkpoint_id)
        if checkpoint_id not in self._aborted:
            self._aborted.append(checkpoint_id)

    def verdict(self, checkpoint_id: int, current_id: int = 0) -> str | None:
        """Why a barrier is ignored; None for one that begins something. Lower than the current one is stale (B9)."""
        if checkpoint_id > max(self.highest, current_id):
            return None
        return Kind.IGNORED_ABORTED if checkpoint_id in self._aborted else Kind.IGNORED_STALE
