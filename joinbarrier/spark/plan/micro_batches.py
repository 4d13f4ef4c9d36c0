# SPDX-License-Identifier: Apache-2.0
"""What the driver's side of a streaming query decides: offsets, ranges, and what may be released. Knows no Spark.

Offsets follow from the one before and from the journals, never from what this object remembers: Spark makes it anew
whenever it likes. What is remembered here only saves time, but for two things: how long nothing new has come, and
where the query begins.

Spark writes the end of each micro-batch into its log, but not where the first one begins: it asks for that again when
it runs that batch, and after a crash in it, when ``latest`` and ``earliest`` mean other rows. So the first micro-batch
is empty. Its end is where the query begins, and that is in the log before any row is read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.lease_keeper import LeaseKeeper
from framegate.joinbarrier.spark.plan.parallel_questions import ask_each
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows, Tasks, Wanted
from framegate.joinbarrier.spark.plan.shares import Waiting, shared, shares_to_know
from framegate.joinbarrier.spark.plan.starting import open_tables, resolved, starts
from framegate.joinbarrier.tables.extents import Limit
from framegate.joinbarrier.tables.offsets import Position
from framegate.joinbarrier.tables.source_table import SourceTable
from framegate.schema.errors import JournalError, ReaderFenced, SparkError, WrongOffset
from framegate.shmpool.clock import Clock, monotonic_ns

RELEASE_AFTER_NS: Final = 100_000_000
"""A journal that is full waits for its reader, and Spark commits a batch only once it has another one to begin: what
was executed is released when nothing has come for so long."""

UNLIMITED: Final = (
    "This PySpark has no limits for micro-batches: each takes all rows that are sealed. "
    "maxRowsPerTrigger and maxBytesPerTrigger need PySpark 4.2."
)
_log = logging.getLogger(__name__)


class MicroBatches:
    """The driver's side of one query, from its first question on. Raises the errors of journals and options."""

    def __init__(self, options: SourceOptions, *, cores: int, clock: Clock = monotonic_ns) -> None:
        self._options, self._clock = options, clock
        # Before the name is claimed: a query that cannot begin must not fence the one that runs.
        self._wishes = starts(options, "latest")
        self._tables = open_tables(options)
        self._tasks = Tasks(cores=cores, partitions_min=options.partitions_min)
        self._keeper = self._claimed()
        self._frozen: dict[str, int] | None = None
        self._initial: dict[str, Position] | None = None
        self._is_beginning = False
        """The next micro-batch that is planned is the first one, if it begins at ``_initial``."""
        self._planned: dict[str, Position] | None = None
        """The end of the micro-batch planned last: before 4.2 PySpark does not say where the next one begins."""
        self._asked: dict[str, Position] | None = None
        """What ``latest_of_all`` said first."""
        self._idle_at: dict[str, Position] | None = None
        self._idle_since_ns = 0

    def _claimed(self) -> LeaseKeeper | None:
        name = self._options.reader_name
        if name is None:
            return None
        readers = ask_each(self._tables, lambda _, table: table.claim(name, table.first_row()))
        return LeaseKeeper(readers, min(table.reader_lease_s for table in self._tables.values()))

    # --- what Spark asks -----------------------------------------------------------------------------------------

    def initial(self) -> dict[str, Position]:
        """Where a query begins of which Spark's log says nothing; the same however often it is asked."""
        if self._initial is None:
            self._initial = ask_each(self._tables, self._initial_of)
            self._is_beginning = True
        return dict(self._initial)

    def _initial_of(self, path: str, table: SourceTable) -> Position:
        said = None if self._asked is None else self._asked[path].begin
        return resolved(table, self._wishes[path], self._options) if said is None else table.position(said)

    def newest(self) -> dict[str, Position]:
        """Behind the last sealed row of each journal."""
        return ask_each(self._tables, lambda _, table: table.position(table.latest_row()))

    def freeze(self) -> None:
        """Nothing that is sealed after this belongs to the query."""
        self._frozen = ask_each(self._tables, lambda _, table: table.sealed_row())

    def latest(self, start: Mapping[str, Position], limit: Limit) -> dict[str, Position]:
        """The end of the micro-batch that begins at ``start``; ``start`` itself when there is nothing new."""
        self._check(start)
        if self._is_beginning and start == self._initial:
            return dict(start)
        available = ask_each(self._tables, self._available)
        # The head of a writer that was killed may lie behind what an earlier run has seen.
        waiting = [path for path in self._tables if available[path] > start[path].row]
        ends = dict(start)
        if waiting:
            ends |= self._limited(start, available, waiting, limit)
        else:
            self._release_when_idle(start)
        return ends

    def latest_of_all(self) -> dict[str, Position]:
        """The end of the next micro-batch where Spark says neither where it begins nor how much it may hold.

        Spark may not have asked for the initial offset yet, and asks again for it after a crash in the first
        micro-batch. So the end of what may be the first one says where that begins.
        """
        if self._asked is None:
            _log.warning(UNLIMITED)
            self._asked = {path: replace(end, begin=self._begin(path, end)) for path, end in self.newest().items()}
            return dict(self._asked)
        start = self._planned or self._asked
        self._check(start)
        rows = ask_each(self._tables, self._available)
        # The head of a writer that was killed may lie behind what was seen.
        ends = {path: start[path].at(max(rows[path], start[path].row)) for path in self._tables}
        if ends == self._planned:
            self._release_when_idle(start)
        return ends

    def _begin(self, path: str, end: Position) -> int | None:
        """Where a new query begins in a journal; None if this cannot be one, as its rows are not there."""
        if self._initial is not None:
            return self._initial[path].row
        wish = self._wishes[path]
        if wish.is_latest:
            return end.row
        try:
            return min(resolved(self._tables[path], wish, self._options).row, end.row)
        except (JournalError, SparkError):
            # Of a new query, ``initial`` raises it. One that goes on has left that row behind long ago.
            return None

    def ranges(self, start: Mapping[str, Position], end: Mapping[str, Position]) -> list[RangeOfRows]:
        """The tasks of a micro-batch. The same two offsets give the same rows, or an error."""
        self._check(start)
        self._check(end)
        is_first, self._is_beginning = self._is_beginning and start == self._initial, False
        if is_first:
            # Also after a crash, when ``end`` says where the query began, and ``start`` only what was asked for today.
            start = {path: each.at(each.row if each.begin is None else each.begin) for path, each in end.items()}
        self._planned = dict(end)
        for path in self._tables:
            if end[path].row < start[path].row:
                raise WrongOffset(
                    "the micro-batch ends before it begins", path=path, start=start[path].row, end=end[path].row
                )
        return self._tasks.of(
            {
                path: Wanted(table, start[path].row, end[path].row, self._claim_of(path))
                for path, table in self._tables.items()
            }
        )

    def commit(self, end: Mapping[str, Position]) -> None:
        """Spark asks for no row before ``end`` any more."""
        self._check(end)
        self._commit(end)

    def stop(self) -> None:
        """End the lease's thread; Spark mostly does not call this."""
        if self._keeper is not None:
            self._keeper.stop()

    # --- how it is answered --------------------------------------------------------------------------------------

    def _check(self, positions: Mapping[str, Position]) -> None:
        for path, table in self._tables.items():
            table.check_epoch(positions[path].epoch)
        if self._keeper is not None:
            with self._told_if_anew():
                self._keeper.check()

    @contextmanager
    def _told_if_anew(self) -> Iterator[None]:
        """A journal that began anew has forgotten its readers: then that is what has to be said."""
        try:
            yield
        except ReaderFenced:
            self.newest()
            raise

    def _claim_of(self, path: str) -> int | None:
        return None if self._keeper is None else self._keeper.claim_of(path)

    def _available(self, path: str, table: SourceTable) -> int:
        latest = table.latest_row()
        return latest if self._frozen is None else min(latest, self._frozen[path])

    def _limited(
        self, start: Mapping[str, Position], available: Mapping[str, int], waiting: list[str], limit: Limit
    ) -> dict[str, Position]:
        """How far each journal goes that has new rows."""
        if limit.is_none and not self._options.is_aligned:
            return {path: start[path].at(available[path]) for path in waiting}
        known = self._known(start, available, waiting, limit)
        taken, _ = shared(known, limit)
        ends = {path: start[path].at(taken[path].end_row) for path in waiting}
        if all(ends[path] == start[path] for path in waiting):
            # One row always passes, or a small limit would stop the query for ever.
            most = max(waiting, key=lambda path: known[path].rows)
            ends[most] = start[most].at(known[most].extents[0].first_row + 1)
        return ends

    def _known(
        self, start: Mapping[str, Position], available: Mapping[str, int], waiting: list[str], limit: Limit
    ) -> dict[str, Waiting]:
        """Where the rows lie that wait, as far as the limit needs it: asked of all journals at once, and of those again
        of which others leave more."""
        known, short = dict[str, Waiting](), waiting
        for share in shares_to_know(limit, len(waiting)):
            tables = {path: self._tables[path] for path in short}
            known |= ask_each(
                tables,
                lambda path, table: self._waiting(table, start[path].row, available[path], share),  # noqa: B023
            )
            _, short = shared(known, limit)
            if not short:
                break
        return known

    def _waiting(self, table: SourceTable, first_row: int, end_row: int, share: Limit) -> Waiting:
        extents = table.extents(first_row, end_row, share)
        if self._options.is_aligned and extents:
            known_end = extents[-1].end_row
            barrier_row = table.next_checkpoint(extents[0].first_row, known_end)
            if barrier_row < known_end:
                cut = [each.cut(first_row, barrier_row) for each in extents if each.first_row < barrier_row]
                return Waiting(first_row, barrier_row, cut)
        return Waiting(first_row, end_row, extents)

    def _release_when_idle(self, start: Mapping[str, Position]) -> None:
        """Spark asks for the next batch when it has executed the one that ends at ``start``, and logged that."""
        if self._keeper is None:
            return
        if self._idle_at != start:
            self._idle_at, self._idle_since_ns = dict(start), self._clock()
        elif self._clock() - self._idle_since_ns >= RELEASE_AFTER_NS:
            self._commit(start)

    def _commit(self, end: Mapping[str, Position]) -> None:
        if self._keeper is None:
            return
        keeper = self._keeper
        behind = {path: table for path, table in self._tables.items() if end[path].row > keeper.committed_row(path)}
        with self._told_if_anew():
            ask_each(behind, lambda path, _: keeper.commit(path, end[path].row))
