# SPDX-License-Identifier: Apache-2.0
"""The rows of a join for its program: each row is given out once, whatever threads and event loops ask for rows."""

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
    """Reads a journal for several threads. It may be interrupted and cancelled, and loses no row by that."""

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
        """Rows that were read for tasks which were then cancelled. The next caller gets them."""

    def take(self) -> Row | None:
        """Wait for the next row; None after the last one. Raises JoinClosed if rows were not read in time."""
        return self._cancelled.popleft().result() if self._cancelled else self._read()

    def take_within(self, wait_s: float) -> Row | None:
        """The next row, or None if it does not come in time."""
        return self._read(monotonic_ns() + wait_s * 1e9)

    async def taken(self) -> Row | None:
        """Wait for the next row in an event loop; None after the last one."""
        asked = self._cancelled.popleft() if self._cancelled else self._ask()
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            self._cancelled.append(asked)
            raise

    def close(self, past: int) -> None:
        """Stop reading. ``past`` is the row after the last one that was joined. Idempotent."""
        with self._asking:
            if self._is_closed:
                return
            self._is_closed = True
            if self._asked is not None:
                self._asked.put(_END)
        # A thread that waits for a row gets what is left in the journal, which its writer has closed by now.
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
                # An interrupt ends this reading, but no row is lost: the next reading goes on where this one was.
                self._reading = None
                raise
            if row is not None:
                self._next_row = row["row"] + 1
            elif deadline_ns is not None:
                # A reading that gave up waiting has ended.
                self._reading = None
            return row

    def _ask(self) -> _Asked:
        """Read the next row on a thread of its own: a thread of the event loop would keep the loop from ending."""
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
    """Import what the first row needs, which takes a third of a second and would make that row late."""
    pa.scalar(0, pa.timestamp("ns", "UTC")).as_py()


def _answer(asked: _Asked, read: Callable[[], Row | None]) -> None:
    try:
        asked.set_result(read())
    except BaseException as failure:
        asked.set_exception(failure)
