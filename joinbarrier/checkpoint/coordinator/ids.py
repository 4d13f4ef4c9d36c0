# SPDX-License-Identifier: Apache-2.0
"""The ids of one coordinator's life, for checkpoints and signals alike: chosen, made to last, and only then told (P14).

>>> ids = Ids(IssuedIds(11, 3))
>>> ids.next(), ids.lasting
(IssuedIds(last_checkpoint_id=12, epoch=3), 11)
>>> ids.lasts(12)
>>> ids.lasting
12
"""

from __future__ import annotations

from typing import Final

from framegate.joinbarrier.checkpoint.coordinator.actions import IssuedIds

ID_MAX: Final = (1 << 63) - 1
"""Whoever claims to have met a higher one is mistaken: no coordinator comes that far."""


class Ids:
    """One strictly increasing sequence."""

    def __init__(self, issued: IssuedIds) -> None:
        self.epoch: Final = issued.epoch
        """This life's own."""
        self._highest = issued.last_checkpoint_id
        self._lasting = issued.last_checkpoint_id

    @property
    def lasting(self) -> int:
        """The highest that anybody was told of."""
        return self._lasting

    @property
    def are_used_up(self) -> bool:
        """Whether none is left."""
        return self._highest >= ID_MAX

    def meet(self, checkpoint_id: int) -> None:
        """Somebody has met this one. Its aligners ignore what they take for old: none at or below it is of any use."""
        self._highest = max(self._highest, checkpoint_id)

    def next(self) -> IssuedIds:
        """A new one. Until it lasts it is told to nobody; if it never does, it is not used again."""
        self._highest += 1
        return IssuedIds(self._highest, self.epoch)

    def lasts(self, checkpoint_id: int) -> None:
        """The store has it."""
        self._lasting = max(self._lasting, checkpoint_id)
