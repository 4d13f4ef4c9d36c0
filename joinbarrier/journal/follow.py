# SPDX-License-Identifier: Apache-2.0
"""Waits for the next sealed row: on the reader's bell if a writer rings it, otherwise by polling the head."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.doorbell import Doorbell
from framegate.joinbarrier.journal.head import Head
from framegate.schema.errors import JournalRecreated
from framegate.shmpool.clock import Clock, monotonic_ns
from framegate.shmpool.idle import sleep_ns

POLL_NS: Final = 1_000_000
"""The time between two looks at the head, if nobody rings."""
BELL_NS: Final = 100_000_000
"""The longest wait for a bell; then the head is read all the same."""


class Waited(Enum):
    """How a wait ended."""

    ROWS = "there may be rows"
    CLOSED = "the writer ended in good order, and nothing follows"
    NOTHING = "nothing yet"


class Waiter:
    """Waits for one reader. Each ``wait`` takes at most about ``BELL_NS``."""

    def __init__(
        self, directory: Path, journal_epoch: int, bell: Doorbell | None = None, *, clock: Clock = monotonic_ns
    ) -> None:
        self._directory, self._journal_epoch = directory, journal_epoch
        self._bell, self._clock = bell, clock
        self._head: Head | None = None
        self._is_rung_by_somebody = False
        self._was_silent = False
        self._answered_row = -1

    def wait(self, next_row: int) -> Waited:
        """Wait for ``next_row``. Raises JournalRecreated if the journal began anew."""
        found = self._look(next_row)
        if found is Waited.NOTHING:
            self._pause()
            found = self._look(next_row)
            if found is Waited.ROWS and self._was_silent:
                # Rows came but the bell did not ring: its writer has not found it yet, or is another one.
                self._is_rung_by_somebody = False
        elif found is Waited.ROWS and self._answered_row == next_row:
            # The head promised this row before, and the segments did not show it yet.
            self._pause()
        if found is Waited.ROWS:
            self._answered_row = next_row
        return found

    def close(self) -> None:
        """Close the bell."""
        if self._bell is not None:
            self._bell.close()
            self._bell = None

    def _look(self, next_row: int) -> Waited:
        if self._head is None or self._head.is_replaced():
            self._head = Head.open(self._directory)
        if self._head is None:
            return Waited.ROWS
        if self._head.journal_epoch != self._journal_epoch:
            raise JournalRecreated(
                "the journal began anew", path=self._directory, want=self._journal_epoch, have=self._head.journal_epoch
            )
        # Read the words in this order: the writer seals its final rows before it says that it closed.
        is_closed = self._head.is_closed
        if self._head.next_row > next_row:
            return Waited.ROWS
        return Waited.CLOSED if is_closed else Waited.NOTHING

    def _pause(self) -> None:
        if self._bell is None:
            self._was_silent = False
            sleep_ns(POLL_NS)
            return
        is_trusted = self._is_rung_by_somebody and self._head is not None and self._head.is_writer_alive(self._clock())
        is_rung = self._bell.wait(BELL_NS if is_trusted else POLL_NS)
        self._was_silent = not is_rung
        self._is_rung_by_somebody = self._is_rung_by_somebody or is_rung
