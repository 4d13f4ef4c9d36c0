# SPDX-License-Identifier: Apache-2.0
"""Filters that are taken over pass the rows that Spark's would pass; the others are given back."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from framegate.joinbarrier.spark.read.filters import Comparison, passing, range_of_rows
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

BY_HAND: dict[type[Any], Callable[[int, int], bool]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}
LARGE = 2**63 - 1

numbers = st.integers(-3, 12)
simple = st.builds(lambda kind, value: kind(("row",), value), st.sampled_from(list(BY_HAND)), numbers)
among = st.builds(lambda values: In(("row",), tuple(values)), st.lists(numbers, max_size=3))
filters = st.lists(simple | among | st.just(IsNotNull(("row",))), min_size=1, max_size=3)


def passes(given: Any, value: int | None) -> bool:
    if value is None:
        return False
    if isinstance(given, IsNotNull):
        return True
    return value in given.value if isinstance(given, In) else BY_HAND[type(given)](value, given.value)


@given(filters, st.lists(numbers | st.none(), max_size=12))
def test_the_rows_that_pass_are_those_that_pass_by_hand(wanted: list[Filter], values: list[int | None]) -> None:
    comparisons = [Comparison.of(each) for each in wanted]
    assert None not in comparisons
    batch = pa.record_batch({"row": pa.array(values, pa.int64())})
    found = passing(batch, [each for each in comparisons if each is not None])
    assert found.column("row").to_pylist() == [row for row in values if all(passes(each, row) for each in wanted)]


@given(filters)
def test_the_range_that_is_read_holds_every_row_that_can_pass(wanted: list[Filter]) -> None:
    comparisons = [each for each in map(Comparison.of, wanted) if each is not None]
    first, end = range_of_rows(comparisons, 2, 10)
    assert 2 <= first <= end
    for row in range(2, 10):
        assert first <= row < end or not all(passes(each, row) for each in wanted)


@pytest.mark.parametrize("kind", BY_HAND)
def test_one_comparison_reads_the_rows_that_pass_and_no_other(kind: Any) -> None:
    everything = pa.record_batch({"row": pa.array([*range(-3, 13), None], pa.int64())})
    for value in range(-3, 13):
        comparison = Comparison.of(kind(("row",), value))
        assert comparison is not None
        wanted = [row for row in range(-3, 13) if BY_HAND[kind](row, value)]
        assert passing(everything, [comparison]).column("row").to_pylist() == wanted
        assert list(range(*range_of_rows([comparison], 2, 10))) == [row for row in wanted if 2 <= row < 10]


def test_a_column_without_a_value_passes_no_comparison() -> None:
    comparison = Comparison.of(GreaterThan(("row",), 0))
    assert comparison is not None
    batch = pa.record_batch({"row": pa.array([1, None, 3], pa.int64())})
    assert passing(batch, [comparison]).column("row").to_pylist() == [1, 3]


def test_another_column_says_nothing_of_rows() -> None:
    comparison = Comparison.of(EqualTo(("out_seq",), 7))
    assert comparison is not None
    assert range_of_rows([comparison], 0, 100) == (0, 100)


def test_a_row_that_is_asked_for_is_all_that_is_read() -> None:
    comparison = Comparison.of(EqualTo(("row",), 7))
    assert comparison is not None
    assert range_of_rows([comparison], 0, 100) == (7, 8)


@pytest.mark.parametrize(
    "other",
    [
        EqualTo(("joined_at",), 1),
        EqualTo(("left", "seq"), 1),
        EqualTo(("row", "seq"), 1),
        EqualTo(("row",), 1.5),
        EqualTo(("row",), True),
        EqualTo(("row",), LARGE + 1),
        EqualTo(("row",), None),
        In(("row",), (1, None)),
        IsNull(("row",)),
        Not(EqualTo(("row",), 1)),
        StringStartsWith(("row",), "1"),
    ],
)
def test_anything_else_is_left_to_spark(other: Filter) -> None:
    assert Comparison.of(other) is None


def test_a_batch_of_which_all_rows_pass_is_not_copied() -> None:
    batch = pa.record_batch({"row": pa.array([1, 2, 3], pa.int64())})
    comparison = Comparison.of(GreaterThan(("row",), 0))
    assert comparison is not None
    assert passing(batch, [comparison]) is batch
    assert passing(batch, []) is batch
