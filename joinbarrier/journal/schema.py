# SPDX-License-Identifier: Apache-2.0
"""The Arrow schemas of a journal's two tables. All fields are nullable; struct columns themselves are never null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from framegate.schema.errors import JournalDamaged

import framegate._native as _native

KEY_COLUMNS: Final = ("out_epoch", "out_seq", "out_time_ns")

_TYPES: Final = {
    "int64": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "text": pa.utf8(),
    "list": pa.list_(pa.int32()),
    "binary": pa.binary(),
}
ROW_FIELDS: Final = tuple(pa.field(name, _TYPES[kind]) for name, kind in _native.journal_columns())
"""The columns of every row, from ``native/journal/src/head_columns.rs``; one struct for each input follows."""

INPUT_TYPE: Final = pa.struct([pa.field(name, _TYPES[kind]) for name, kind in _native.journal_cells()])
"""The columns of an input within a row, from ``native/journal/src/cell_columns.rs``; the payload is the final one."""

UNMATCHED_SCHEMA: Final = pa.schema(
    [
        pa.field("input", pa.utf8()),
        pa.field("stream", pa.int64()),
        pa.field("epoch", pa.int64()),
        pa.field("seq", pa.int64()),
        pa.field("seq_last", pa.int64()),
        pa.field("timestamp_ns", pa.int64()),
        pa.field("out_seq", pa.int64()),
        pa.field("at_ns", pa.int64()),
        pa.field("cause", pa.utf8()),
    ]
)


def rows_schema(inputs: Sequence[str]) -> pa.Schema:
    """The schema of the rows table of a journal with these inputs."""
    return pa.schema([*ROW_FIELDS, *(pa.field(name, INPUT_TYPE) for name in inputs)])


def check_schema(found: pa.Schema, wanted: pa.Schema) -> None:
    """Check names, types and order of the columns. Raises JournalDamaged with the first that differs.

    The name of a list's values is ignored: writers call them ``item`` or ``element``.
    """
    if len(found) != len(wanted):
        raise JournalDamaged("the columns are not the table's", want=len(wanted), have=len(found))
    for number, want in enumerate(wanted):
        try:
            have = found.field(number)
            is_same = have.name == want.name and have.type == want.type
        except UnicodeDecodeError:
            raise JournalDamaged("a column's name is no text", column=number, want=want.name) from None
        if not is_same:
            raise JournalDamaged("a column is not the table's", column=number, want=str(want), have=str(have))
