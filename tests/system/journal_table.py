# SPDX-License-Identifier: Apache-2.0
"""A journal's files as any program sees them: read with pyarrow alone, none of framegate's own readers in between."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

SKIPPED_BYTES = 8
"""An open segment without its first 8 bytes is an Arrow stream, up to the last batch that was sealed."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One input of a row."""

    status: str
    seq: int | None
    epoch: int | None
    timestamp_ns: int | None
    payload: bytes = field(repr=False, default=b"")


@dataclass(frozen=True, slots=True)
class Row:
    """One row, whose inputs go by their names."""

    row: int
    journal_epoch: int
    out_epoch: int
    out_seq: int
    out_time_ns: int | None
    inputs: dict[str, Cell]

    def seqs(self, *names: str) -> tuple[int | None, ...]:
        return tuple(self.inputs[name].seq for name in names)


@dataclass(frozen=True, slots=True)
class Leftover:
    """One entry of the unmatched table."""

    input: str
    epoch: int
    seq: int
    seq_last: int
    cause: str
    timestamp_ns: int | None = None


def read_rows(journal: Path, *, payloads: bool = False) -> list[Row]:
    """Every row that is sealed, in the order of the files."""
    return [row for batch in _batches(journal / "segments") for row in _rows(batch, payloads)]


def read_leftovers(journal: Path) -> list[Leftover]:
    """Every sealed entry of the unmatched table."""
    columns = ("input", "epoch", "seq", "seq_last", "cause", "timestamp_ns")
    return [
        Leftover(*entry)
        for batch in _batches(journal / "unmatched")
        for entry in zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
    ]


def row_count(journal: Path) -> int:
    """How many rows are sealed and still there."""
    return sum(batch.num_rows for batch in _batches(journal / "segments"))


def is_finished(journal: Path) -> bool:
    """Whether a clean end left no segment open."""
    return not [*journal.glob("segments/*.open"), *journal.glob("unmatched/*.open")]


def _batches(folder: Path) -> Iterator[pa.RecordBatch]:
    # By their numbers; of one that is renamed while it is listed, once.
    found = {path.name.partition(".")[0]: path for path in folder.glob("[0-9]*.*")}
    for _, path in sorted(found.items()):
        yield from _segment(path)


def _segment(path: Path) -> Iterator[pa.RecordBatch]:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        # It was open when it was listed, or has been dropped since.
        finished = path.with_suffix(".arrow")
        if path.suffix == ".open" and finished.exists():
            yield from _segment(finished)
        return
    try:
        # While it is locked the writer does not use the file for another segment.
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        if _is_still(descriptor, path):
            yield from _messages(pa.py_buffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)), path.suffix)
        else:
            yield from _segment(path.with_suffix(".arrow"))
    finally:
        os.close(descriptor)


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _messages(data: pa.Buffer, suffix: str) -> Iterator[pa.RecordBatch]:
    if suffix == ".arrow":
        with pa.ipc.open_file(data) as reader:
            yield from (reader.get_batch(index) for index in range(reader.num_record_batches))
    else:
        with pa.ipc.open_stream(data.slice(SKIPPED_BYTES)) as reader:
            yield from reader


def _rows(batch: pa.RecordBatch, payloads: bool) -> Iterator[Row]:
    heads = ("row", "journal_epoch", "out_epoch", "out_seq", "out_time_ns")
    inputs = {
        one.name: _cells(batch.column(one.name), payloads) for one in batch.schema if pa.types.is_struct(one.type)
    }
    columns: list[list[Any]] = [batch.column(name).to_pylist() for name in heads]
    for index, (row, journal_epoch, out_epoch, out_seq, out_time_ns) in enumerate(zip(*columns, strict=True)):
        cells = {name: found[index] for name, found in inputs.items()}
        yield Row(row, journal_epoch, out_epoch, out_seq, out_time_ns, cells)


def _cells(column: Any, payloads: bool) -> list[Cell]:
    names = ("status", "seq", "epoch", "timestamp_ns") + (("payload",) if payloads else ())
    return [Cell(*cell) for cell in zip(*(column.field(name).to_pylist() for name in names), strict=True)]
