# SPDX-License-Identifier: Apache-2.0
"""``framegate journal verify``, ``diff`` and ``export``: check, compare and export journals."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

from framegate.joinbarrier.journal.diff import Difference, Key, diff
from framegate.joinbarrier.journal.export import export_parquet
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import RETIRED
from framegate.joinbarrier.journal.removed import Removed, removed
from framegate.joinbarrier.journal.verify import Verified, verify
from framegate.schema.console.progress import progress
from framegate.schema.console.quantities import byte_size, count
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, FAILED


def run_verify(directory: Path, *, as_json: bool) -> int:
    """Verify a journal and print its counts; return the exit code. Raises the first inconsistency."""
    journal, found = Journal(directory), Verified()
    with progress(f"verify {directory.name}", lambda: found.rows, partial(len, journal), unit="rows", as_json=as_json):
        verify(journal, found)
    gone = removed(journal.path, "rows", journal.journal_epoch)
    if found.problem is not None:
        raise found.problem
    if as_json:
        emit(
            {
                "event": "summary",
                "rows": found.rows,
                "batches": found.batches,
                "segments": found.segments,
                "unmatched_rows": found.unmatched_rows,
                "overtaken_rows": found.overtaken_rows,
                "removed_rows": gone.before,
                "removed_frames": {name: gone.frames_of(name) for name in gone.frames},
            }
        )
    else:
        print(f"rows={found.rows} batches={found.batches} segments={found.segments}")
        if gone.before:
            # Scripts read the line above as the only one on standard output.
            print(_retention(gone), file=sys.stderr, flush=True)
    return DONE


def _retention(gone: Removed) -> str:
    """Explain what became of joined rows that are not counted here."""
    frames = ", ".join(f"{name} {count(gone.frames_of(name))}" for name in gone.frames)
    return (
        f"retention removed {count(gone.before)} rows before these, from 0 to {count(gone.before - 1)}; "
        f"segments/{RETIRED} counts the frames that they joined: {frames}"
    )


def run_diff(first: Path, second: Path, *, by_time: bool, as_json: bool) -> int:
    """Print the difference of two journals; return the exit code, which is FAILED if there is one."""
    one, other, found = Journal(first), Journal(second), Difference()

    def total() -> int:
        return len(one) + len(other)

    with progress("compare journals", lambda: found.rows_read, total, unit="rows", as_json=as_json):
        diff(one, other, by="out_time" if by_time else "out_seq", found=found)
    if as_json:
        _emit_difference(found)
    else:
        _print_difference(found)
    return DONE if found.is_empty else FAILED


def run_export(directory: Path, target: Path, *, flatten: bool, as_json: bool) -> int:
    """Export a journal to a Parquet file; return the exit code."""
    journal, rows = Journal(directory), 0

    def note(so_far: int) -> None:
        nonlocal rows
        rows = so_far

    with progress(f"export {directory.name}", lambda: rows, partial(len, journal), unit="rows", as_json=as_json):
        export_parquet(journal, target, flatten=flatten, on_rows=note)
    if as_json:
        emit({"event": "summary", "rows": rows, "bytes": target.stat().st_size, "path": str(target)})
    else:
        print(f"{count(rows)} rows in {target}, {byte_size(target.stat().st_size)}")
    return DONE


def _emit_difference(found: Difference) -> None:
    for event, keys in (("lost", found.lost), ("gained", found.gained)):
        for key in keys:
            emit({"event": event, "out_epoch": key[0], "out": key[1], "repeat": key[2]})
    for changed in found.changed:
        emit({"event": "changed", **asdict(changed)})
    emit(
        {
            "event": "summary",
            "same": found.same,
            "lost": len(found.lost),
            "gained": len(found.gained),
            "changed": found.changed_rows,
            "not_compared": found.not_compared,
        }
    )


def _print_difference(found: Difference) -> None:
    for sign, keys in (("-", found.lost), ("+", found.gained)):
        for key in keys:
            print(f"{sign} {_key_text(key)}")
    for changed in found.changed:
        print(f"~ {_key_text(changed.key)}: {', '.join(changed.columns)} (rows {changed.row_a} and {changed.row_b})")
    print(f"same={found.same} lost={len(found.lost)} gained={len(found.gained)} changed={found.changed_rows}")
    if found.not_compared:
        print(f"{found.not_compared} rows are older than what the other journal still has")


def _key_text(key: Key) -> str:
    out_epoch, out, repeat = key
    return f"out {out_epoch}:{out}{f' ({repeat + 1})' if repeat else ''}"
