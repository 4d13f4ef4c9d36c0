# SPDX-License-Identifier: Apache-2.0
"""Extents: ranges of rows with their sizes, and decisions about them. Pure: no file, no Spark."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

PARTITION_BYTES: Final = 16 << 20
"""The least bytes for a task of its own: the way to its Python worker alone takes 30 ms."""


class Extent(NamedTuple):
    """A sealed batch, or a part of one."""

    first_row: int
    end_row: int
    column_bytes: int

    @property
    def rows(self) -> int:
        """How many."""
        return self.end_row - self.first_row

    def cut(self, first_row: int, end_row: int) -> Extent:
        """The part inside a range. Its bytes are estimated as if all rows were alike."""
        first, end = max(self.first_row, first_row), min(self.end_row, end_row)
        return Extent(first, end, self.column_bytes * max(end - first, 0) // max(self.rows, 1))

    def rows_within(self, bytes_max: int) -> int:
        """How many of its rows fit into this many bytes."""
        return self.rows if self.column_bytes <= bytes_max else self.rows * max(bytes_max, 0) // self.column_bytes


@dataclass(frozen=True, slots=True)
class Limit:
    """How much a micro-batch may hold; None for no limit."""

    rows_max: int | None = None
    bytes_max: int | None = None

    @property
    def is_none(self) -> bool:
        """Whether there is no limit."""
        return self.rows_max is None and self.bytes_max is None

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more fits. Every row has some bytes, if only for its number."""
        return 0 in (self.rows_max, self.bytes_max)

    def share(self, sharers: int) -> Limit:
        """One of ``sharers`` equal parts of this limit."""
        return Limit(*(None if most is None else most // sharers for most in (self.rows_max, self.bytes_max)))

    def less(self, used: Extent) -> Limit:
        """What is left of the limit."""
        return Limit(
            None if self.rows_max is None else max(self.rows_max - used.rows, 0),
            None if self.bytes_max is None else max(self.bytes_max - used.column_bytes, 0),
        )


def admit(extents: Sequence[Extent], limit: Limit) -> Extent:
    """How far a micro-batch goes that begins with the first extent. Both limits apply.

    >>> admit([Extent(0, 10, 1000), Extent(10, 20, 1000)], Limit(bytes_max=1500))
    Extent(first_row=0, end_row=15, column_bytes=1500)
    """
    first = extents[0].first_row
    taken = Extent(first, first, 0)
    for extent in extents:
        left = limit.less(taken)
        rows = extent.rows if left.rows_max is None else min(extent.rows, left.rows_max)
        if left.bytes_max is not None:
            rows = min(rows, extent.rows_within(left.bytes_max))
        part = extent.cut(extent.first_row, extent.first_row + rows)
        taken = Extent(first, part.end_row, taken.column_bytes + part.column_bytes)
        if rows < extent.rows:
            break
    return taken


def partition(extents: Sequence[Extent], *, cores: int, wanted: int | None = None) -> list[tuple[int, int]]:
    """Cut a range into contiguous ranges of about the same size, at batch boundaries.

    There is about one range for each core, if there is enough to do. There are at least ``wanted`` if that is given and
    there are as many rows; then batches are cut too.
    """
    whole = [extent for extent in extents if extent.rows]
    if not whole:
        return []
    total_bytes, rows = sum(extent.column_bytes for extent in whole), whole[-1].end_row - whole[0].first_row
    count = max(1, min(cores, math.ceil(total_bytes / PARTITION_BYTES)))
    if wanted is not None and wanted > count:
        count = min(wanted, rows)
        whole = _refined(whole, count)
    return _grouped(whole, count)


def _refined(extents: Sequence[Extent], count: int) -> list[Extent]:
    """Batches cut into pieces, so that there are at least ``count`` of them."""
    if len(extents) >= count:
        return list(extents)
    first, rows = extents[0].first_row, extents[-1].end_row - extents[0].first_row
    cuts = [first + rows * number // count for number in range(count + 1)]
    pieces = list[Extent]()
    for begin, end in itertools.pairwise(cuts):
        size = sum(extent.cut(begin, end).column_bytes for extent in extents if _overlaps(extent, begin, end))
        pieces.append(Extent(begin, end, size))
    return pieces


def _overlaps(extent: Extent, first_row: int, end_row: int) -> bool:
    return extent.first_row < end_row and first_row < extent.end_row


def _grouped(extents: Sequence[Extent], count: int) -> list[tuple[int, int]]:
    """Neighbours put together into ``count`` groups, each as near to its share of bytes as possible."""
    total_bytes = sum(extent.column_bytes for extent in extents)
    groups = list[tuple[int, int]]()
    begin, seen_bytes = extents[0].first_row, 0
    for index, (extent, following) in enumerate(itertools.pairwise(extents)):
        seen_bytes += extent.column_bytes
        groups_after = count - len(groups) - 1
        extents_after = len(extents) - index - 1
        # A group ends if most of the next extent belongs to the next share, or if each later group needs an extent.
        is_full = seen_bytes + following.column_bytes // 2 > total_bytes * (len(groups) + 1) // count
        if groups_after and (is_full or extents_after <= groups_after):
            groups.append((begin, extent.end_row))
            begin = extent.end_row
    groups.append((begin, extents[-1].end_row))
    return groups
