# SPDX-License-Identifier: Apache-2.0
"""The rows of a journal, read by pyarrow from its Arrow files as any program reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

SKIPPED_BYTES = 8
"""An open segment without its first 8 bytes is an Arrow stream, up to the last batch that was sealed."""


def read_rows(journal: Path) -> list[dict[str, Any]]:
    """Every sealed row, without its payloads."""
    return [row for batch in _batches(journal / "segments") for row in _without_payloads(batch).to_pylist()]


def newest_row(journal: Path) -> int:
    """The number of the newest sealed row; -1 before the first."""
    rows = [batch.column("row")[-1].as_py() for batch in _batches(journal / "segments") if batch.num_rows]
    return int(rows[-1]) if rows else -1


def read_unmatched(journal: Path) -> list[dict[str, Any]]:
    """Every sealed entry of the unmatched table."""
    return [row for batch in _batches(journal / "unmatched") for row in batch.to_pylist()]


def seqs(journal: Path, *names: str) -> list[tuple[int | None, ...]]:
    """The sequences of some inputs, row by row."""
    return [tuple(row[name]["seq"] for name in names) for row in read_rows(journal)]


def _without_payloads(batch: pa.RecordBatch) -> pa.Table:
    table = pa.Table.from_batches([batch])
    for number, field in enumerate(table.schema):
        if pa.types.is_struct(field.type):
            cells = table.column(number).combine_chunks()
            kept = [each.name for each in field.type if each.name != "payload"]
            struct = pa.StructArray.from_arrays([cells.field(name) for name in kept], kept)
            table = table.set_column(number, field.name, struct)
    return table


def _batches(folder: Path) -> Iterator[pa.RecordBatch]:
    for path in sorted(folder.glob("[0-9]*.*")):
        try:
            data, is_finished = _bytes(path), path.suffix == ".arrow"
        except FileNotFoundError:
            # It was finished since it was listed, and has the name of a finished one.
            data, is_finished = _bytes(path.with_suffix(".arrow")), True
        if is_finished:
            with pa.ipc.open_file(data) as file:
                yield from (file.get_batch(index) for index in range(file.num_record_batches))
        else:
            with pa.ipc.open_stream(data.slice(SKIPPED_BYTES)) as stream:
                yield from stream


def _bytes(path: Path) -> pa.Buffer:
    with pa.memory_map(str(path)) as mapped:
        return mapped.read_buffer()
