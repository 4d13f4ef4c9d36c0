# SPDX-License-Identifier: Apache-2.0
"""A bare pyarrow Flight server: the batches that ours would send for a whole journal, from memory. JOURNAL."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
from framegate.joinbarrier.flight.serving import served_batches
from framegate.joinbarrier.flight.streams import Streams
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.journal.schema import rows_schema
from framegate.joinbarrier.tables.journal_table import JournalTable
from pyarrow import flight


class BareServer(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow brings no types
    """Any ticket is for all batches."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        super().__init__("grpc+tcp://127.0.0.1:0")
        self._batches = batches

    def do_get(self, _context: flight.ServerCallContext, _ticket: flight.Ticket) -> flight.FlightDataStream:
        """All of them."""
        return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(self._batches[0].schema, self._batches))


def batches_of(journal: Path) -> list[pa.RecordBatch]:
    """Copies in memory, in the pieces that our server sends."""
    table = JournalTable(str(journal), "rows")
    wanted = Ticket(journal=str(journal), epoch=table.epoch, first_row=0, end_row=table.sealed_row())
    streams = Streams(streams_max=1, stall_ns=1)
    sent = served_batches(table, wanted, rows_schema(table.inputs), streams, streams.open(""))
    return [pa.ipc.read_record_batch(piece.serialize(), piece.schema) for piece, _ in sent]


if __name__ == "__main__":
    with BareServer(batches_of(Path(sys.argv[1]))) as server:
        print(json.dumps({"endpoint": f"grpc://127.0.0.1:{server.port}"}), flush=True)
        server.serve()
