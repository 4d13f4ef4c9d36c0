# SPDX-License-Identifier: Apache-2.0
"""Turns a ticket into the batches of its stream: slices of the mapped segments, each with the rows that it covers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from framegate.joinbarrier.flight.streams import Stream, Streams
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.joinbarrier.tables.shape import pieces, shaped

COVERED: Final = struct.Struct("<QQ")
"""The rows that a batch covers: its first row, and the one after its final row. The unmatched table has no such column.
"""


def served_batches(
    table: JournalTable, wanted: Ticket, schema: pa.Schema, streams: Streams, stream: Stream
) -> Iterator[tuple[pa.RecordBatch, bytes]]:
    """The batches of a ticket, without a copy. Raises DataLoss, JournalRecreated, WrongOffset or JournalDamaged."""
    try:
        streams.looking(stream)
        for batch, segment in table.batches(wanted.first_row, wanted.end_row, wanted.spot):
            whole = shaped(batch, segment, wanted.table, wanted.payload, schema)
            first = max(wanted.first_row - batch.first_row, 0)
            part = whole.slice(first, wanted.end_row - batch.first_row - first)
            column_bytes = batch.column_bytes if wanted.payload == "value" else whole.nbytes
            row_bytes = column_bytes // max(whole.num_rows, 1)
            row = batch.first_row + first
            for piece in pieces(part, row_bytes * part.num_rows):
                streams.giving(stream, piece.num_rows, row_bytes * piece.num_rows)
                yield piece, COVERED.pack(row, row + piece.num_rows)
                streams.looking(stream)
                row += piece.num_rows
    finally:
        streams.close(stream)
