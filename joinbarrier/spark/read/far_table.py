# SPDX-License-Identifier: Apache-2.0
"""A table whose journal a server gives: the same questions and answers as of one that lies here.

Arrow Flight is imported when the first server is asked, so that queries over directories do not wait for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.ticket import Payload as FarPayload
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.journal.description import read_description
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.loss import dropped
from framegate.joinbarrier.journal.walk import OnLoss, Spot
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.tables.extents import Extent, Limit
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.joinbarrier.tables.offsets import Position
from framegate.joinbarrier.tables.shape import wanted_schema
from framegate.joinbarrier.tables.source_table import Origin, SourceTable
from framegate.schema.errors import FlightFailed, JournalError, JournalNotServed, JournalRecreated

if TYPE_CHECKING:
    from framegate.joinbarrier.flight.client import JournalClient


def table_behind(path: str, options: SourceOptions, on_loss: OnLoss) -> SourceTable:
    """The table of the journal at an address: mapped where it lies on this host, asked for otherwise."""
    access = options.access or Access()
    endpoint = Endpoint.parse(path)
    with _client(endpoint, access) as client:
        told = _Told.of(client.ask("describe"), endpoint)
    origin = Origin(path, told.directory, told.boot_id)
    if is_here(origin, told.epoch, options):
        return JournalTable(path, options.table, on_loss, origin=origin)
    return FarTable(path, origin, told.epoch, told.inputs, access, options.table, on_loss, told.reader_lease_s)


def is_here(origin: Origin, epoch: int, options: SourceOptions) -> bool:
    """Whether this process can map the journal: the same run of the same host, the same path, the same life of it.

    The path alone says nothing: another host, or another container of this one, may have one of the same name.
    """
    if (options.access is not None and options.access.is_flight_forced) or origin.boot_id != boot_id():
        return False
    try:
        return read_description(Path(origin.directory)).journal_epoch == epoch
    except (JournalError, OSError):
        return False


@dataclass(frozen=True, slots=True)
class _Told:
    """What a server says of a journal, checked."""

    boot_id: str
    directory: str
    epoch: int
    inputs: tuple[str, ...]
    reader_lease_s: int

    @classmethod
    def of(cls, answer: Mapping[str, Any], endpoint: Endpoint) -> Self:
        """Raises JournalNotServed or FlightFailed."""
        try:
            journals = {str(each["path"]): each for each in answer["journals"]}
            found = _chosen(journals, endpoint)
            inputs = tuple(str(each) for each in found["inputs"])
            numbers = found["journal_epoch"], found["reader_lease_s"]
            if not all(type(number) is int and number >= 0 for number in numbers):
                raise ValueError(numbers)
            return cls(str(answer["boot_id"]), str(found["path"]), numbers[0], inputs, numbers[1])
        except (KeyError, TypeError, ValueError):
            raise FlightFailed("the server does not describe a journal", endpoint=endpoint) from None


def _chosen(journals: Mapping[str, Any], endpoint: Endpoint) -> Mapping[str, Any]:
    served = ",".join(sorted(journals))[:1000]
    if endpoint.journal is None and len(journals) != 1:
        raise JournalNotServed(
            "the server has several journals: which?",
            endpoint=endpoint,
            have=served,
            hint="Write the directory behind the port: grpc://HOST:PORT/DIR, one address for each journal.",
        )
    chosen = next(iter(journals)) if endpoint.journal is None else endpoint.journal
    if chosen not in journals:
        raise JournalNotServed("this server has no such journal", endpoint=endpoint, have=served)
    found: Mapping[str, Any] = journals[chosen]
    return found


@dataclass(slots=True)
class FarTable:
    """Open for one query or one task; connected when it is first asked."""

    path: str
    origin: Origin
    epoch: int
    inputs: tuple[str, ...]
    access: Access
    table: Table = "rows"
    on_loss: OnLoss = "error"
    reader_lease_s: int = 0
    _extents: list[Extent] = field(default_factory=list)
    _spots: list[Spot] = field(default_factory=list)
    """Where the batches lie that were asked for last."""
    _asked_from: int = 0
    """The row from which on they were asked for."""
    _connected: JournalClient | None = None

    @property
    def is_far(self) -> bool:
        """Always: it is asked for."""
        return True

    @property
    def identity(self) -> tuple[str, str, int]:
        """As its host says it: two containers of a host may each have a directory of this name, in other lives."""
        return self.origin.boot_id, self.origin.directory, self.epoch

    @property
    def place(self) -> str:
        """Where it lies, for people."""
        return self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._connected is not None:
            self._connected.close()

    def check_epoch(self, wanted: int) -> None:
        """Raises JournalRecreated when an offset is of another life of the journal."""
        if wanted != self.epoch:
            raise JournalRecreated(
                "the journal began anew, and rows count from 0 again", path=self.path, want=wanted, have=self.epoch
            )

    def first_row(self) -> int:
        """The oldest row that is still there."""
        return self._number(self._ask("bounds"), "first_row")

    def sealed_row(self) -> int:
        """The row after the last that is sealed."""
        return self._number(self._ask("bounds"), "end_row")

    def latest_row(self) -> int:
        """The same as the head says it: one question to the server. Raises JournalRecreated, EndpointUnreachable."""
        return self._number(self._ask("head"), "row")

    def position(self, row: int) -> Position:
        """A row of this life."""
        return Position(self.epoch, row)

    def extents(self, first_row: int, end_row: int, limit: Limit | None = None) -> list[Extent]:
        """The sealed batches of a range, its first and last cut to it; no further than ``limit`` needs.

        What was asked for last is not asked for again: a micro-batch is planned over what its end was chosen from.
        """
        if not (self._asked_from <= first_row and self._extents and end_row <= self._extents[-1].end_row):
            self._learn(first_row, end_row, limit or Limit())
        found, left = list[Extent](), limit or Limit()
        for extent in self._extents:
            part = extent.cut(first_row, end_row)
            if part.rows > 0:  # Those before the range were of an earlier one.
                found.append(part)
                left = left.less(part)
                if left.is_used_up:
                    break
        return found

    def _learn(self, first_row: int, end_row: int, limit: Limit) -> None:
        found, spots, row, hint = list[Extent](), list[Spot](), first_row, self.spot(first_row)
        while row < end_row:
            part, part_spots, next_row = self._asked_extents(row, end_row, limit, hint)
            found += part
            spots += part_spots
            for extent in part:
                limit = limit.less(extent)
            if next_row <= row or limit.is_used_up:
                break
            row, hint = next_row, spots[-1] if spots else None
        self._extents, self._spots, self._asked_from = found, spots or self._spots[-1:], first_row

    def spot(self, row: int) -> Spot | None:
        """Where the batch with this row lies, when ``extents`` came by there."""
        index = bisect_right(self._spots, row, key=lambda spot: spot.first_row) - 1
        return self._spots[index] if index >= 0 else None

    def next_checkpoint(self, first_row: int, end_row: int) -> int:
        """The first row behind another checkpoint than the range's first row; its end when there is none."""
        return self._number(self._ask("checkpoint", first_row=first_row, end_row=end_row), "row")

    def joined_us(self, row: int) -> int:
        """When a row was joined, in microseconds since 1970. Raises DataLoss for one that is gone."""
        for batch in self.batches(row, row + 1, "none"):
            return int(batch.column("joined_at")[0].value)
        raise dropped(self.path, row, row + 1)

    def claim(self, name: str, first_row: int) -> FarClaim:
        """Take a reader's name; a new one begins at ``first_row``."""
        answer = self._ask("claim", reader=name, first_row=first_row)
        return FarClaim(self, name, self._number(answer, "claim"), self._number(answer, "committed_row"))

    def renew(self, name: str, claim: int) -> None:
        """Renew a claim's lease. Raises ReaderFenced."""
        self._ask("lease", reader=name, claim=claim)

    def commit(self, name: str, claim: int, row: int) -> int:
        """Rows before ``row`` are done; the first that is not. Raises ReaderFenced."""
        return self._number(self._ask("commit", reader=name, claim=claim, row=row), "committed_row")

    def batches(
        self, first_row: int, end_row: int, payload: FarPayload, spot: Spot | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a range. Raises DataLoss, JournalRecreated, EndpointUnreachable, FlightFailed, ..."""
        wanted = Ticket(
            journal=self.origin.directory,
            epoch=self.epoch,
            first_row=first_row,
            end_row=end_row,
            table=self.table,
            payload=payload,
            on_loss=self.on_loss,
            spot=spot,
        )
        return self._client().batches(wanted, wanted_schema(self.table, self.inputs, payload))

    def _client(self) -> JournalClient:
        if self._connected is None:
            self._connected = _client(Endpoint.parse(self.origin.endpoint), self.access)
        return self._connected

    def _ask(self, action: str, **asked: Any) -> Mapping[str, Any]:
        whole = {"journal": self.origin.directory, "epoch": self.epoch, "table": self.table, "on_loss": self.on_loss}
        return self._client().ask(action, **whole, **asked)

    def _asked_extents(
        self, first_row: int, end_row: int, limit: Limit, hint: Spot | None
    ) -> tuple[list[Extent], list[Spot], int]:
        answer = self._ask(
            "extents",
            first_row=first_row,
            end_row=end_row,
            rows_max=limit.rows_max,
            bytes_max=limit.bytes_max,
            spot=hint,
        )
        found, spots, row = list[Extent](), list[Spot](), first_row
        try:
            for first, end, column_bytes, *spot in answer["extents"]:
                if not (row <= first < end <= end_row and column_bytes > 0):
                    raise ValueError(first, end)
                found.append(Extent(int(first), int(end), int(column_bytes)))
                if spot:
                    spots.append(Spot(*map(int, spot)))
                row = end
        except (KeyError, TypeError, ValueError):
            raise FlightFailed("the server does not say where rows lie", endpoint=self.path) from None
        return found, spots, self._number(answer, "next_row")

    def _number(self, answer: Mapping[str, Any], name: str) -> int:
        number = answer.get(name)
        if type(number) is not int or number < 0:
            raise FlightFailed("the server's answer lacks a number", endpoint=self.path, field=name)
        return number


class FarClaim:
    """A claim that a server holds for this query."""

    def __init__(self, table: FarTable, name: str, number: int, committed_row: int) -> None:
        self._table, self._name = table, name
        self.number = number
        self.committed_row = committed_row

    def commit(self, row: int) -> None:
        """Every row before ``row`` is done; this also renews the lease. Raises ReaderFenced."""
        self.committed_row = self._table.commit(self._name, self.number, row)


def _client(endpoint: Endpoint, access: Access) -> JournalClient:
    from framegate.joinbarrier.flight.client import JournalClient

    return JournalClient(endpoint, access)
