# SPDX-License-Identifier: Apache-2.0
"""``framegate journal show`` and ``tail``: print rows for people and for programs, with the sizes of payloads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.row import JoinedInput, Row
from framegate.schema.console.quantities import NONE, count, local_time, rounded, stamp
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import GrowingTable
from framegate.schema.errors import DONE, WrongUsage
from framegate.shmpool.stop_signal import StopSignal

_ALIGNED_ROWS: Final = 256
"""How many rows are aligned with each other; all of them are read before the first is shown."""
_RANGE: Final = re.compile(r"(\d{0,18}):(\d{0,18})")


def show(directory: Path, rows: str, *, as_json: bool) -> int:
    """Print the rows of a range; return the exit code."""
    start, stop = row_range(rows)
    journal = Journal(directory)
    shown = 0
    printed = RowPrinter(journal, as_json=as_json)
    reading = iter(journal.rows(start=start, stop=stop))
    while together := list(islice(reading, _ALIGNED_ROWS)):
        printed.print(together)
        shown += len(together)
    _summary(shown, as_json=as_json)
    return DONE


def tail(directory: Path, lines: int, *, follow: bool, as_json: bool) -> int:
    """Print the newest rows and, with ``follow``, those that come; return the exit code."""
    journal = Journal(directory)
    start = max(journal.next_row - lines, journal.first_row)
    shown = 0
    printed = RowPrinter(journal, as_json=as_json)
    with StopSignal() as stop:
        # A person who watches is told how many rows retention overtook, and goes on.
        with journal.rows(start=start, follow=follow, on_loss="skip", until=lambda: stop.is_set) as reading:
            for row in reading:
                printed.print([row])
                shown += 1
        _summary(shown, as_json=as_json, lost_rows=reading.lost_rows)
    return DONE


def row_range(text: str) -> tuple[int | None, int | None]:
    """Parse ``A:B`` into numbers; None for a side that was left out. Raises WrongUsage.

    >>> row_range("12:")
    (12, None)
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise WrongUsage(f"--rows: wanted A:B, found {text!r}")
    start, stop = (int(side) if side else None for side in found.groups())
    if start is not None and stop is not None and start > stop:
        raise WrongUsage(f"--rows: A is at most B, found {text!r}")
    return start, stop


class RowPrinter:
    """Prints rows as they come: a table for people, one object each for programs."""

    def __init__(self, journal: Journal, *, as_json: bool) -> None:
        info = journal.info
        inputs = [each.name for each in info.inputs]
        columns = [column for name in inputs for column in (name, f"{name} at", f"{name} frame")]
        self._table = None if as_json else GrowingTable(["row", "joined at", "out", "time", "skew", *columns])
        self._realtime_minus_monotonic_ns = info.realtime_minus_monotonic_ns

    def print(self, rows: Iterable[Row]) -> None:
        """Print some rows, aligned with each other."""
        if self._table is not None:
            self._table.print(row_cells(row, self._realtime_minus_monotonic_ns) for row in rows)
            return
        for row in rows:
            emit(row_object(row))


def row_object(row: Row) -> dict[str, Any]:
    """A row as ``--json`` prints it."""
    scalars = {name: row[name] for name in row if name not in row.inputs}
    scalars["joined_at"] = None if row["joined_at"] is None else row["joined_at"].isoformat()
    return {"event": "row", **scalars, **{name: _cell_object(cell) for name, cell in row.inputs.items()}}


def row_cells(row: Row, realtime_minus_monotonic_ns: int = 0) -> list[str]:
    """A row as a table shows it, cell by cell. Its time is the output's, or that of its earliest frame; each frame
    shows its distance from that.
    """
    joined_at = None if row["joined_at"] is None else round(row["joined_at"].timestamp() * 1e6) * 1000
    times = [each.timestamp_ns for each in row.inputs.values() if each.timestamp_ns is not None]
    time_ns = row["out_time_ns"] if row["out_time_ns"] is not None else min(times, default=None)
    return [
        str(row["row"]),
        local_time(joined_at),
        f"{row['out_epoch']}:{row['out_seq']}",
        stamp(time_ns, near_ns=joined_at, behind_ns=realtime_minus_monotonic_ns),
        rounded(row["skew_ns"]),
        *(cell for each in row.inputs.values() for cell in _cells(each, time_ns)),
    ]


def _cell_object(cell: JoinedInput) -> dict[str, Any]:
    return {
        "status": cell.status,
        "seq": cell.seq,
        "timestamp_ns": cell.timestamp_ns,
        "epoch": cell.epoch,
        "trace_id": cell.trace_id,
        "dtype": cell.dtype,
        "shape": cell.shape,
        "bytes": None if cell.array is None else cell.array.nbytes,
    }


def _cells(cell: JoinedInput, time_ns: int | None) -> tuple[str, str, str]:
    """An input's frame as number, distance from the row's time, and kind; or why there is none."""
    if not cell.is_present:
        return cell.status, NONE, NONE
    shape = "x".join(map(str, cell.shape or ()))
    apart_ns = None if time_ns is None or cell.timestamp_ns is None else cell.timestamp_ns - time_ns
    return f"#{cell.seq}", rounded(apart_ns), f"{cell.dtype}[{shape}]"


def _summary(rows: int, *, as_json: bool, lost_rows: int = 0) -> None:
    if as_json:
        emit({"event": "summary", "rows": rows, "lost_rows": lost_rows})
    elif lost_rows:
        print(f"{count(lost_rows)} rows were dropped before they could be shown")
