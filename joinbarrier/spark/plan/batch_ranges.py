# SPDX-License-Identifier: Apache-2.0
"""What the driver's side of a batch query decides: which rows, and which task reads which of them. Knows no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.parallel_questions import ask_each
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows, Tasks, Wanted
from framegate.joinbarrier.spark.plan.starting import open_tables, resolved, starts
from framegate.joinbarrier.tables.offsets import EARLIEST, LATEST, Wish, wishes
from framegate.joinbarrier.tables.source_table import SourceTable
from framegate.schema.errors import ConflictingOptions, WrongOption

if TYPE_CHECKING:
    from framegate.joinbarrier.spark.read.filters import Comparison


def batch_ranges(options: SourceOptions, comparisons: Sequence[Comparison], *, cores: int) -> list[RangeOfRows]:
    """The tasks of a batch query over what is sealed now."""
    tables = open_tables(options)
    begins = starts(options, "earliest")
    ends = wishes("endingOffsets", options.ending_offsets or "latest", options.paths)
    _check("startingOffsets", begins, refused=LATEST)
    _check("endingOffsets", ends, refused=EARLIEST)
    tasks = Tasks(cores=cores, partitions_min=options.partitions_min)
    return tasks.of(
        ask_each(tables, lambda path, table: _wanted(table, begins[path], ends[path], options, comparisons))
    )


def _wanted(
    table: SourceTable, start: Wish, end: Wish, options: SourceOptions, comparisons: Sequence[Comparison]
) -> Wanted:
    claim = _claimed(table, options, start)
    first, last = resolved(table, start, options).row, resolved(table, end, options).row
    if start.joined_us is not None:
        first = min(first, last)  # Nothing was joined so late.
    if first > last:
        raise ConflictingOptions(
            "the range ends before it begins", options="startingOffsets,endingOffsets", start=first, end=last
        )
    first, last = _narrowed(first, last, comparisons)
    return Wanted(table, first, last, claim)


def _narrowed(first: int, last: int, comparisons: Sequence[Comparison]) -> tuple[int, int]:
    if not comparisons:
        return first, last
    from framegate.joinbarrier.spark.read.filters import range_of_rows

    return range_of_rows(comparisons, first, last)


def _claimed(table: SourceTable, options: SourceOptions, start: Wish) -> int | None:
    """Rows are kept from before they are counted until the lease is over: nobody says when a batch query has ended."""
    if options.reader_name is None:
        return None
    first = table.first_row() if start.row is None else start.row
    return table.claim(options.reader_name, first).number


def _check(option: str, found: dict[str, Wish], *, refused: Wish) -> None:
    if refused in found.values():
        raise WrongOption("a table of no rows", option=option, have="latest" if refused.is_latest else "earliest")
