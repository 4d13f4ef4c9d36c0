# SPDX-License-Identifier: Apache-2.0
"""Filters that a batch query hands down: comparisons of a few whole-number columns with constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

COLUMNS: Final = frozenset({"row", "out_seq", "out_time_ns", "checkpoint_id"})
_INT64_MAX: Final = 2**63 - 1
_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "EqualTo": pc.equal,
    "EqualNullSafe": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One filter; rows where the column is null do not pass."""

    column: str
    kind: str
    values: tuple[int, ...]

    @classmethod
    def of(cls, given: Filter) -> Comparison | None:
        """The same as a comparison; None for what is left to Spark."""
        match given:
            case In(attribute=path, value=values):
                pass
            case IsNotNull(attribute=path):
                # Spark adds one of these to every comparison.
                values = ()
            case (
                EqualTo(attribute=path, value=value)
                | EqualNullSafe(attribute=path, value=value)
                | GreaterThan(attribute=path, value=value)
                | GreaterThanOrEqual(attribute=path, value=value)
                | LessThan(attribute=path, value=value)
                | LessThanOrEqual(attribute=path, value=value)
            ):
                values = (value,)
            case _:
                return None
        is_known = len(path) == 1 and path[0] in COLUMNS
        if not is_known or not all(type(value) is int and abs(value) <= _INT64_MAX for value in values):
            return None
        return cls(path[0], type(given).__name__, tuple(values))

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Which rows pass."""
        column = batch.column(self.column)
        if self.kind == "IsNotNull":
            return column.is_valid()
        if self.kind == "In":
            # Where the column is null too, this says false.
            return pc.is_in(column, pa.array(self.values, pa.int64()))
        return _COMPARE[self.kind](column, pa.scalar(self.values[0], pa.int64()))

    def bounds(self) -> tuple[int, int]:
        """The first value that may pass, and the one after the last."""
        if self.kind == "IsNotNull":
            return 0, _INT64_MAX
        if not self.values:
            return 0, 0
        low, high = min(self.values), max(self.values) + 1
        match self.kind:
            case "GreaterThan":
                return high, _INT64_MAX
            case "GreaterThanOrEqual":
                return low, _INT64_MAX
            case "LessThan":
                return 0, low
            case "LessThanOrEqual":
                return 0, high
        return low, high


def range_of_rows(comparisons: Iterable[Comparison], first_row: int, end_row: int) -> tuple[int, int]:
    """The part of a range in which rows can pass."""
    for comparison in comparisons:
        if comparison.column == "row":
            low, high = comparison.bounds()
            first_row, end_row = max(first_row, low), min(end_row, high)
    return first_row, max(first_row, end_row)


def passing(batch: pa.RecordBatch, comparisons: Iterable[Comparison]) -> pa.RecordBatch:
    """The rows that pass all; the batch itself, not copied, when that is every row."""
    masks = [comparison.mask(batch) for comparison in comparisons]
    if not masks:
        return batch
    mask = reduce(pc.and_, masks)
    return batch if pc.all(mask, skip_nulls=False).as_py() else batch.filter(mask)
