# SPDX-License-Identifier: Apache-2.0
"""What queries ask of a table, wherever its journal lies: here, or behind a server of another host."""

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
    """A journal as its server describes it: enough for a task to see whether it runs on the same host."""

    endpoint: str
    directory: str
    boot_id: str


class Claim(Protocol):
    """One claim of a reader's name. Raises ReaderFenced once somebody else has claimed it."""

    @property
    def number(self) -> int:
        """Of the claim."""

    @property
    def committed_row(self) -> int:
        """The first row that is not done."""

    def commit(self, row: int) -> None:
        """Every row before ``row`` is done; this also renews the lease."""


class SourceTable(Protocol):
    """One table of one journal, for the driver's side of a query."""

    path: str
    """What the query calls the journal."""
    table: Table
    epoch: int

    @property
    def is_far(self) -> bool:
        """Whether a question goes to a server, and may have to wait for it."""

    @property
    def place(self) -> str:
        """Where it lies, for people."""

    @property
    def identity(self) -> Hashable:
        """The same for every name and address that leads to this journal."""

    @property
    def origin(self) -> Origin | None:
        """Where a task finds it; None: under ``path``."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs."""

    @property
    def reader_lease_s(self) -> int:
        """How long a reader that is silent keeps its rows."""

    def check_epoch(self, wanted: int) -> None:
        """Raises JournalRecreated when an offset is of another life of the journal."""

    def first_row(self) -> int:
        """The oldest row that is still there."""

    def sealed_row(self) -> int:
        """The row after the last that is sealed."""

    def latest_row(self) -> int:
        """The same, as fast as it can be known."""

    def position(self, row: int) -> Position:
        """A row of this life."""

    def extents(self, first_row: int, end_row: int, limit: Limit | None = None) -> list[Extent]:
        """The sealed batches of a range, no further than ``limit`` needs."""

    def spot(self, row: int) -> Spot | None:
        """Where the batch with this row lies, when ``extents`` came by there."""

    def next_checkpoint(self, first_row: int, end_row: int) -> int:
        """The first row behind another checkpoint than the range's first row; its end when there is none."""

    def joined_us(self, row: int) -> int:
        """When a row was joined, in microseconds since 1970. Raises DataLoss for one that is gone."""

    def claim(self, name: str, first_row: int) -> Claim:
        """Take a reader's name; a new one begins at ``first_row``."""
