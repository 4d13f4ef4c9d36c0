# SPDX-License-Identifier: Apache-2.0
"""From ranges of rows, one of each journal, to the tasks that read them, for batch and streaming queries alike."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from framegate.joinbarrier.journal.walk import Spot
from framegate.joinbarrier.spark.at_once import asked
from framegate.joinbarrier.spark.extents import Extent, partition
from framegate.joinbarrier.spark.source_table import Origin, SourceTable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RangeOfRows:
    """What one task reads."""

    path: str
    epoch: int
    first_row: int
    end_row: int
    claim: int | None
    """The claim of the reader's name that keeps these rows."""
    spot: Spot | None = None
    """Where the batch with the first row lies: a segment may hold thousands before it."""
    origin: Origin | None = None
    """Where the journal is, if the query found it by asking a server; else it lies under ``path``."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows of one journal that a query reads now."""

    table: SourceTable
    first_row: int
    end_row: int
    claim: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """How many tasks a query wants, over all its journals."""

    cores: int
    partitions_min: int | None

    def of(self, wanted: Mapping[str, Wanted]) -> list[RangeOfRows]:
        """The tasks of all journals' rows. Raises DataLoss for rows that are gone, where that is not wished.

        The cores are shared by bytes, and a journal that has rows gets one task at least: four equal journals on two
        cores are read by four tasks, as a task costs tens of milliseconds however little it reads. Of the tasks that
        were asked for each journal gives an equal part.
        """
        tables = {path: each.table for path, each in wanted.items()}
        extents = asked(tables, lambda path, table: table.extents(wanted[path].first_row, wanted[path].end_row))
        sizes = {path: sum(extent.column_bytes for extent in found) for path, found in extents.items()}
        total_bytes = max(sum(sizes.values()), 1)
        least = None if self.partitions_min is None else -(-self.partitions_min // len(wanted))
        tasks = list[RangeOfRows]()
        for path, each in wanted.items():
            cores = max((2 * self.cores * sizes[path] + total_bytes) // (2 * total_bytes), 1)
            tasks += _cut(each, extents[path], cores, least)
        return tasks


def _cut(wanted: Wanted, extents: list[Extent], cores: int, least: int | None) -> list[RangeOfRows]:
    """The tasks of one journal."""
    table = wanted.table
    _report_lost(table, wanted.first_row, wanted.end_row, extents)
    return [
        RangeOfRows(table.path, table.epoch, first, end, wanted.claim, table.spot(first), table.origin)
        for first, end in partition(extents, cores=cores, wanted=least)
    ]


def _report_lost(table: SourceTable, first_row: int, end_row: int, extents: list[Extent]) -> None:
    """Say how many rows of a range were passed over because they are gone."""
    lost = end_row - first_row - sum(extent.rows for extent in extents)
    if lost:
        _log.warning(
            "%s: %d rows of %d to %d are gone and were passed over (failOnDataLoss=false)",
            table.place,
            lost,
            first_row,
            end_row - 1,
        )
