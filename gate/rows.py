# SPDX-License-Identifier: Apache-2.0
"""The rows of a join as its program takes them: each row once, whichever threads and event loops ask for it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Final, TypeAlias

import pyarrow as pa
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.reading import RowReading
from framegate.joinbarrier.journal.row import Row
from framegate.schema.errors import JoinClosed
from framegate.shmpool.clock import monotonic_ns

_Asked: TypeAlias = "Future[Row | None]"
_END: Final = None


class Rows:
    """A reading of a journal that may be shared, interrupted and cancelled: none of this loses a row."""

    def __init__(self, journal: Journal, reader: str, is_given_up: Callable[[], bool]) -> None:
        self._open = partial(journal.rows, reader, follow=True, until=self._is_over)
        self._is_given_up = is_given_up
        self._deadline_ns: float | None = None
        self._reading: RowReading | None = self._open()
        self._turn = threading.Lock()
        self._next_row = self._reading.first_row
        self._is_closed = False
        self._unread = 0
        self._asking = threading.Lock()
        self._asked: SimpleQueue[_Asked | None] | None = None
        self._cancelled = deque[_Asked]()
        """Rows that tasks asked for which were then cancelled: they go to whoever asks next."""

    def take(self) -> Row | None:
        """Wait for the next row; None after the last one. Raises JoinClosed for rows that nobody took in time."""
        return self._cancelled.popleft().result() if self._cancelled else self._read()

    def take_within(self, wait_s: float) -> Row | None:
        """The next row if it comes in time; None otherwise."""
        return self._read(monotonic_ns() + wait_s * 1e9)

    async def taken(self) -> Row | None:
        """The same in an event loop."""
        asked = self._cancelled.popleft() if self._cancelled else self._ask()
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            self._cancelled.append(asked)
            raise

    def close(self, past: int) -> None:
        """Nothing is read any more. ``past`` is the row after the last one that was joined. Idempotent."""
        with self._asking:
            if self._is_closed:
                return
            self._is_closed = True
            if self._asked is not None:
                self._asked.put(_END)
        # A thread that waits for a row now has what is left of its journal, as the writer has closed it.
        with self._turn:
            if self._reading is not None:
                self._reading.close()
                self._reading = None
            self._unread = max(past - self._next_row, 0)

    def _is_over(self) -> bool:
        return self._is_given_up() or (self._deadline_ns is not None and monotonic_ns() >= self._deadline_ns)

    def _read(self, deadline_ns: float | None = None) -> Row | None:
        with self._turn:
            self._deadline_ns = deadline_ns
            if self._is_closed:
                if self._unread:
                    raise JoinClosed("the join was closed before all rows were read", unread=self._unread)
                return None
            reading = self._reading = self._reading or self._open()
            try:
                row = next(reading, None)
            except BaseException:
                # An interrupt ends the reading, and not the rows: the next one goes on where this one was.
                self._reading = None
                raise
            if row is not None:
                self._next_row = row["row"] + 1
            elif deadline_ns is not None:
                # A reading that gave up waiting has ended.
                self._reading = None
            return row

    def _ask(self) -> _Asked:
        """Have the next row read on a thread of its own: one of the event loop's would keep the loop from ending."""
        asked: _Asked = Future()
        asked.set_running_or_notify_cancel()
        with self._asking:
            if self._is_closed:
                _answer(asked, self._read)
                return asked
            if self._asked is None:
                self._asked = SimpleQueue()
                threading.Thread(target=self._serve, args=(self._asked,), name="framegate-rows", daemon=True).start()
            self._asked.put(asked)
        return asked

    def _serve(self, asked: SimpleQueue[_Asked | None]) -> None:
        while (each := asked.get()) is not _END:
            _answer(each, self._read)


def import_for_rows() -> None:
    """Load what the first row of a program needs, which takes a third of a second: a frame would be that much older."""
    pa.scalar(0, pa.timestamp("ns", "UTC")).as_py()


def _answer(asked: _Asked, read: Callable[[], Row | None]) -> None:
    try:
        asked.set_result(read())
    except BaseException as failure:
        asked.set_exception(failure)
