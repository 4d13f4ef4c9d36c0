# SPDX-License-Identifier: Apache-2.0
"""``framegate journal ls``: prints a journal's description, its segments and its readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import FOLDERS, SegmentName, Table, segment_names
from framegate.joinbarrier.journal.readers import readers
from framegate.schema.config.settings import default_base_dir
from framegate.schema.console.quantities import NONE, byte_size, count, duration, local_time
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE
from framegate.shmpool.client.stream_names import StreamNames, stream_called
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.processes import process_exists

_WRITERS: Final = {
    "running": "running",
    "closed": "closed in good order",
    "gone": "gone: it ended without closing the journal",
    "unknown": "unknown: there is no journal.head",
}


def ls(directory: Path, *, as_json: bool) -> int:
    """Print a journal's description; return the exit code."""
    journal = Journal(directory)
    about = _about(journal)
    segments = list(_segments(journal))
    named = list(_readers(journal))
    if as_json:
        for event, entries in (("journal", [about]), ("segment", segments), ("reader", named)):
            for entry in entries:
                emit({"event": event, **entry})
        return DONE
    _print_about(about)
    if segments:
        print()
        print_table(("table", "segment", "from row", "rows", "size"), list(_segment_lines(segments, about["next_row"])))
    if named:
        print()
        print_table(("reader", "state", "next row", "behind", "last seen", "process"), list(map(_reader_line, named)))
    return DONE


def _print_about(about: dict[str, Any]) -> None:
    inputs = ", ".join(stream_called(each["stream"], each["name"]) for each in about["inputs"])
    output = stream_called(about["out_stream"], about["out_name"])
    print(f"output {output}, {about['policy']}: {inputs}")
    first, end = about["first_row"], about["next_row"]
    removed_text = f"; retention removed the {count(first)} before them" if first else ""
    print(f"{count(end - first)} rows, from {count(first)} to before {count(end)}{removed_text}")
    print(f"begun {local_time(about['journal_epoch'])} (epoch {about['journal_epoch']})")
    print(f"writer {_WRITERS[about['writer']]}")


def _segment_lines(segments: list[dict[str, Any]], next_row: int) -> Iterator[list[str]]:
    firsts = [each["first_row"] for each in segments if each["first_row"] is not None]
    ends = dict(zip(firsts, [*firsts[1:], next_row], strict=False))
    for each in segments:
        first = each["first_row"]
        rows = None if first is None else ends[first] - first
        yield [each["table"], each["segment"], count(first), count(rows), byte_size(each["file_bytes"])]


def _reader_line(found: dict[str, Any]) -> list[str]:
    """One line about a reader. A lease outlives its process, so that a query may come back; the line says which of the
    two still exists.
    """
    if not found["is_of_this_epoch"]:
        state = "of an older journal"
    elif not found["is_living"]:
        state = "expired"
    elif found["is_running"]:
        state = "reading"
    else:
        state = f"ended, holds its rows for {duration(found['lease_left_ns'], digits=3)}"
    process = str(found["pid"]) if found["is_running"] else f"{found['pid']} (ended)"
    behind = count(found["behind_rows"]) if found["is_of_this_epoch"] else NONE
    return [
        found["reader"], state, count(found["committed_row"]), behind, local_time(found["seen_at_ns"]), process
    ]  # fmt: skip


def writer_state(directory: Path) -> str:
    """The state of the writer: ``running``, ``closed``, ``gone`` (it ended without closing), or ``unknown`` without a
    head.
    """
    head = Head.open(directory)
    if head is None:
        return "unknown"
    return "closed" if head.is_closed else "running" if head.is_writer_alive(monotonic_ns()) else "gone"


def _about(journal: Journal) -> dict[str, Any]:
    info = journal.info
    return {
        "path": str(journal.path),
        "out_stream": info.out_stream,
        "out_name": _names().get(info.out_stream),
        "policy": info.policy,
        "journal_epoch": info.journal_epoch,
        "first_row": journal.first_row,
        "next_row": journal.next_row,
        "inputs": [{"name": each.name, "stream": each.stream} for each in info.inputs],
        "maps": [dict(each) for each in info.maps],
        "writer": writer_state(journal.path),
    }


def _names() -> dict[int, str]:
    """The streams of this host: a journal does not say what its output is called."""
    return StreamNames(os.environ.get("FRAMEGATE_BASE_DIR") or default_base_dir()).by_number()


def _segments(journal: Journal) -> Iterator[dict[str, Any]]:
    tables: tuple[Table, ...] = ("rows", "unmatched")
    for table in tables:
        for name in segment_names(journal.path, table):
            size = _file_bytes(journal.path / FOLDERS[table], name)
            if size is not None:
                yield {"table": table, "segment": str(name), "first_row": name.first_row, "file_bytes": size}


def _file_bytes(folder: Path, name: SegmentName) -> int | None:
    for candidate in (name, name.finished()):
        try:
            return (folder / str(candidate)).stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
    return None


def _readers(journal: Journal) -> Iterator[dict[str, Any]]:
    info, now_ns, next_row = journal.info, monotonic_ns(), journal.next_row
    for state in readers(journal.path):
        is_here = state.boot_id == boot_id()
        yield {
            "reader": state.reader,
            "committed_row": state.committed_row,
            "is_living": state.is_living(now_ns, info.reader_lease_s),
            "is_of_this_epoch": state.journal_epoch == info.journal_epoch,
            "pid": state.pid,
            "is_running": is_here and process_exists(state.pid),
            "seen_at_ns": state.seen_at_ns,
            "lease_left_ns": state.seen_monotonic_ns + info.reader_lease_s * 1_000_000_000 - now_ns,
            "behind_rows": next_row - state.committed_row,
        }
