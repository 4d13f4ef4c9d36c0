# SPDX-License-Identifier: Apache-2.0
"""Sealed batches in the shape that a query wants: with payloads, references to them, or neither. Nothing is copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import pyarrow as pa
from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.schema import INPUT_TYPE, ROW_FIELDS, UNMATCHED_SCHEMA, rows_schema
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.tables.references import references

PAYLOAD: Final = "payload"
REFERENCE: Final = "ref"
YIELD_BYTES: Final = 16 << 20
"""The size of the pieces in which a batch goes to the JVM, because Spark holds each piece whole, more than once."""

GATHER_BYTES: Final = 1 << 20
"""Smaller pieces are joined up to about this size: a sealed batch often has only two or three rows."""

_CELLS: Final = tuple(
    INPUT_TYPE.field(index) for index in range(INPUT_TYPE.num_fields) if INPUT_TYPE.field(index).name != PAYLOAD
)


Payload = Literal["value", "reference", "none"]
"""What a row carries of a frame: its bytes, a reference to them, or neither."""


def input_type(payload: Payload) -> pa.StructType:
    """The type of an input's column."""
    if payload == "value":
        return INPUT_TYPE
    return pa.struct([*_CELLS, pa.field(REFERENCE, pa.utf8())] if payload == "reference" else _CELLS)


def wanted_schema(table: Table, inputs: Sequence[str], payload: Payload) -> pa.Schema:
    """The schema of every batch of a query."""
    if table == "unmatched":
        return UNMATCHED_SCHEMA
    if payload == "value":
        return rows_schema(inputs)
    return pa.schema([*ROW_FIELDS, *(pa.field(name, input_type(payload)) for name in inputs)])


def shaped(batch: Batch, segment: Segment, table: Table, payload: Payload, schema: pa.Schema) -> pa.RecordBatch:
    """The batch as ``schema`` wants it."""
    found = batch.record_batch
    columns = list(found.columns)
    if table == "rows" and payload != "value":
        scalars = len(ROW_FIELDS)
        columns[scalars:] = [_without_payload(column, batch, segment, payload) for column in columns[scalars:]]
    # The types are the same, but Spark expects another name for the values of a list. Arrow does not compare that
    # name.
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _without_payload(column: pa.StructArray, batch: Batch, segment: Segment, payload: Payload) -> pa.StructArray:
    kept = [column.field(field.name) for field in _CELLS]
    if payload == "reference":
        kept.append(references(column.field(PAYLOAD), batch.memory, segment))
    return pa.StructArray.from_arrays(kept, fields=list(input_type(payload)))


def pieces(batch: pa.RecordBatch, column_bytes: int) -> Iterator[pa.RecordBatch]:
    """The batch in slices of about ``YIELD_BYTES``, of one row at least."""
    rows = max(batch.num_rows * YIELD_BYTES // max(column_bytes, 1), 1)
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)


def gathered(small: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, copied into fewer batches: each batch costs Spark and its workers as much as some hundred rows."""
    waiting, waiting_bytes = list[pa.RecordBatch](), 0
    for batch in small:
        waiting.append(batch)
        waiting_bytes += batch.nbytes
        if waiting_bytes >= GATHER_BYTES:
            yield _together(waiting)
            waiting, waiting_bytes = [], 0
    if waiting:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    # pyarrow has this as concat_batches from version 19 on. A table without rows has no batches.
    return next(iter(pa.Table.from_batches(batches).combine_chunks().to_batches()), batches[0])
