# SPDX-License-Identifier: Apache-2.0
"""How much of a micro-batch's limit each of several journals gets. Pure: no file, no server, no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from framegate.joinbarrier.tables.extents import Extent, Limit, admit


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rows of one journal that a micro-batch may take, and how far it is known where they lie."""

    first_row: int
    end_row: int
    extents: Sequence[Extent]

    @property
    def rows(self) -> int:
        """How many wait."""
        return self.end_row - self.first_row

    def taken(self, share: Limit) -> Extent:
        """What fits into a share of what is known."""
        if not self.extents:
            return Extent(self.first_row, self.end_row, 0)  # All of it is gone, and that is wished.
        fits = admit(self.extents, share)
        if not fits.rows:
            return Extent(self.first_row, self.first_row, 0)
        return Extent(self.first_row, fits.end_row, fits.column_bytes)

    def is_short(self, share: Limit) -> bool:
        """Whether the share may hold more than what is known."""
        taken = self.taken(share)
        is_all = bool(self.extents) and taken.end_row == self.extents[-1].end_row
        return is_all and taken.end_row < self.end_row and not share.less(taken).is_used_up


def shared(waiting: Mapping[str, Waiting], limit: Limit) -> tuple[dict[str, Extent], list[str]]:
    """What is taken of each journal, and of which of them more has to be known before that is certain.

    Every journal gets an equal share; what one does not need is left to the others.

    >>> few, many = Waiting(0, 1, [Extent(0, 1, 8)]), Waiting(0, 9, [Extent(0, 9, 72)])
    >>> taken, _ = shared({"many": many, "few": few}, Limit(rows_max=6))
    >>> taken["few"].rows, taken["many"].rows
    (1, 5)
    """
    found, short, left = dict[str, Extent](), list[str](), limit
    by_need = sorted(waiting, key=lambda path: waiting[path].rows)
    for index, path in enumerate(by_need):
        share = left.share(len(by_need) - index)
        if waiting[path].is_short(share):
            short.append(path)
        found[path] = waiting[path].taken(share)
        left = left.less(found[path])
    return found, short


def shares_to_know(limit: Limit, journals: int) -> Iterator[Limit]:
    """How far to ask, each time of the journals that are still short: twice as far as before, and at last the whole
    limit, of which nobody gets more."""
    while journals > 1:
        yield limit.share(journals)
        journals //= 2
    yield limit
