# SPDX-License-Identifier: Apache-2.0
"""A journal, open for reading: rows as numpy views, batches, tables. Only a reader's own file is ever written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from framegate.joinbarrier.journal.batch import Batch, BatchPlace
from framegate.joinbarrier.journal.description import JournalDescription, read_description
from framegate.joinbarrier.journal.doorbell import Doorbell, take_away
from framegate.joinbarrier.journal.follow import Waiter
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.layout import Table, segment_names
from framegate.joinbarrier.journal.message import Ending
from framegate.joinbarrier.journal.readers import NamedReader, surveyed
from framegate.joinbarrier.journal.reading import RowReading
from framegate.joinbarrier.journal.row import Row
from framegate.joinbarrier.journal.schema import UNMATCHED_SCHEMA, rows_schema
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.journal.unmatched import counted, spread
from framegate.joinbarrier.journal.walk import Found, OnLoss, Spot, Walk
from framegate.schema.errors import JournalDamaged, JournalMissing
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

if TYPE_CHECKING:
    import pandas as pd


_LOOK_AGAIN_NS: Final = 20_000_000


def journal(path: str | os.PathLike[str], wait_s: float = 0.0) -> Journal:
    """Open a journal for reading, even while a join writes it. Raises JournalMissing, JournalDamaged, JournalNewer.

    ``wait_s`` is how long to wait for a join that is yet to start and make the journal.
    """
    deadline_ns = monotonic_ns() + wait_s * 1e9
    while True:
        try:
            return Journal(path)
        except JournalMissing as missing:
            if monotonic_ns() < deadline_ns:
                sleep_ns(_LOOK_AGAIN_NS)
                continue
            if wait_s > 0:
                missing.facts["waited_s"] = wait_s
            raise


class Journal:
    """An open journal, as ``framegate.journal(path)`` returns it. It keeps nothing open between two calls."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        description = read_description(self.path)
        self._journal_epoch = description.journal_epoch
        self._rows_schema = rows_schema([each.name for each in description.inputs])

    def __repr__(self) -> str:
        info = self.info
        inputs = ", ".join(each.name for each in info.inputs)
        first, past = self.first_row, self.next_row
        rows = f"rows {first} to {past - 1}" if past > first else "no rows"
        return f"<Journal {self.path}: {info.policy} join of {inputs}, {rows}>"

    def __len__(self) -> int:
        """How many rows exist now."""
        return self.next_row - self.first_row

    def __bool__(self) -> bool:
        """Always true: a journal without rows is still a journal."""
        return True

    def __iter__(self) -> Iterator[Row]:
        """The rows that exist now, oldest first. ``rows()`` can also wait, commit, and begin at a row."""
        with self.rows() as reading:
            yield from reading

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the rows to any Arrow program, such as Polars and DuckDB, without a copy of the mapped segments."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def journal_epoch(self) -> int:
        """The epoch of the journal when it was opened here."""
        return self._journal_epoch

    @property
    def info(self) -> JournalDescription:
        """The description of the journal: output stream, policy, inputs, maps so far."""
        return read_description(self.path)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return self._rows_schema

    @property
    def first_row(self) -> int:
        """The oldest row that still exists; equal to ``next_row`` if there is none."""
        names = segment_names(self.path, "rows")
        return (names[0].first_row or 0) if names else 0

    @property
    def next_row(self) -> int:
        """The next row to be sealed."""
        head = Head.open(self.path)
        if head is not None and head.journal_epoch == self._journal_epoch and head.is_closed:
            return head.next_row
        return self.sealed_row

    @property
    def sealed_row(self) -> int:
        """The next row to be sealed, as the segments say it, whatever the head says."""
        return self._end()[0]

    def rows(
        self,
        reader: str | None = None,
        *,
        follow: bool = False,
        start: int | None = None,
        stop: int | None = None,
        limit: int | None = None,
        on_loss: OnLoss = "error",
        timeout_s: float | None = None,
        until: Callable[[], bool] | None = None,
    ) -> RowReading:
        """Read rows from ``start`` to before ``stop``, at most ``limit``; by default from where the reader left off, or
        from the oldest.

        ``follow`` waits for more rows until the writer closes the journal, until ``timeout_s`` passes without any, or
        until ``until()`` is true, which is asked between rows and at least every 100 ms. A named reader holds back
        retention, and commits the rows it is done with. Raises DataLoss for rows that retention has dropped, unless
        ``on_loss`` is "skip".
        """
        named = None
        if reader is not None:
            named = NamedReader.claim(
                self.path,
                reader,
                journal_epoch=self._journal_epoch,
                first_row=self.first_row if start is None else start,
            )
            start = named.committed_row if start is None and not named.is_new else start
            # What readers left behind that were killed; a join that runs does the same.
            take_away(self.path, *surveyed(self.path, monotonic_ns()).expired)
        waiter = None
        if follow:
            bell = None if reader is None else Doorbell.make(self.path, reader)
            waiter = Waiter(self.path, self._journal_epoch, bell)
        walk = self.walk(start=start, on_loss=on_loss)
        return RowReading(walk, stop=stop, waiter=waiter, reader=named, limit=limit, timeout_s=timeout_s, until=until)

    def release(self, reader: str) -> None:
        """Take a reader's name away from whoever holds it, so that retention no longer waits for it."""
        NamedReader.claim(self.path, reader, journal_epoch=self._journal_epoch).release()
        take_away(self.path, reader)

    def batches(
        self, start: int | None = None, stop: int | None = None, *, on_loss: OnLoss = "error"
    ) -> Iterator[Batch]:
        """The sealed batches with rows in this range, whole, as far as they are sealed now."""
        walk = self.walk(start=start, on_loss=on_loss)
        while (batch := walk.next()) is not None and (stop is None or batch.first_row < stop):
            if batch.numbers.rows:
                yield batch

    def to_arrow(self, start: int | None = None, stop: int | None = None) -> pa.Table:
        """The rows as a table over the mapped segments, without a copy."""
        return pa.Table.from_batches(
            [_cut(batch, start, stop) for batch in self.batches(start, stop)], schema=self._rows_schema
        )

    def to_pandas(self, start: int | None = None, stop: int | None = None, *, flatten: bool = True) -> pd.DataFrame:
        """The rows as a pandas frame; ``flatten`` gives ``left.seq`` a column of its own.

        Integers become ``Int64``, which has nulls: pandas' default would make them floats, and times would lose digits.
        """
        import pandas as pd

        table = self.to_arrow(start, stop)
        kinds = {pa.int64(): pd.Int64Dtype()}
        return (table.flatten() if flatten else table).to_pandas(types_mapper=kinds.get)

    def unmatched(self, *, frame_by_frame: bool = False) -> pa.Table:
        """The frames that were not joined, with their causes, as far as sealed rows account for them.

        Each row is a range of frames from ``seq`` to ``seq_last``, so do not count rows: use ``unmatched_counts()``, or
        ``frame_by_frame``, which makes a row of each frame.
        """
        last_seal = self._end()[1]
        walk = self.walk("unmatched")
        found = list[pa.RecordBatch]()
        while (batch := walk.next()) is not None:
            if accounted_by(batch) <= last_seal:
                found.append(batch.record_batch)
        entries = pa.Table.from_batches(found, schema=UNMATCHED_SCHEMA)
        return spread(entries) if frame_by_frame else entries

    def unmatched_counts(self) -> dict[str, dict[str, int]]:
        """How many frames of each input are in no row, by cause: ``{"left": {"no_partner": 3}}``."""
        return counted(self.unmatched())

    @property
    def unmatched_rows(self) -> tuple[int, int]:
        """The first row of the unmatched table that still exists, and the one after the final row that is accounted
        for.
        """
        last_seal = self._end()[1]
        walk = self.places("unmatched")
        first, end = None, 0
        while (place := walk.next()) is not None and accounted_by(place) <= last_seal:
            first, end = place.first_row if first is None else first, place.end_row
        return (end if first is None else first), end

    def walk(
        self,
        table: Table = "rows",
        *,
        start: int | None = None,
        on_loss: OnLoss = "error",
        on_segment: Callable[[Segment], None] | None = None,
        spot: Spot | None = None,
    ) -> Walk[Batch]:
        """Walk over the batches of a table, including those without rows. ``on_segment`` is called with each segment.

        ``spot``: where a batch at or before ``start`` was seen, so that the walk begins there.
        """
        return self._walk(Segment.read, table, start, on_loss, on_segment, spot)

    def places(
        self,
        table: Table = "rows",
        *,
        start: int | None = None,
        on_loss: OnLoss = "error",
        spot: Spot | None = None,
    ) -> Walk[BatchPlace]:
        """Walk over the batches without reading their columns: where rows lie, and how many bytes they take."""
        return self._walk(Segment.place, table, start, on_loss, None, spot)

    def _walk(
        self,
        read: Callable[[Segment, int], Found | Ending],
        table: Table,
        start: int | None,
        on_loss: OnLoss,
        on_segment: Callable[[Segment], None] | None,
        spot: Spot | None,
    ) -> Walk[Found]:
        schema = self._rows_schema if table == "rows" else UNMATCHED_SCHEMA
        return Walk(
            self.path,
            table,
            schema,
            self._journal_epoch,
            read,
            start_row=start,
            on_loss=on_loss,
            on_segment=on_segment,
            spot=spot,
        )

    def _end(self) -> tuple[int, int]:
        """The next row and the newest seal, from the newest segments."""
        # The newest segment may still be empty; then the one before it has the newest seal.
        for name in reversed(segment_names(self.path, "rows")):
            walk = self.places(start=name.first_row)
            last: BatchPlace | None = None
            while (batch := walk.next()) is not None:
                last = batch
            if last is not None:
                return last.end_row, last.numbers.seal
        return 0, 0


def accounted_by(batch: BatchPlace) -> int:
    """The seal of the rows table whose state accounts for a batch of the unmatched table. Raises JournalDamaged."""
    seal: Any = batch.state.get("seal")
    if type(seal) is not int:
        raise JournalDamaged("an unmatched batch that no seal accounts for", offset=batch.message.offset, have=seal)
    return seal


def _cut(batch: Batch, start: int | None, stop: int | None) -> pa.RecordBatch:
    first = max((start or 0) - batch.first_row, 0)
    last = batch.numbers.rows if stop is None else min(stop - batch.first_row, batch.numbers.rows)
    return batch.record_batch.slice(first, max(last - first, 0))
