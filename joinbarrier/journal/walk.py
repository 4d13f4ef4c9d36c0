# SPDX-License-Identifier: Apache-2.0
"""Walks over sealed batches in order, through all segments of a table, while the writer goes on.

A walk never waits: it returns None if nothing more was sealed, and can be asked again.
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
"""How often a directory is listed before a missing file counts as gone: a listing during renames can miss one."""


class Spot(NamedTuple):
    """Where a batch was seen. It only saves the search; what lies there is checked like anything else."""

    ordinal: int
    """The ordinal of the batch's segment."""
    offset: int
    first_row: int


class Walk(Generic[Found]):
    """A position in a table. If ``start_row`` is None it begins with the oldest segment; ``spot`` names a batch at or
    before that row.

    ``read`` reads each batch: ``Segment.read``, or ``Segment.place`` without the columns.
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
        """Rows before this one are not returned."""
        self.position: int | None = None
        """The row after the most recently read batch."""
        self.lost_rows = 0
        self.segment: Segment | None = None
        """The segment that the walk reads."""

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
        """Whether a whole batch lies before the wanted rows. Any other batch is returned, so its rows are done."""
        if self._table != "rows":
            return False
        want = self.next_row or 0
        if batch.end_row <= want and batch.first_row < want:
            return True
        self.next_row = max(batch.end_row, want)
        return False

    def _go_on(self) -> bool:
        """Move to the segment's successor, if there is one, because it has no further batch now. True if there is more
        to read.
        """
        current = self.segment
        assert current is not None  # noqa: S101 - asked only inside a segment
        if not any(name.ordinal > current.name.ordinal for name in segment_names(self._directory, self._table)):
            return False
        # A batch that was sealed before the successor was made is visible by now.
        if not isinstance(current.place(self._offset), Ending):
            return True
        return self._enter(current)

    def _enter(self, before: Segment | None) -> bool:
        for _ in range(_LISTINGS):
            name, is_gap = self._choose(before)
            if name is None:
                return False
            if is_gap:
                continue  # The listing may have missed a file that was being renamed.
            segment = Segment.open(self._directory, name, self._table)
            if segment is not None:
                self._stand_at(segment, before)
                return True
        return self._over_the_gap(before)

    def _choose(self, before: Segment | None) -> tuple[SegmentName | None, bool]:
        """The segment to read next, and whether rows are missing before it."""
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
        """Skip rows that are missing, or raise; False if a file is only not ready."""
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
        """Skip the unwanted batches of the first segment, if ``spot`` says where to go."""
        spot, self._spot = self._spot, None
        if spot is None or spot.ordinal != segment.name.ordinal or spot.first_row > (self.next_row or 0):
            return
        try:
            found = segment.place(spot.offset)
        except JournalDamaged:
            return  # No batch begins there.
        if not isinstance(found, Ending) and found.first_row == spot.first_row:
            self._offset, self.position = spot.offset, spot.first_row
