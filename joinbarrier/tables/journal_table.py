# SPDX-License-Identifier: Apache-2.0
"""One table of one local journal, for queries: where it begins and ends, where its batches are, and the batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import numpy as np
from framegate.joinbarrier.journal.batch import Batch, BatchPlace
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import HeadWord, Table
from framegate.joinbarrier.journal.loss import dropped
from framegate.joinbarrier.journal.readers import NamedReader, renew
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.journal.walk import Found, OnLoss, Spot, Walk
from framegate.joinbarrier.tables.extents import Extent, Limit
from framegate.joinbarrier.tables.offsets import Position
from framegate.joinbarrier.tables.source_table import Origin
from framegate.schema.errors import JournalRecreated, WrongOffset
from framegate.shmpool.idle import sleep_ns

_LOOK_AGAIN_NS: Final = 1_000_000
_LOOKS: Final = 200
"""How often missing rows are looked for again: a segment that is being renamed hides its rows for a moment."""


class JournalTable:
    """A table, opened for one query, one partition or one question. Raises JournalMissing, JournalDamaged or
    JournalNewer.

    ``path`` is the name that the query uses for the journal; ``origin`` is its location, if a server described it.
    """

    def __init__(self, path: str, table: Table, on_loss: OnLoss = "error", *, origin: Origin | None = None) -> None:
        self.path = path
        self.table: Table = table
        self.journal = Journal(path if origin is None else origin.directory)
        self.origin = origin
        self.epoch = self.journal.journal_epoch
        self._on_loss: OnLoss = on_loss
        self._head: Head | None = None
        self._extents = list[Extent]()
        self._spots = list[Spot]()
        """The place of the batch of each extent."""
        self._places: Walk[BatchPlace] | None = None

    @property
    def is_far(self) -> bool:
        """Always False: the journal is mapped."""
        return False

    @property
    def identity(self) -> tuple[int, int]:
        """The identity of the journal's directory. Links and addresses are only names for it."""
        found = self.journal.path.stat()
        return found.st_dev, found.st_ino

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the journal's inputs."""
        return tuple(each.name for each in self.journal.info.inputs)

    @property
    def place(self) -> str:
        """The location of the journal, for people."""
        return str(self.journal.path)

    @property
    def reader_lease_s(self) -> int:
        """The seconds for which a silent reader keeps its rows."""
        return self.journal.info.reader_lease_s

    def claim(self, name: str, first_row: int) -> NamedReader:
        """Claim a reader's name. A new reader begins at ``first_row``."""
        return NamedReader.claim(self.journal.path, name, journal_epoch=self.epoch, first_row=first_row)

    def renew(self, name: str, claim: int) -> None:
        """Renew a claim's lease. Raises ReaderFenced."""
        renew(self.journal.path, name, claim)

    def check_epoch(self, wanted: int) -> None:
        """Raise JournalRecreated if an offset is of another epoch of the journal."""
        if wanted != self.epoch:
            raise self._recreated(wanted, self.epoch)

    def _check_alive(self, present: int) -> None:
        if present != self.epoch:
            raise self._recreated(self.epoch, present)

    def _recreated(self, want: int, have: int) -> JournalRecreated:
        return JournalRecreated(
            "the journal began anew, and rows count from 0 again",
            path=self.journal.path,
            want=want,
            have=have,
        )

    def first_row(self) -> int:
        """The oldest row that the journal still holds."""
        return self.journal.first_row if self.table == "rows" else self.journal.unmatched_rows[0]

    def sealed_row(self) -> int:
        """The row after the last sealed one, according to the segments."""
        return self.journal.sealed_row if self.table == "rows" else self.journal.unmatched_rows[1]

    def latest_row(self) -> int:
        """The row after the last sealed one, according to the head file, which is fast to read.

        Raises JournalRecreated or JournalMissing.
        """
        if self._head is None or self._head.is_replaced():
            self._head = Head.open(self.journal.path)
        if self._head is None:
            self._check_alive(self.journal.info.journal_epoch)
            return self.sealed_row()
        self._check_alive(self._head.journal_epoch)
        return self._head.next_row if self.table == "rows" else self._head[HeadWord.UNMATCHED_ROWS]

    def position(self, row: int) -> Position:
        """The position of a row in this epoch of the journal."""
        return Position(self.epoch, row)

    # --- where batches lie -------------------------------------------------------------------------------------

    def extents(
        self,
        first_row: int,
        end_row: int,
        limit: Limit | None = None,
        *,
        spot: Spot | None = None,
        most: int | None = None,
    ) -> list[Extent]:
        """The sealed batches of a range, the first and last cut to it. They end where ``limit`` is reached, or after
        ``most``.

        ``spot``: the place of a batch at or before the first row, if it is known.

        If ``on_loss`` allows it, rows that are gone are left out; otherwise they raise DataLoss. Raises WrongOffset if
        the journal ends before the range does.
        """
        self._stand_at(first_row, spot)
        found, left = list[Extent](), limit or Limit()
        for extent in self._known_from(first_row, end_row):
            part = extent.cut(first_row, end_row)
            if part.rows:
                found.append(part)
                left = left.less(part)
            if left.is_used_up or len(found) == most:
                break
        return found

    def forget(self, before_row: int) -> None:
        """Forget the places of rows before this one, which will not be asked for again."""
        while self._extents and self._extents[0].end_row <= before_row:
            self._extents.pop(0)
            self._spots.pop(0)

    def spot(self, row: int) -> Spot | None:
        """The place of the batch with this row; None if ``extents`` has not passed it."""
        index = bisect_right(self._extents, row, key=lambda extent: extent.first_row) - 1
        return self._spots[index] if index >= 0 else None

    def _stand_at(self, first_row: int, spot: Spot | None) -> None:
        is_known = self._extents and self._extents[0].first_row <= first_row
        is_next = self._places is not None and not self._extents and self._places.position == first_row
        if self._places is None or not (is_known or is_next):
            self._extents.clear()
            self._spots.clear()
            start = first_row if self.table == "rows" else None
            self._places = self.journal.places(self.table, start=start, on_loss=self._on_loss, spot=spot)

    def _known_from(self, first_row: int, end_row: int) -> Iterator[Extent]:
        self.forget(first_row)
        index, seen_row = 0, first_row
        while seen_row < end_row:
            if index == len(self._extents) and not self._learn():
                raise self._ends_early(end_row, seen_row)
            extent = self._extents[index]
            index += 1
            self._check_gap(seen_row, min(extent.first_row, end_row))
            seen_row = extent.end_row
            yield extent

    def _learn(self) -> bool:
        """Find the place of the next batch. Returns whether there is one."""
        assert self._places is not None  # noqa: S101 - made by _stand_at
        place = _looked_for(self._places)
        if place is None:
            return False
        assert self._places.segment is not None  # noqa: S101 - it has just given a place
        self._extents.append(Extent(place.first_row, place.end_row, place.column_bytes))
        self._spots.append(Spot(self._places.segment.name.ordinal, place.message.offset, place.first_row))
        return True

    def _check_gap(self, seen_row: int, next_row: int) -> None:
        # For rows, the walk itself reports a gap. Segments of unmatched frames do not say at what row they begin.
        if seen_row < next_row and self._on_loss == "error":
            raise dropped(self.journal.path, seen_row, next_row)

    def _ends_early(self, want: int, have: int) -> WrongOffset:
        return WrongOffset("the journal ends before this row", path=self.journal.path, want=want, have=have)

    def next_checkpoint(self, first_row: int, end_row: int) -> int:
        """The first row in the range that belongs to a later checkpoint than its first row; the range's end if none
        does."""
        wanted: int | None = None
        for batch, _ in self.batches(first_row, end_row) if first_row < end_row else ():
            column = batch.record_batch.column("checkpoint_id").fill_null(0).to_numpy()
            begin = max(first_row - batch.first_row, 0)
            ids = column[begin : end_row - batch.first_row]
            if wanted is None:
                wanted = int(ids[0])
            others = np.flatnonzero(ids != wanted)
            if len(others):
                return batch.first_row + begin + int(others[0])
        return end_row

    def joined_us(self, row: int) -> int:
        """When a row was joined, in microseconds since 1970. Raises DataLoss if the row is gone."""
        for batch, _ in self.batches(row, row + 1):
            return int(batch.record_batch.column("joined_at")[row - batch.first_row].value)
        raise dropped(self.journal.path, row, row + 1)

    # --- the batches themselves --------------------------------------------------------------------------------

    def batches(self, first_row: int, end_row: int, spot: Spot | None = None) -> Iterator[tuple[Batch, Segment]]:
        """The whole batches of a range, each with its segment. Raises DataLoss, or WrongOffset if the journal ends
        early.

        ``spot``: the place of the first batch, if it is known.
        """
        start = first_row if self.table == "rows" else None
        walk = self.journal.walk(self.table, start=start, on_loss=self._on_loss, spot=spot)
        seen_row = first_row
        while seen_row < end_row:
            batch = _looked_for(walk)
            if batch is None:
                raise self._ends_early(end_row, seen_row)
            if batch.end_row <= seen_row:
                continue
            self._check_gap(seen_row, min(batch.first_row, end_row))
            seen_row = batch.end_row
            assert walk.segment is not None  # noqa: S101 - it has just given a batch
            if batch.first_row < end_row:
                yield batch, walk.segment


def _looked_for(walk: Walk[Found]) -> Found | None:
    """The next batch of a walk. Its rows were promised, so this waits for it a little; None if it does not come."""
    for _ in range(_LOOKS):
        found = walk.next()
        if found is not None:
            return found
        sleep_ns(_LOOK_AGAIN_NS)
    return None
