# SPDX-License-Identifier: Apache-2.0
"""What a task does: one range of rows, read from the mapped segments. Attaches by itself, and keeps nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from framegate.joinbarrier.flight.ticket import Payload as FarPayload
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.journal.walk import OnLoss
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows
from framegate.joinbarrier.spark.read.far_table import FarTable, is_here
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.joinbarrier.tables.shape import gathered, pieces, shaped, wanted_schema
from framegate.schema.errors import JournalDamaged, ReaderFenced, SchemaChanged
from framegate.shmpool.clock import Clock, monotonic_ns

if TYPE_CHECKING:
    from framegate.joinbarrier.spark.read.filters import Comparison

RENEW_NS: Final = 1_000_000_000
_log = logging.getLogger(__name__)


def read_range(
    wanted: RangeOfRows,
    options: SourceOptions,
    inputs: Sequence[str],
    comparisons: Sequence[Comparison] = (),
    *,
    may_be_fenced: bool = False,
    clock: Clock = monotonic_ns,
) -> Iterator[pa.RecordBatch]:
    """The rows of a range, in pieces. Raises DataLoss, JournalRecreated, SchemaChanged, ReaderFenced, JournalDamaged.

    ``may_be_fenced``: a later claim of the reader's name is no error here, only the end of what this one keeps.
    """
    on_loss: OnLoss = "error" if options.fail_on_data_loss else "skip"
    if options.access is not None and wanted.origin is not None and not is_here(wanted.origin, wanted.epoch, options):
        with FarTable(
            wanted.path, wanted.origin, wanted.epoch, tuple(inputs), options.access, options.table, on_loss
        ) as far:
            lease = _Lease(far, options.reader_name, wanted.claim, clock, may_be_fenced=may_be_fenced)
            yield from _finished(_far_pieces(far, wanted, options, lease), options, comparisons)
        return
    table = JournalTable(wanted.path, options.table, on_loss, origin=wanted.origin)
    table.check_epoch(wanted.epoch)
    if options.table == "rows" and table.inputs != tuple(inputs):
        raise SchemaChanged(
            "the journal has other inputs than the query",
            path=table.journal.path,
            want=",".join(inputs),
            have=",".join(table.inputs),
        )
    lease = _Lease(table, options.reader_name, wanted.claim, clock, may_be_fenced=may_be_fenced)
    yield from _finished(_pieces(table, wanted, options, inputs, lease), options, comparisons)


def _finished(
    found: Iterator[pa.RecordBatch], options: SourceOptions, comparisons: Sequence[Comparison]
) -> Iterator[pa.RecordBatch]:
    # Payloads stay where they are; what goes without them is small.
    for piece in found if options.payload == "value" else gathered(found):
        yield _passing(piece, comparisons)


def _pieces(
    table: JournalTable, wanted: RangeOfRows, options: SourceOptions, inputs: Sequence[str], lease: _Lease
) -> Iterator[pa.RecordBatch]:
    schema = wanted_schema(options.table, inputs, options.payload)
    given = 0
    for batch, segment in table.batches(wanted.first_row, wanted.end_row, wanted.spot):
        lease.renew_if_due()
        whole = shaped(batch, segment, options.table, options.payload, schema)
        first = max(wanted.first_row - batch.first_row, 0)
        part = whole.slice(first, wanted.end_row - batch.first_row - first)
        if options.table == "rows":
            _check_rows(part, batch.first_row + first, segment)
        given += part.num_rows
        column_bytes = batch.column_bytes if options.payload == "value" else whole.nbytes
        yield from pieces(part, column_bytes * part.num_rows // max(whole.num_rows, 1))
    _say_missing(wanted, given)


def _far_pieces(far: FarTable, wanted: RangeOfRows, options: SourceOptions, lease: _Lease) -> Iterator[pa.RecordBatch]:
    """The same rows from the journal's server."""
    payload: FarPayload = "none" if options.payload == "none" else "value"
    given = 0
    lease.renew_if_due()
    for batch in far.batches(wanted.first_row, wanted.end_row, payload, wanted.spot):
        lease.renew_if_due()
        given += batch.num_rows
        yield batch
    _say_missing(wanted, given)


def _say_missing(wanted: RangeOfRows, given: int) -> None:
    missing = wanted.end_row - wanted.first_row - given
    if missing:
        # Gone since the query was planned, and wished to be passed over.
        _log.warning("%s: %d rows are gone and were passed over (failOnDataLoss=false)", wanted.path, missing)


def _check_rows(part: pa.RecordBatch, first_row: int, segment: Segment) -> None:
    """The first and the last row of what is given must be those that were asked for."""
    rows = part.column("row")
    want = (first_row, first_row + part.num_rows - 1)
    have = (rows[0].as_py(), rows[-1].as_py())
    if have != want:
        raise JournalDamaged("a batch has other rows than it says", path=segment.path, want=want, have=have)


def _passing(piece: pa.RecordBatch, comparisons: Sequence[Comparison]) -> pa.RecordBatch:
    if not comparisons:
        return piece
    from framegate.joinbarrier.spark.read.filters import passing

    return passing(piece, comparisons)


class _Lease:
    """Says from inside a task that the query lives, in case the driver's side is too busy to."""

    def __init__(
        self, table: JournalTable | FarTable, name: str | None, claim: int | None, clock: Clock, *, may_be_fenced: bool
    ) -> None:
        self._table, self._name, self._claim, self._clock = table, name, claim, clock
        self._may_be_fenced = may_be_fenced
        self._renewed_ns: int | None = None

    def renew_if_due(self) -> None:
        if self._name is None or self._claim is None:
            return
        now_ns = self._clock()
        if self._renewed_ns is not None and now_ns - self._renewed_ns < RENEW_NS:
            return
        self._renewed_ns = now_ns
        try:
            self._table.renew(self._name, self._claim)
        except ReaderFenced:
            if not self._may_be_fenced:
                raise
