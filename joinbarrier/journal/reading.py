# SPDX-License-Identifier: Apache-2.0
"""Reads rows one after another: from a walk over the segments, with a wait at its end, and commits under a reader's
name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Final, Self

from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.follow import Waited, Waiter
from framegate.joinbarrier.journal.readers import NamedReader
from framegate.joinbarrier.journal.row import Row, rows_of
from framegate.joinbarrier.journal.walk import Walk
from framegate.schema.errors import ReaderFenced
from framegate.shmpool.clock import Clock, monotonic_ns

COMMIT_NS: Final = 1_000_000_000
"""How often a named reader commits, apart from the end of every batch; this also renews its lease."""


class RowReading(Iterator[Row]):
    """An iterator over rows.

    With a name, rows are committed in groups, each row after the next one is asked for. So the most recent row before a
    ``break`` or a crash comes again, and perhaps others. ``close()`` commits what is done.
    """

    def __init__(
        self,
        walk: Walk[Batch],
        *,
        stop: int | None = None,
        limit: int | None = None,
        waiter: Waiter | None = None,
        reader: NamedReader | None = None,
        timeout_s: float | None = None,
        until: Callable[[], bool] | None = None,
        clock: Clock = monotonic_ns,
    ) -> None:
        self._walk, self._waiter, self.reader = walk, waiter, reader
        self._first_row = walk.next_row or 0
        self._stop = stop
        self._left = limit
        """How many more rows may be returned; None is any number."""
        self._timeout_ns = None if timeout_s is None else int(timeout_s * 1e9)
        self._until = until or _never
        self._clock = clock
        self._committed_at_ns = clock()
        self._waiting_since_ns: int | None = None
        self._done_row = self._first_row
        self._has_writer = True
        """False once the writer was seen to have ended in good order."""
        self._rows = self._generate()

    def __next__(self) -> Row:
        return next(self._rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop, and commit the rows that are done."""
        self._rows.close()

    @property
    def first_row(self) -> int:
        """The row that it began at."""
        return self._first_row

    @property
    def lost_rows(self) -> int:
        """How many rows were skipped because retention had dropped them (``on_loss="skip"``)."""
        return self._walk.lost_rows

    def _generate(self) -> Generator[Row]:  # a generator: its end also runs when the iterator is dropped
        try:
            while self._left != 0 and ((batch := self._walk.next()) is not None or self._wait()):
                if batch is None:
                    continue
                self._waiting_since_ns = None
                for row in rows_of(batch, self._first_row):
                    if self._until() or (self._stop is not None and row["row"] >= self._stop):
                        return
                    yield row
                    self._done_row = row["row"] + 1
                    self._commit_if_due()
                    if self._left is not None:
                        self._left -= 1
                    if self._left == 0:
                        return
                self._done_row = batch.end_row
                self._commit()
        finally:
            if self._waiter is not None:
                self._waiter.close()
            # A fenced reader, or one whose journal was removed, has nothing to commit. Its error would hide the one
            # that ended the loop.
            with suppress(ReaderFenced, FileNotFoundError):
                self._commit()
                if self.reader is not None and not self._has_writer:
                    # Nobody is left to ring it.
                    self.reader.take_bell_away()

    def _wait(self) -> bool:
        """Wait for another batch; False if none will come."""
        if self._waiter is None or self._is_past_the_stop():
            return False
        if self._waiting_since_ns is None:
            self._waiting_since_ns = self._clock()
        next_row = max(self._walk.next_row or 0, self._walk.position or 0)
        while (found := self._waiter.wait(next_row)) is not Waited.CLOSED:
            self._commit_if_due()
            waited_ns = self._clock() - self._waiting_since_ns
            # Ask even if rows are promised: a journal without a head promises them all the time.
            if self._until() or (self._timeout_ns is not None and waited_ns >= self._timeout_ns):
                return False
            if found is Waited.ROWS:
                return True
        self._has_writer = False
        return False

    def _is_past_the_stop(self) -> bool:
        return self._stop is not None and (self._walk.next_row or 0) >= self._stop

    def _commit_if_due(self) -> None:
        if self.reader is not None and self._clock() - self._committed_at_ns >= COMMIT_NS:
            self._commit()

    def _commit(self) -> None:
        if self.reader is not None:
            self.reader.commit(self._done_row)
            self._committed_at_ns = self._clock()


def _never() -> bool:
    return False
