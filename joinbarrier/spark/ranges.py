# SPDX-License-Identifier: Apache-2.0
"""From a range of rows of one journal to the tasks that read it, for batch and streaming queries alike."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from framegate.joinbarrier.journal.walk import Spot
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """How many tasks a query wants, over all its journals."""

    cores: int
    partitions_min: int | None
    journals: int

    def of(self, table: SourceTable, first_row: int, end_row: int, claim: int | None) -> list[RangeOfRows]:
        """The tasks of one journal's rows. Raises DataLoss for rows that are gone, where that is not wished.

        Each journal gives its share of the tasks that were asked for.
        """
        extents = table.extents(first_row, end_row)
        _report_lost(table, first_row, end_row, extents)
        share = None if self.partitions_min is None else -(-self.partitions_min // self.journals)
        cuts = partition(extents, cores=self.cores, wanted=share)
        return [
            RangeOfRows(table.path, table.epoch, first, end, claim, table.spot(first), table.origin)
            for first, end in cuts
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
