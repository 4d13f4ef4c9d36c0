# SPDX-License-Identifier: Apache-2.0
"""``framegate journal ls``: what a journal is, its segments and its readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.layout import FOLDERS, SegmentName, Table, segment_names
from framegate.joinbarrier.journal.readers import readers
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE
from framegate.shmpool.clock import monotonic_ns


def ls(directory: Path, *, as_json: bool) -> int:
    """Print it; the exit code."""
    journal = Journal(directory)
    about = _about(journal)
    segments = list(_segments(journal))
    named = list(_readers(journal))
    if as_json:
        for event, entries in (("journal", [about]), ("segment", segments), ("reader", named)):
            for entry in entries:
                emit({"event": event, **entry})
        return DONE
    inputs = ", ".join(f"{each['name']} (stream {each['stream']})" for each in about["inputs"])
    print(f"output {about['out_stream']}, {about['policy']}: {inputs}")
    print(f"rows {about['first_row']}:{about['next_row']}, epoch {about['journal_epoch']}, writer {about['writer']}")
    for entries in (segments, named):
        if entries:
            print_table(list(entries[0]), [[str(value) for value in entry.values()] for entry in entries])
    return DONE


def writer_state(directory: Path) -> str:
    """``running``, ``closed``, ``gone`` (it ended in bad order), or ``unknown`` without a head."""
    head = Head.open(directory)
    if head is None:
        return "unknown"
    return "closed" if head.is_closed else "running" if head.is_writer_alive(monotonic_ns()) else "gone"


def _about(journal: Journal) -> dict[str, Any]:
    info = journal.info
    return {
        "path": str(journal.path),
        "out_stream": info.out_stream,
        "policy": info.policy,
        "journal_epoch": info.journal_epoch,
        "first_row": journal.first_row,
        "next_row": journal.next_row,
        "inputs": [{"name": each.name, "stream": each.stream} for each in info.inputs],
        "maps": [dict(each) for each in info.maps],
        "writer": writer_state(journal.path),
    }


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
    info, now_ns = journal.info, monotonic_ns()
    for state in readers(journal.path):
        yield {
            "reader": state.reader,
            "committed_row": state.committed_row,
            "is_living": state.is_living(now_ns, info.reader_lease_s),
            "is_of_this_epoch": state.journal_epoch == info.journal_epoch,
            "pid": state.pid,
        }
