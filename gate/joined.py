# SPDX-License-Identifier: Apache-2.0
"""A join that runs in this program, with its rows as they come, and what was not joined."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from framegate.gate.join_thread import JoinThread
from framegate.gate.not_joined import NotJoined, misses_of
from framegate.gate.rows import Rows, import_for_rows
from framegate.gate.run_folder import READER, remove_journal
from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.joinbarrier.agent.plan import journal_shape
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.row import Row
from framegate.schema.errors import JoinClosed, JournalError
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_PATIENCE_S: Final = 5.0
_log = logging.getLogger(__name__)


class Joined:
    """The result of ``gate.join(...)``: a context manager, and an iterator over rows.

    The rows begin with the first that was joined, and end when every input has ended. Only one loop reads them:
    ``for``, ``async for``, or the function given to ``on_row``.
    """

    def __init__(self, client: Client, config: JoinConfig, *, is_temporary: bool) -> None:
        self.config = config
        self._is_temporary = is_temporary
        self.names = [each.name for each in config.input]
        self._listener: threading.Thread | None = None
        self._listener_failure: BaseException | None = None
        self._has_listened_enough = False
        self._misses: dict[str, str] = {}
        """How far frames were from each other, kept for a join that was closed and whose rows are gone."""
        self._closing = threading.Lock()
        self._closed = False
        import_for_rows()
        path = Path(config.join.journal).absolute()
        with ExitStack() as undo:
            if is_temporary:
                undo.callback(remove_journal, path)
            folder = JournalFolder(path, journal_shape(config))
            undo.callback(folder.close)
            for warning in config.warnings(is_live=False):
                _log.warning("%s", warning)
            self._client = client
            self._agent = JoinAgent(client, config, folder)
            undo.callback(self._agent.close)
            self._agent.attach()
            self._journal = Journal(path)
            # The reader is claimed before the first row, so that no row is dropped before the program reads it.
            self._rows = Rows(self._journal, READER, self._is_given_up)
            undo.pop_all()
        self._folder = folder
        self._thread = JoinThread(self._agent)

    # --- Rows ---

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self._readable().take()
        if row is None:
            self._raise_failure()
            raise StopIteration
        return row

    def __aiter__(self) -> AsyncIterator[Row]:
        return self

    async def __anext__(self) -> Row:
        row = await self._readable().taken()
        if row is None:
            self._raise_failure()
            raise StopAsyncIteration
        return row

    def on_row(self, call: Callable[[Row], object]) -> Self:
        """Call a function with each row, on a thread of its own.

        An error that the function raises ends the calls, is logged, and is raised again by ``close``.
        """
        if self._listener is not None:
            raise JoinClosed("the rows go to a function already", journal=self._journal.path)
        self._listener = threading.Thread(target=self._listen, args=(call,), name="framegate-rows", daemon=True)
        self._listener.start()
        return self

    def _listen(self, call: Callable[[Row], object]) -> None:
        try:
            for row in self:
                call(row)
                if self._has_listened_enough:
                    return
        except BaseException as failure:
            self._listener_failure = failure
            _log.error("no more rows go to the function that on_row was given: it raised %r", failure)

    def _readable(self) -> Rows:
        if self._client.is_copy:
            raise JoinClosed("the join runs in the process that this one was forked from", journal=self._journal.path)
        if self._listener is not None and threading.current_thread() is not self._listener:
            raise JoinClosed("the rows go to the function that on_row was given", journal=self._journal.path)
        return self._rows

    def _is_given_up(self) -> bool:
        """Whether no more rows will come, although the writer did not end in good order."""
        return self._closed or (self._thread.is_over and self._thread.failure is not None)

    # --- All rows so far ---

    @property
    def journal(self) -> Journal:
        """The journal that the rows are written into."""
        if self._closed and self._is_temporary:
            raise JoinClosed(
                "the rows are gone with the join", hint='Name a directory that stays: join(..., journal="out/rows").'
            )
        return self._journal

    def __len__(self) -> int:
        """How many rows were joined so far."""
        return int(self._thread.summary().get("rows", 0))

    def __bool__(self) -> bool:
        """Always True, so that a join without rows is not taken for None."""
        return True

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows so far, for any program that reads Arrow, such as Polars and DuckDB."""
        return self.journal.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """The rows so far as an Arrow table. Nothing is copied."""
        return self.journal.to_arrow()

    def to_pandas(self, *, flatten: bool = True) -> pd.DataFrame:
        """The rows so far as a pandas frame."""
        return self.journal.to_pandas(flatten=flatten)

    # --- What was not joined ---

    def unmatched(self) -> NotJoined:
        """How many frames of each input are in no row so far, and why. Print the result to read it."""
        return NotJoined(self._thread.summary().get("causes", {}))

    def dropped(self) -> NotJoined:
        """Like ``unmatched``, and how far away the nearest frames were, if a rule bounds the time between frames."""
        is_gone = self._closed and self._is_temporary
        misses = self._misses if is_gone else misses_of(self.config, self._journal)
        return NotJoined(self._thread.summary().get("causes", {}), misses)

    def waiting(self) -> list[str]:
        """The inputs that the next row is waiting for."""
        return [self.names[each["input"]] for each in self._thread.status().get("waiting", ())]

    @property
    def summary(self) -> dict[str, Any]:
        """Everything that the join counted, as `framegate join --json` prints it."""
        return self._thread.summary()

    def unobserved(self) -> list[str]:
        """The inputs from which nothing has come."""
        waiting = self._thread.status().get("waiting", ())
        return [self.names[each["input"]] for each in waiting if each["reason"] == "not_observed"]

    def answer(self, out_time_ns: int, wait_s: float) -> Row | None:
        """Make a row for this time, in a join whose output times are pushed. None if the row did not come in time."""
        deadline_ns = monotonic_ns() + wait_s * 1e9
        rows = self._readable()
        self._agent.mailbox.push_time(out_time_ns)
        while (left_s := (deadline_ns - monotonic_ns()) / 1e9) > 0:
            row = rows.take_within(left_s)
            # A row for another time was left by a question that was interrupted.
            if row is not None and row["out_time_ns"] == out_time_ns:
                return row
            if row is None and self.is_over:
                self._raise_failure()
                break
        return None

    # --- The end ---

    @property
    def is_over(self) -> bool:
        """Whether no more rows are joined: every input has ended, or the join has failed or was closed."""
        return self._thread.is_over

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """End the join, after joining what can be joined. Raises the error that ended it before, if any. Idempotent."""
        if self._client.is_copy:
            return
        if threading.current_thread() is self._listener:
            # The gate, which made the join, closes the rest of it.
            self._has_listened_enough = True
            self._thread.end()
            return
        with self._closing:
            if self._closed:
                return
            self._thread.close()
            self._await_listener()
            # If the journal was damaged or removed, that ended the join. The error is raised below.
            with suppress(JournalError, OSError):
                self._rows.close(self._journal.next_row)
                self._misses = misses_of(self.config, self._journal) if self._is_temporary else {}
            self._rows.close(0)
            self._closed = True
            self._folder.close()
            if self._is_temporary:
                remove_journal(self._journal.path)
        if self._listener_failure is not None:
            raise self._listener_failure
        self._raise_failure()

    def _await_listener(self) -> None:
        """Wait until the function of ``on_row`` has had every row. The journal is closed in good order by now."""
        while self._listener is not None and self._listener.is_alive():
            self._listener.join(_PATIENCE_S)
            if self._listener.is_alive():
                _log.warning("the join is closed when the function that on_row was given has had its last rows")

    def _raise_failure(self) -> None:
        if self._thread.failure is not None:
            raise self._thread.failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        try:
            self.close()
        except BaseException as failure:
            if kind is None:
                raise
            # If the block ends by an error of the program, that is the error to raise.
            _log.warning("the join ended: %s", failure)

    def __repr__(self) -> str:
        state = "ended" if self._thread.is_over else "running"
        rows, left = len(self), self.unmatched().frames
        return f"<Joined {', '.join(self.names)}: {rows:,} rows, {left:,} frames not joined, {state}>"
