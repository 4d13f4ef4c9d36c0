# SPDX-License-Identifier: Apache-2.0
"""The query without Spark: rows from ``framegate.journal``, as soon as they are sealed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.journal import journal
from framegate.joinbarrier.journal.row import Row
from framegate.schema.console.reporting import emit
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.looking import Look
from framegate.tools.demo.query import READER, Teller

_TELL_NS: Final = 50_000_000


def run(path: Path, look: Look, teller: Teller, stop: StopSignal) -> None:
    """Look at every row until the writer has ended, or we are told to."""
    told_at_ns = 0

    def is_over() -> bool:
        # Asked between rows, and while there are none: so the last ones are told in time as well.
        nonlocal told_at_ns
        if monotonic_ns() - told_at_ns >= _TELL_NS:
            teller.tell()
            told_at_ns = monotonic_ns()
        return stop.is_set

    look.prepare()
    reading = journal(path).rows(READER, follow=True, start=0, until=is_over)
    emit({"event": "ready"})
    with reading:
        for row in reading:
            teller.add(look(_columns(row)), monotonic_ns())
    teller.tell()


def _columns(row: Row) -> Mapping[str, Any]:
    """The row with the two columns that the query adds to the journal's."""
    newest_ns = max(cell.timestamp_ns or 0 for cell in row.inputs.values())
    return {**row, "newest_ns": newest_ns, "joined_ns": nanoseconds(row["joined_at"])}


def nanoseconds(moment: datetime) -> int:
    """A moment of the wall clock as nanoseconds since 1970, without going through floats.

    >>> nanoseconds(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC))
    1000005000
    """
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
