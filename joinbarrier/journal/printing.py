# SPDX-License-Identifier: Apache-2.0
"""``framegate journal show`` and ``tail``: rows for people and for programs, payloads by their size."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.row import JoinedInput, Row
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, WrongUsage
from framegate.shmpool.stop_signal import StopSignal

_RANGE: Final = re.compile(r"(\d{0,18}):(\d{0,18})")


def show(directory: Path, rows: str, *, as_json: bool) -> int:
    """Print the rows of a range; the exit code."""
    start, stop = row_range(rows)
    shown = 0
    for row in Journal(directory).rows(start=start, stop=stop):
        print_row(row, as_json=as_json)
        shown += 1
    _summary(shown, as_json=as_json)
    return DONE


def tail(directory: Path, lines: int, *, follow: bool, as_json: bool) -> int:
    """Print the last rows and, with ``follow``, those that come; the exit code."""
    journal = Journal(directory)
    start = max(journal.next_row - lines, journal.first_row)
    shown = 0
    with StopSignal() as stop:
        # Somebody who looks on is told of what retention overtook, and goes on.
        with journal.rows(start=start, follow=follow, on_loss="skip", until=lambda: stop.is_set) as reading:
            for row in reading:
                print_row(row, as_json=as_json)
                shown += 1
        _summary(shown, as_json=as_json, lost_rows=reading.lost_rows)
    return DONE


def row_range(text: str) -> tuple[int | None, int | None]:
    """``A:B`` as numbers; None for a side that was left out. Raises WrongUsage.

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


def print_row(row: Row, *, as_json: bool) -> None:
    """One line."""
    if as_json:
        emit(row_object(row))
    else:
        print(row_text(row), flush=True)


def row_object(row: Row) -> dict[str, Any]:
    """A row as ``--json`` prints it."""
    scalars = {name: row[name] for name in row if name not in row.inputs}
    scalars["joined_at"] = None if row["joined_at"] is None else row["joined_at"].isoformat()
    return {"event": "row", **scalars, **{name: _cell_object(cell) for name, cell in row.inputs.items()}}


def row_text(row: Row) -> str:
    """A row for people."""
    time = "" if row["out_time_ns"] is None else f" t={row['out_time_ns']}"
    skew = "" if row["skew_ns"] is None else f" skew={row['skew_ns']}ns"
    cells = "  ".join(f"{name} {_cell_text(cell)}" for name, cell in row.inputs.items())
    return f"{row['row']}  out {row['out_epoch']}:{row['out_seq']}{time}{skew}  {cells}"


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


def _cell_text(cell: JoinedInput) -> str:
    if not cell.is_present:
        return cell.status
    shape = "x".join(map(str, cell.shape or ()))
    return f"#{cell.seq}@{cell.timestamp_ns} {cell.dtype}[{shape}]"


def _summary(rows: int, *, as_json: bool, lost_rows: int = 0) -> None:
    if as_json:
        emit({"event": "summary", "rows": rows, "lost_rows": lost_rows})
    elif lost_rows:
        print(f"{lost_rows} rows were dropped before they could be shown")
