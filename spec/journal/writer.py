# SPDX-License-Identifier: Apache-2.0
"""The journal's writer in plain Python: the executable specification of the native one (PROTOCOL, chapter Journal).

Each seal makes one batch, laid out by Arrow. This writer reuses no files, and recovers only what it wrote itself.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.layout import (
    CLOSED,
    FOLDERS,
    FORMAT,
    HEAD,
    HEAD_BYTES,
    HEAD_MAGIC,
    RUNNING,
    HeadWord,
    SegmentName,
    Table,
    segment_names,
)
from framegate.joinbarrier.journal.schema import UNMATCHED_SCHEMA, rows_schema
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.journal.walk import Walk
from framegate.shmpool.clock import Clock, monotonic_ns, realtime_ns
from framegate.spec.journal.segment import SegmentFile, padded_state

_NOTHING: Final = dict.fromkeys(("seq", "timestamp_ns", "epoch", "trace_id", "dtype", "shape", "payload"))


class ReferenceJournalWriter:
    """Writes a journal into a directory, and continues one of the same epoch."""

    def __init__(
        self,
        directory: Path,
        inputs: Sequence[str],
        *,
        out_stream: int,
        journal_epoch: int,
        segment_bytes: int = 1 << 20,
        state_capacity: int = 1024,
        clock: Clock = monotonic_ns,
    ) -> None:
        self.directory, self._out_stream, self._journal_epoch = directory, out_stream, journal_epoch
        self._segment_bytes, self._state_capacity, self._clock = segment_bytes, state_capacity, clock
        self._schemas: dict[Table, pa.Schema] = {"rows": rows_schema(inputs), "unmatched": UNMATCHED_SCHEMA}
        self._open: dict[Table, SegmentFile] = {}
        self._pending: dict[Table, list[dict[str, Any]]] = {"rows": [], "unmatched": []}
        self._sealed: dict[Table, int] = {"rows": 0, "unmatched": 0}
        self.seals = 0
        self.state: Mapping[str, Any] | None = None
        for table in ("rows", "unmatched"):
            (directory / FOLDERS[table]).mkdir(exist_ok=True)
            self._recover(table)
        self._head = _head(directory)
        self._tell(RUNNING)

    @property
    def next_row(self) -> int:
        """The number of the next row that ``append`` makes."""
        return self._sealed["rows"] + len(self._pending["rows"])

    def append(self, inputs: Mapping[str, npt.NDArray[Any] | str], *, cells: Mapping[str, Any] = {}, **row: Any) -> int:
        """Add a row: an array for each present input, a status for each absent one.

        ``cells`` replaces fields of inputs by ``{input: {field: value}}``, ``row`` replaces fields of the row.
        """
        number = self.next_row
        made = {
            "row": number,
            "out_stream": self._out_stream,
            "journal_epoch": self._journal_epoch,
            "out_epoch": 1,
            "out_seq": number,
            "joined_at": realtime_ns() // 1000,
            "map_version": 1,
            "checkpoint_id": 0,
            **row,
        }
        for name, given in inputs.items():
            made[name] = {**_cell(given, number), **cells.get(name, {})}
        self._pending["rows"].append(made)
        return number

    def unmatched(self, input_name: str, seq: int, cause: str, **entry: Any) -> None:
        """Add an entry to the unmatched table."""
        made = {"input": input_name, "stream": 1, "epoch": 1, "seq": seq, "seq_last": seq, "at_ns": realtime_ns()}
        self._pending["unmatched"].append({**made, "cause": cause, **entry})

    def seal(self, state: Mapping[str, Any] | None = None) -> int:
        """Seal what was added, unmatched entries first; return the number of the seal. A batch may have no rows."""
        self.seals += 1
        if self._pending["unmatched"]:
            self._seal("unmatched", {"seal": self.seals})
        self._seal("rows", dict(state or self.state or {}))
        self._tell(RUNNING)
        return self.seals

    def finish_segment(self, table: Table = "rows", *, is_cut: bool = True) -> None:
        """Finish the open segment; the next seal begins another one."""
        if table in self._open:
            self._open.pop(table).finish(is_cut=is_cut)

    def drop_oldest(self) -> None:
        """Unlink the oldest segment, as retention does."""
        (self.directory / FOLDERS["rows"] / str(segment_names(self.directory, "rows")[0])).unlink()
        self._tell(RUNNING)

    def heartbeat(self) -> None:
        """Say that the writer is alive."""
        self._set(HeadWord.HEARTBEAT_NS, self._clock())

    def close(self, state: Mapping[str, Any] | None = None) -> None:
        """Seal what is left, and mark the journal as closed."""
        if any(self._pending.values()) or state is not None:
            self.seal(state)
        for table in list(self._open):
            self.finish_segment(table)
        self._tell(CLOSED)

    def _seal(self, table: Table, state: dict[str, Any]) -> None:
        pending = self._pending[table]
        columns = pa.RecordBatch.from_pylist(pending, schema=self._schemas[table])
        padded = padded_state(state, self._state_capacity)
        if table in self._open and not self._open[table].has_space(columns, padded):
            self.finish_segment(table)
        segment = self._open[table] = self._open.get(table) or self._new_segment(table, columns.nbytes)
        numbers = {
            "first_row": self._sealed[table],
            "rows": len(pending),
            "generation": segment.facts["generation"],
            "seal": self.seals,
            "sealed_at_ns": realtime_ns(),
        }
        segment.seal(columns, padded, numbers)
        self._sealed[table] += len(pending)
        pending.clear()
        if table == "rows":
            self.state = state

    def _new_segment(self, table: Table, batch_bytes: int) -> SegmentFile:
        names = segment_names(self.directory, table)
        ordinal = names[-1].ordinal + 1 if names else 1
        name = SegmentName(ordinal, self._sealed["rows"] if table == "rows" else None, is_open=True)
        file_bytes = max(self._segment_bytes, 2 * batch_bytes + (1 << 16))
        return SegmentFile(self._path(table, name), self._schemas[table], self._facts(table, ordinal), file_bytes)

    def _facts(self, table: Table, ordinal: int) -> dict[str, Any]:
        return {
            "table": table,
            "out_stream": self._out_stream,
            "journal_epoch": self._journal_epoch,
            "ordinal": ordinal,
            "generation": 1,
        }

    def _path(self, table: Table, name: SegmentName) -> Path:
        return self.directory / FOLDERS[table] / str(name)

    def _recover(self, table: Table) -> None:
        names = segment_names(self.directory, table)
        walk = Walk(self.directory, table, self._schemas[table], self._journal_epoch, Segment.read)
        kept = list[Batch]()
        while names and (batch := walk.next()) is not None:
            batch.check()
            assert walk.segment is not None  # noqa: S101 - it has just given a batch
            if walk.segment.name.ordinal == names[-1].ordinal:
                kept.append(batch)
            self._sealed[table] = batch.end_row
            if table == "rows":
                self.seals, self.state = batch.numbers.seal, batch.state
        if names and names[-1].is_open:
            path, facts = self._path(table, names[-1]), self._facts(table, names[-1].ordinal)
            self._open[table] = SegmentFile(path, self._schemas[table], facts, path.stat().st_size, tuple(kept))

    def _tell(self, state: int) -> None:
        names = segment_names(self.directory, "rows")
        rows = self._open.get("rows")
        self._set(HeadWord.JOURNAL_EPOCH, self._journal_epoch)
        self._set(HeadWord.WRITER_PID, os.getpid())
        self._set(HeadWord.OPEN_ORDINAL, names[-1].ordinal if names else 0)
        self._set(HeadWord.OPEN_FIRST_ROW, (names[-1].first_row or 0) if names else 0)
        self._set(HeadWord.OPEN_SEALED_BYTES, rows.sealed_bytes if rows else 0)
        self._set(HeadWord.FIRST_ROW, (names[0].first_row or 0) if names else 0)
        self._set(HeadWord.SEALS, self.seals)
        self._set(HeadWord.UNMATCHED_ROWS, self._sealed["unmatched"])
        self._set(HeadWord.OPEN_GENERATION, 1)
        self.heartbeat()
        self._set(HeadWord.NEXT_ROW, self._sealed["rows"])
        self._set(HeadWord.STATE, state)
        self._set(HeadWord.VERSION, FORMAT)
        self._set(HeadWord.MAGIC, HEAD_MAGIC)

    def _set(self, word: HeadWord, value: int) -> None:
        self._head[word] = value


def _head(directory: Path) -> memoryview:
    descriptor = os.open(directory / HEAD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.ftruncate(descriptor, HEAD_BYTES)
        return memoryview(mmap.mmap(descriptor, HEAD_BYTES)).cast("Q")
    finally:
        os.close(descriptor)


def _cell(given: npt.NDArray[Any] | str, number: int) -> dict[str, Any]:
    if isinstance(given, str):
        return {"status": given, **_NOTHING}
    array = np.ascontiguousarray(given)
    return {
        "status": "present",
        "seq": number,
        "timestamp_ns": number * 1_000_000,
        "epoch": 1,
        "trace_id": 0,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "payload": array.tobytes(),
    }
