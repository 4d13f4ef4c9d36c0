# SPDX-License-Identifier: Apache-2.0
"""Sealed batches in their order, over all segments of a table, while the writer goes on.

A walk never waits: it answers None where nothing more was sealed, and can be asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Literal, NamedTuple, TypeVar

import pyarrow as pa
from framegate.joinbarrier.journal.batch import BatchPlace
from framegate.joinbarrier.journal.layout import SegmentName, Table, segment_names
from framegate.joinbarrier.journal.loss import dropped
from framegate.joinbarrier.journal.message import Ending
from framegate.joinbarrier.journal.naming import naming
from framegate.joinbarrier.journal.schema import check_schema
from framegate.joinbarrier.journal.segments import Segment
from framegate.schema.errors import JournalDamaged, JournalRecreated

OnLoss = Literal["error", "skip"]
Found = TypeVar("Found", bound=BatchPlace)
_LISTINGS: Final = 16
"""A listing beside renames can miss a file; how often it is repeated before what is missing counts as gone."""


class Spot(NamedTuple):
    """Where somebody has seen a batch. It only saves the way there: what lies there is looked at as anywhere else."""

    ordinal: int
    """Of its segment."""
    offset: int
    first_row: int


class Walk(Generic[Found]):
    """A place in a table. ``start_row`` None begins with the oldest segment; ``spot``: a batch not behind that row.

    ``read`` says what is wanted of a batch: ``Segment.read``, or ``Segment.place``.
    """

    def __init__(
        self,
        directory: Path,
        table: Table,
        schema: pa.Schema,
        journal_epoch: int,
        read: Callable[[Segment, int], Found | Ending],
        *,
        start_row: int | None = None,
        on_loss: OnLoss = "error",
        on_segment: Callable[[Segment], None] | None = None,
        spot: Spot | None = None,
    ) -> None:
        self._directory, self._table = directory, table
        self._spot = spot
        self._schema, self._journal_epoch = schema, journal_epoch
        self._read_at, self._on_loss, self._on_segment = read, on_loss, on_segment
        self._offset = 0
        self.next_row = start_row
        """Rows before it are not given."""
        self.position: int | None = None
        """The row that follows the last batch that was looked at."""
        self.lost_rows = 0
        self.segment: Segment | None = None
        """Where the walk stands."""

    def next(self) -> Found | None:
        """The next batch, or None while there is none. Raises DataLoss, JournalDamaged or JournalRecreated."""
        while True:
            if self.segment is None and not self._enter(None):
                return None
            batch = self._read()
            if batch is None:
                if not self._go_on():
                    return None
            elif not self._is_behind(batch):
                return batch

    def _read(self) -> Found | None:
        assert self.segment is not None  # noqa: S101 - asked only inside a segment
        found = self._read_at(self.segment, self._offset)
        if isinstance(found, Ending):
            return None
        if self.position is not None and found.first_row != self.position:
            raise JournalDamaged(
                "rows do not follow each other", path=self.segment.path, want=self.position, have=found.first_row
            )
        self._offset, self.position = found.message.end, found.end_row
        return found

    def _is_behind(self, batch: Found) -> bool:
        """Whether all of it lies before the rows that are wanted. What is given is also taken."""
        if self._table != "rows":
            return False
        want = self.next_row or 0
        if batch.end_row <= want and batch.first_row < want:
            return True
        self.next_row = max(batch.end_row, want)
        return False

    def _go_on(self) -> bool:
        """The segment has no further batch now: go to its successor, if there is one. Whether to read again."""
        current = self.segment
        assert current is not None  # noqa: S101 - asked only inside a segment
        if not any(name.ordinal > current.name.ordinal for name in segment_names(self._directory, self._table)):
            return False
        # A batch that was sealed before the successor came is seen now at the latest.
        if not isinstance(current.place(self._offset), Ending):
            return True
        return self._enter(current)

    def _enter(self, before: Segment | None) -> bool:
        for _ in range(_LISTINGS):
            name, is_gap = self._choose(before)
            if name is None:
                return False
            if is_gap:
                continue  # Perhaps the listing only missed a file that was being renamed.
            segment = Segment.open(self._directory, name, self._table)
            if segment is not None:
                self._stand_at(segment, before)
                return True
        return self._over_the_gap(before)

    def _choose(self, before: Segment | None) -> tuple[SegmentName | None, bool]:
        """The segment to read now, and whether rows are missing before it."""
        names = segment_names(self._directory, self._table)
        if before is not None:
            names = [name for name in names if name.ordinal > before.name.ordinal]
        if not names:
            return None, False
        want = self.next_row if before is None else self.position
        if self._table != "rows" or want is None:
            return names[0], False
        reachable = [name for name in names if name.first_row is not None and name.first_row <= want]
        if before is not None:
            return names[0], names[0] not in reachable
        return (reachable[-1], False) if reachable else (names[0], True)

    def _over_the_gap(self, before: Segment | None) -> bool:
        """Rows are missing, or a file is not ready."""
        name, is_gap = self._choose(before)
        if name is None or not is_gap or name.first_row is None:
            return False
        first = max((self.next_row if before is None else self.position) or 0, self.next_row or 0)
        if first < name.first_row:
            self._lose(first, name.first_row)
        self.next_row = self.position = name.first_row
        self.segment = None
        return self._enter(None)

    def _lose(self, first: int, end: int) -> None:
        if self._on_loss == "error":
            raise dropped(self._directory, first, end)
        self.lost_rows += end - first

    def _stand_at(self, segment: Segment, before: Segment | None) -> None:
        epoch = segment.facts.journal_epoch
        if epoch != self._journal_epoch:
            raise JournalRecreated("the journal began anew", path=self._directory, want=self._journal_epoch, have=epoch)
        if segment.facts.table != self._table:
            raise JournalDamaged("a segment of the other table", path=segment.path, have=segment.facts.table)
        with naming(segment.path):
            check_schema(segment.schema, self._schema)
        first_row = segment.name.first_row
        if before is not None and first_row is not None and first_row != self.position:
            raise JournalDamaged("two segments overlap", path=segment.path, want=self.position, have=first_row)
        if self._on_segment is not None:
            self._on_segment(segment)
        self.segment, self._offset, self.position = segment, segment.first_offset, first_row
        if before is None:
            self._leap(segment)

    def _leap(self, segment: Segment) -> None:
        """Over the batches of the first segment that are not wanted, when it is known where to."""
        spot, self._spot = self._spot, None
        if spot is None or spot.ordinal != segment.name.ordinal or spot.first_row > (self.next_row or 0):
            return
        try:
            found = segment.place(spot.offset)
        except JournalDamaged:
            return  # Where no batch begins anything may lie.
        if not isinstance(found, Ending) and found.first_row == spot.first_row:
            self._offset, self.position = spot.offset, spot.first_row
