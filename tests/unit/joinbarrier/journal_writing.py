# SPDX-License-Identifier: Apache-2.0
"""A native journal in a test's own folder, and its files read without framegate's reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc as ipc

from framegate._native import JournalWriter

SEGMENT_BYTES: Final = 1 << 16
WAIT_S: Final = 60.0


@dataclass(frozen=True)
class SealedBatch:
    """One batch of a segment, with what it says about itself."""

    batch: pa.RecordBatch
    numbers: dict[str, int]
    state: bytes
    """With its padding."""


def small_writer(folder: Path, inputs: list[str], **options: Any) -> JournalWriter:
    """A writer with segments so small that a test sees them change."""
    defaults = {"segment_bytes": SEGMENT_BYTES, "max_bytes": 4 * SEGMENT_BYTES, "seal_rows": 64}
    return JournalWriter(folder, inputs, **{**defaults, **options})


def cell(payload: bytes, seq: int = 0, **values: Any) -> dict[str, Any]:
    """A present input."""
    return {"payload": payload, "seq": seq, **values}


def append(writer: JournalWriter, cells: dict[str, dict[str, Any] | None], **values: Any) -> None:
    """Append a row, sealing and waiting for segments as it comes."""
    while (outcome := writer.append(cells, **values)) != "ready":
        if outcome == "seal_first":
            writer.seal()
        else:
            assert writer.wait_for_segment(WAIT_S), writer.counters()


def files(folder: Path, table: str = "segments") -> list[Path]:
    """The segments of a table, oldest first."""
    found = [path for path in (folder / table).iterdir() if path.suffix in {".open", ".arrow"}]
    return sorted(found)


def batches(path: Path) -> list[SealedBatch]:
    """Every batch of a segment, by Arrow's own readers; an open one is read as a stream."""
    return list(_finished(path) if path.suffix == ".arrow" else _open(path))


def _finished(path: Path) -> Iterator[SealedBatch]:
    with ipc.open_file(pa.memory_map(str(path))) as reader:
        for index in range(reader.num_record_batches):
            found = reader.get_batch_with_custom_metadata(index)
            yield _sealed(found.batch, found.custom_metadata)


def _open(path: Path) -> Iterator[SealedBatch]:
    with ipc.open_stream(pa.py_buffer(path.read_bytes())[8:]) as reader:
        for batch, metadata in reader.iter_batches_with_custom_metadata():
            yield _sealed(batch, metadata)


def _sealed(batch: pa.RecordBatch, metadata: Any) -> SealedBatch:
    batch.validate(full=True)
    return SealedBatch(batch, json.loads(metadata[b"framegate.batch"]), metadata[b"framegate.state"])


def rows(folder: Path, table: str = "segments") -> list[dict[str, Any]]:
    """Every sealed row of a table."""
    return [row for path in files(folder, table) for sealed in batches(path) for row in sealed.batch.to_pylist()]
