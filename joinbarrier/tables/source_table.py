# SPDX-License-Identifier: Apache-2.0
"""What queries ask of a table, whether its journal is local or on another host, behind a server."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.walk import Spot
from framegate.joinbarrier.tables.extents import Extent, Limit
from framegate.joinbarrier.tables.offsets import Position


@dataclass(frozen=True, slots=True)
class Origin:
    """A journal as its server describes it. A task can tell from it whether it runs on the same host."""

    endpoint: str
    directory: str
    boot_id: str


class Claim(Protocol):
    """One claim of a reader's name. Raises ReaderFenced once another reader has claimed the name."""

    @property
    def number(self) -> int:
        """The number of the claim."""

    @property
    def committed_row(self) -> int:
        """The first row that the reader has not finished."""

    def commit(self, row: int) -> None:
        """Note that every row before ``row`` is finished. This also renews the lease."""


class SourceTable(Protocol):
    """One table of one journal, as Spark's driver process uses it."""

    path: str
    """The name that the query uses for the journal."""
    table: Table
    epoch: int

    @property
    def is_far(self) -> bool:
        """Whether a question goes to a server, which may take a while to answer."""

    @property
    def place(self) -> str:
        """The location of the journal, for people."""

    @property
    def identity(self) -> Hashable:
        """A value that is the same for every name and address of this journal."""

    @property
    def origin(self) -> Origin | None:
        """Where a task finds the journal; None if it is at ``path``."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the journal's inputs."""

    @property
    def reader_lease_s(self) -> int:
        """The seconds for which a silent reader keeps its rows."""

    def check_epoch(self, wanted: int) -> None:
        """Raise JournalRecreated if an offset is of another epoch of the journal."""

    def first_row(self) -> int:
        """The oldest row that the journal still holds."""

    def sealed_row(self) -> int:
        """The row after the last sealed one."""

    def latest_row(self) -> int:
        """The row after the last sealed one, read in the fastest way."""

    def position(self, row: int) -> Position:
        """The position of a row in this epoch of the journal."""

    def extents(self, first_row: int, end_row: int, limit: Limit | None = None) -> list[Extent]:
        """The sealed batches of a range. They end where ``limit`` is reached."""

    def spot(self, row: int) -> Spot | None:
        """The place of the batch with this row, if ``extents`` has passed it."""

    def next_checkpoint(self, first_row: int, end_row: int) -> int:
        """The first row in the range that belongs to a later checkpoint than its first row; the range's end if none
        does."""

    def joined_us(self, row: int) -> int:
        """When a row was joined, in microseconds since 1970. Raises DataLoss if the row is gone."""

    def claim(self, name: str, first_row: int) -> Claim:
        """Claim a reader's name. A new reader begins at ``first_row``."""
