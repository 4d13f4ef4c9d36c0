# SPDX-License-Identifier: Apache-2.0
"""Checks what a stream brings against what was asked for: the rows, their order, their columns, and that none is
missing. Nothing from the network is trusted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.serving import COVERED
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.schema.errors import FlightFailed
from framegate.shmpool.clock import monotonic_ns
from pyarrow import flight

_LOOKS_PER_TIMEOUT: Final = 4


@dataclass(frozen=True, slots=True)
class Received:
    """A batch, with the rows that it covers."""

    batch: pa.RecordBatch
    first_row: int
    end_row: int


def received(
    reader: flight.FlightStreamReader, ticket: Ticket, schema: pa.Schema, timeout_s: float, endpoint: Endpoint
) -> Iterator[Received]:
    """The checked batches of one stream. Raises FlightFailed, and whatever Arrow raises."""
    next_row = ticket.first_row
    with _Silence(reader, timeout_s) as silence:
        try:
            while True:
                with silence:
                    chunk = _next(reader)
                if chunk is None:
                    break
                each = _checked(chunk, ticket, next_row, schema, endpoint)
                next_row = each.end_row
                yield each
        finally:
            reader.cancel()  # A task may stop early; it must leave no stream open.
    if next_row < ticket.end_row and ticket.on_loss == "error":
        raise FlightFailed("rows are missing", endpoint=endpoint, want=ticket.end_row, have=next_row)


def _next(reader: flight.FlightStreamReader) -> flight.FlightStreamChunk | None:
    try:
        return reader.read_chunk()
    except StopIteration:
        return None


def _checked(
    chunk: flight.FlightStreamChunk, ticket: Ticket, next_row: int, schema: pa.Schema, endpoint: Endpoint
) -> Received:
    batch, covered = chunk.data, chunk.app_metadata
    if batch is None or covered is None or covered.size != COVERED.size:
        raise FlightFailed("a batch does not say which rows it covers", endpoint=endpoint)
    first, end = COVERED.unpack(covered.to_pybytes())
    is_next = first == next_row or (ticket.on_loss == "skip" and first > next_row)
    if not is_next or not first < end <= ticket.end_row or end - first != batch.num_rows:
        raise FlightFailed(
            "not the rows that come next",
            endpoint=endpoint,
            want_first=next_row,
            want_end_max=ticket.end_row,
            have_first=first,
            have_end=end,
            rows=batch.num_rows,
        )
    if [field.type for field in batch.schema] != [field.type for field in schema] or batch.schema.names != schema.names:
        raise FlightFailed("not the columns of the table", endpoint=endpoint, have=",".join(batch.schema.names)[:200])
    batch.validate(full=True)
    if ticket.table == "rows":
        rows = batch.column("row")
        if (rows[0].as_py(), rows[-1].as_py()) != (first, end - 1):
            raise FlightFailed("a batch has other rows than it says", endpoint=endpoint, want_first=first, want_end=end)
    # The types are equal. But Spark also expects certain names for the values of lists, which Arrow does not compare.
    return Received(pa.RecordBatch.from_arrays(batch.columns, schema=schema), first, end)


class _Silence:
    """Ends a stream whose server is silent while a batch is awaited: a host that is gone does not close its
    connections.

    Enter it once for the stream, and inside that for each awaited batch.
    """

    def __init__(self, reader: flight.FlightStreamReader, timeout_s: float) -> None:
        self._reader, self._timeout_s = reader, timeout_s
        self._since_ns: int | None = None
        self._is_over = threading.Event()
        self._depth = 0
        self._thread = threading.Thread(target=self._listen, name="framegate-silence", daemon=True)

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth == 1:
            self._thread.start()
        else:
            self._since_ns = monotonic_ns()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._since_ns = None
        self._depth -= 1
        if self._depth == 0:
            self._is_over.set()
            self._thread.join()

    def _listen(self) -> None:
        while not self._is_over.wait(self._timeout_s / _LOOKS_PER_TIMEOUT):
            since_ns = self._since_ns
            if since_ns is not None and monotonic_ns() - since_ns > self._timeout_s * 1e9:
                self._reader.cancel()
