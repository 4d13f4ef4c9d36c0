# SPDX-License-Identifier: Apache-2.0
"""The ids that one run of a coordinator issues, for checkpoints and signals: chosen, stored durably, and only then told
(P14).

>>> ids = Ids(IssuedIds(11, 3))
>>> ids.next(), ids.stored
(IssuedIds(last_checkpoint_id=12, epoch=3), 11)
>>> ids.note_stored(12)
>>> ids.stored
12
"""

from __future__ import annotations

from typing import Final

from framegate.joinbarrier.checkpoint.coordinator.actions import IssuedIds

ID_MAX: Final = (1 << 63) - 1
"""The highest possible id. An operator that claims to have seen a higher one is mistaken: no coordinator comes that
far.
"""


class Ids:
    """One strictly increasing sequence of ids."""

    def __init__(self, issued: IssuedIds) -> None:
        self.epoch: Final = issued.epoch
        """The epoch of this run of the coordinator."""
        self._highest = issued.last_checkpoint_id
        self._stored = issued.last_checkpoint_id

    @property
    def stored(self) -> int:
        """The highest id that anybody was told."""
        return self._stored

    @property
    def are_used_up(self) -> bool:
        """Whether no id is left."""
        return self._highest >= ID_MAX

    def meet(self, checkpoint_id: int) -> None:
        """Note an id that an operator has seen. Its aligners ignore ids at or below it as old, so none of those is of
        use.
        """
        self._highest = max(self._highest, checkpoint_id)

    def next(self) -> IssuedIds:
        """Choose a new id. Nobody is told it until it is stored; if it never is, it is not used again."""
        self._highest += 1
        return IssuedIds(self._highest, self.epoch)

    def note_stored(self, checkpoint_id: int) -> None:
        """Note that an id is stored."""
        self._stored = max(self._stored, checkpoint_id)
