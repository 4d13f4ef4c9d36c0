# SPDX-License-Identifier: Apache-2.0
"""How far a micro-batch goes, and how ranges are cut into tasks, against what must hold for any journal."""

from __future__ import annotations

import itertools

import pytest
from framegate.joinbarrier.tables.extents import PARTITION_BYTES, Extent, Limit, admit, partition
from hypothesis import given
from hypothesis import strategies as st

MIB = 1 << 20


def extents_of(sizes: list[tuple[int, int]], first_row: int = 0) -> list[Extent]:
    ends = list(itertools.accumulate((rows for rows, _ in sizes), initial=first_row))
    return [Extent(begin, begin + rows, size) for begin, (rows, size) in zip(ends, sizes, strict=False)]


journals = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20 * MIB)), min_size=1, max_size=20).map(extents_of)
some_limit = st.builds(Limit, st.none() | st.integers(0, 200), st.none() | st.integers(0, 60 * MIB))


def test_rows_and_bytes_both_limit() -> None:
    batches = extents_of([(10, 1000)] * 3)
    assert admit(batches, Limit(rows_max=12)).end_row == 12
    assert admit(batches, Limit(bytes_max=1200)).end_row == 12
    assert admit(batches, Limit(rows_max=25, bytes_max=1200)).end_row == 12
    assert admit(batches, Limit(rows_max=5, bytes_max=1200)).end_row == 5
    assert admit(batches, Limit()).end_row == 30


@given(journals, some_limit)
def test_what_is_admitted_keeps_to_both_limits_and_could_not_take_another_batch(
    batches: list[Extent], limit: Limit
) -> None:
    taken = admit(batches, limit)
    assert batches[0].first_row == taken.first_row <= taken.end_row <= batches[-1].end_row
    assert limit.rows_max is None or taken.rows <= limit.rows_max
    assert limit.bytes_max is None or taken.column_bytes <= limit.bytes_max
    following = next((each for each in batches if each.first_row >= taken.end_row and each.rows), None)
    if following is not None and taken.end_row == following.first_row:
        left = limit.less(taken)
        is_too_many = left.rows_max is not None and left.rows_max < following.rows
        is_too_large = left.bytes_max is not None and left.bytes_max < following.column_bytes
        assert is_too_many or is_too_large


@given(journals, st.integers(1, 16), st.none() | st.integers(1, 64))
def test_tasks_cover_every_row_once_in_order(batches: list[Extent], cores: int, wanted: int | None) -> None:
    ranges = partition(batches, cores=cores, wanted=wanted)
    assert all(first < end for first, end in ranges)
    rows = [row for first, end in ranges for row in range(first, end)]
    assert rows == list(range(batches[0].first_row, batches[-1].end_row))


@given(journals, st.integers(1, 16))
def test_tasks_begin_where_batches_do_unless_more_are_wanted(batches: list[Extent], cores: int) -> None:
    ranges = partition(batches, cores=cores)
    assert {first for first, _ in ranges} <= {each.first_row for each in batches}
    assert len(ranges) <= cores


@given(journals, st.integers(1, 64))
def test_as_many_tasks_as_wanted_where_there_are_as_many_rows(batches: list[Extent], wanted: int) -> None:
    rows = sum(each.rows for each in batches)
    assert len(partition(batches, cores=1, wanted=wanted)) >= min(wanted, rows)


@pytest.mark.parametrize(
    ("size", "tasks"), [(1, 1), (PARTITION_BYTES, 1), (PARTITION_BYTES + 1, 2), (100 * PARTITION_BYTES, 4)]
)
def test_small_ranges_are_one_task_and_large_ones_one_for_each_core(size: int, tasks: int) -> None:
    assert len(partition(extents_of([(1, size // 10)] * 9 + [(1, size - 9 * (size // 10))]), cores=4)) == tasks


def test_a_third_of_a_second_of_two_cameras_is_one_task() -> None:
    """Sealed row by row, 64 KiB at 200 frames/s each: a second task would make every micro-batch slower."""
    assert partition(extents_of([(1, 128 << 10)] * 66), cores=8) == [(0, 66)]


def test_tasks_are_about_the_same_size() -> None:
    ranges = partition(extents_of([(10, 16 * MIB)] * 8), cores=4)
    assert ranges == [(0, 20), (20, 40), (40, 60), (60, 80)]


def test_a_batch_goes_to_the_task_that_has_more_of_it_in_its_share() -> None:
    assert partition(extents_of([(1, 5 * MIB), (1, 6 * MIB), (1, 9 * MIB)]), cores=2) == [(0, 2), (2, 3)]
    assert partition(extents_of([(1, 6 * MIB), (1, 9 * MIB), (1, 5 * MIB)]), cores=2) == [(0, 1), (1, 3)]
