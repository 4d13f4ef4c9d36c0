# SPDX-License-Identifier: Apache-2.0
"""From ranges of rows, one of each journal, to the tasks that read them, for batch and streaming queries alike."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from framegate.joinbarrier.journal.walk import Spot
from framegate.joinbarrier.spark.plan.parallel_questions import ask_each
from framegate.joinbarrier.tables.extents import Extent, partition
from framegate.joinbarrier.tables.source_table import Origin, SourceTable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RangeOfRows:
    """What one task reads of one journal."""

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
    task: int = 0
    """Its number: ranges with the same one are read by one task, one after another."""


class Part(NamedTuple):
    """Rows of one journal that a task reads, perhaps beside others."""

    path: str
    first_row: int
    end_row: int


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
        """What the tasks of all journals' rows read. Raises DataLoss for rows that are gone, where that is not wished.

        The cores are shared by bytes. Journals that lie here are read as one line: four equal ones on two cores are two
        tasks of two journals each, as a task costs tens of milliseconds however little it reads. A server may be read
        by the cores of any host, so each that has rows gets one task at least; and of the tasks that were asked for
        each journal gives an equal part.
        """
        tables = {path: each.table for path, each in wanted.items()}
        extents = ask_each(tables, lambda path, table: table.extents(wanted[path].first_row, wanted[path].end_row))
        for path, each in wanted.items():
            _report_lost(each.table, each.first_row, each.end_row, extents[path])
        if self.partitions_min is None and all(table.origin is None for table in tables.values()):
            cuts = cut_together(extents, cores=self.cores)
        else:
            cuts = [[part] for part in self._each_for_itself(extents)]
        return [_range(wanted[part.path], part, number) for number, parts in enumerate(cuts) for part in parts]

    def _each_for_itself(self, extents: Mapping[str, Sequence[Extent]]) -> Iterator[Part]:
        """A task reads one journal."""
        sizes = {path: sum(extent.column_bytes for extent in found) for path, found in extents.items()}
        total_bytes = max(sum(sizes.values()), 1)
        least = None if self.partitions_min is None else -(-self.partitions_min // len(extents))
        for path, found in extents.items():
            cores = max((2 * self.cores * sizes[path] + total_bytes) // (2 * total_bytes), 1)
            for first, end in partition(found, cores=cores, wanted=least):
                yield Part(path, first, end)


class _Stretch(NamedTuple):
    """Where a journal lies, if all were one behind another."""

    path: str
    begin: int
    end: int
    shift: int
    """What its rows are behind their places there."""


def cut_together(journals: Mapping[str, Sequence[Extent]], *, cores: int) -> list[list[Part]]:
    """The parts of each task, in the order of the journals; as many tasks as one journal of the same bytes would have.

    >>> four = {name: [Extent(100, 110, 20 << 20)] for name in "abcd"}
    >>> [[part.path for part in task] for task in cut_together(four, cores=2)]
    [['a', 'b'], ['c', 'd']]
    """
    stretches, line = list[_Stretch](), list[Extent]()
    end = 0
    for path, extents in journals.items():
        if not extents:
            continue
        shift = extents[0].first_row - end
        line += [Extent(each.first_row - shift, each.end_row - shift, each.column_bytes) for each in extents]
        stretches.append(_Stretch(path, end, line[-1].end_row, shift))
        end = line[-1].end_row
    return [list(_parts(stretches, *task)) for task in partition(line, cores=cores)]


def _parts(stretches: Sequence[_Stretch], begin: int, end: int) -> Iterator[Part]:
    for each in stretches:
        first, last = max(begin, each.begin), min(end, each.end)
        if first < last:
            yield Part(each.path, first + each.shift, last + each.shift)


def by_task(ranges: Iterable[RangeOfRows]) -> list[tuple[RangeOfRows, ...]]:
    """The ranges of each task, in its order."""
    return [tuple(own) for _, own in groupby(ranges, key=lambda each: each.task)]


def _range(wanted: Wanted, part: Part, task: int) -> RangeOfRows:
    table = wanted.table
    first, end = part.first_row, part.end_row
    return RangeOfRows(table.path, table.epoch, first, end, wanted.claim, table.spot(first), table.origin, task)


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
