# SPDX-License-Identifier: Apache-2.0
"""Where queries begin and end: a user's wish and a journal's rows become a position."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from framegate.joinbarrier.journal.loss import dropped
from framegate.joinbarrier.journal.walk import OnLoss
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.parallel_questions import ask_in_parallel
from framegate.joinbarrier.spark.read.far_table import table_behind
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.joinbarrier.tables.offsets import Position, Wish, wishes
from framegate.joinbarrier.tables.source_table import SourceTable
from framegate.schema.errors import DataLoss, JournalsDiffer, WrongOffset, WrongOption


def open_tables(options: SourceOptions) -> dict[str, SourceTable]:
    """Every journal of a query, in the order of its options.

    Raises JournalMissing, JournalDamaged, JournalsDiffer, WrongOption, and what servers of journals raise.
    """
    on_loss: OnLoss = "error" if options.fail_on_data_loss else "skip"
    if options.access is None:
        tables: dict[str, SourceTable] = {path: JournalTable(path, options.table, on_loss) for path in options.paths}
    else:
        tables = ask_in_parallel({path: partial(table_behind, path, options, on_loss) for path in options.paths})
    _check_distinct(tables)
    if options.table == "rows":
        _check_alike(tables)
    return tables


def _check_distinct(tables: dict[str, SourceTable]) -> None:
    """The options' own check knows texts; what two texts lead to is known now. Its rows would come twice."""
    names = dict[Hashable, str]()
    for path, table in tables.items():
        first = names.setdefault(table.identity, path)
        if first != path:
            option = "path" if table.origin is None else "endpoint"
            raise WrongOption("a journal is named twice", option=option, have=path, other=first, place=table.place)


def _check_alike(tables: dict[str, SourceTable]) -> None:
    first, *others = tables.values()
    for other in others:
        if other.inputs != first.inputs:
            raise JournalsDiffer(
                "the inputs of the journals are not the same, in the same order",
                path=first.path,
                have=",".join(first.inputs),
                other_path=other.path,
                other_have=",".join(other.inputs),
            )


def starts(options: SourceOptions, default: str) -> dict[str, Wish]:
    """Where each journal is to begin. Raises WrongOption."""
    if options.starting_us is not None:
        return dict.fromkeys(options.paths, Wish(joined_us=options.starting_us))
    return wishes("startingOffsets", options.starting_offsets or default, options.paths)


def resolved(table: SourceTable, wish: Wish, options: SourceOptions) -> Position:
    """The position that is meant. Raises DataLoss for a row that is gone, WrongOffset for one that is not there yet."""
    if wish.epoch is not None:
        table.check_epoch(wish.epoch)
    if wish.is_latest:
        return table.position(table.sealed_row())
    first = table.first_row()
    if wish.joined_us is not None:
        return table.position(_first_joined(table, wish.joined_us, first))
    if wish.row is None:
        return table.position(first)
    end = table.sealed_row()
    if wish.row > end:
        raise WrongOffset("the journal ends before this row", path=table.place, want=wish.row, have=end)
    if wish.row < first and options.fail_on_data_loss:
        raise dropped(table.place, wish.row, first)
    return table.position(max(wish.row, first))


def _first_joined(table: SourceTable, joined_us: int, first: int) -> int:
    """The first row that was joined at a time or later, and the row to come where none was. Times grow with rows."""
    end = table.sealed_row()
    while first < end:
        middle = (first + end) // 2
        try:
            is_before = table.joined_us(middle) < joined_us
        except DataLoss:
            is_before = True  # Gone since it was looked for, with all rows before it.
        first, end = (middle + 1, end) if is_before else (first, middle)
    return first
