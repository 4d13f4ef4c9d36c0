# SPDX-License-Identifier: Apache-2.0
"""Exports a journal's rows to one Parquet file, batch by batch. The file gets its name once it is whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from framegate.joinbarrier.journal.journal import Journal
from framegate.schema.errors import WrongUsage


def export_parquet(
    journal: Journal, target: Path, *, flatten: bool = False, on_rows: Callable[[int], None] | None = None
) -> int:
    """Write every row that is sealed now; return how many. ``flatten`` gives ``left.seq`` a column of its own;
    ``on_rows`` hears after each batch how many there are so far.

    An existing file is replaced once the new one is whole, and kept if that fails. Raises WrongUsage if there is no
    folder for it.
    """
    if not target.parent.is_dir():
        raise WrongUsage("there is no such folder to export into", path=str(target.parent))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        rows = _write(journal, temporary, flatten=flatten, on_rows=on_rows or _deaf)
        temporary.rename(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return rows


def _deaf(_rows: int) -> None:
    pass


def _write(journal: Journal, path: Path, *, flatten: bool, on_rows: Callable[[int], None]) -> int:
    rows = 0
    empty = journal.schema.empty_table()
    with path.open("xb") as file:
        with pq.ParquetWriter(file, (empty.flatten() if flatten else empty).schema) as writer:
            for batch in journal.batches():
                table = pa.Table.from_batches([batch.record_batch])
                writer.write_table(table.flatten() if flatten else table)
                rows += table.num_rows
                on_rows(rows)
        file.flush()
        os.fsync(file.fileno())
    return rows
