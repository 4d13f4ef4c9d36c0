# SPDX-License-Identifier: Apache-2.0
"""How many tasks read what of several journals."""

from __future__ import annotations

from collections import Counter

import pytest
from framegate.joinbarrier.spark.ranges import RangeOfRows, Tasks, Wanted

from tests.unit.joinbarrier.spark.rig_world import GrowingTable, Rig

LARGE = 1000
"""Rows of 128 KiB: several times what a second task is worth."""


def tasks_of(rows: tuple[int, ...], *, cores: int, least: int | None = None) -> list[RangeOfRows]:
    tables = [GrowingTable(f"journal {number}", Rig(), [1.0]) for number in range(len(rows))]
    wanted = {each.path: Wanted(each, 0, end, None) for each, end in zip(tables, rows, strict=True)}
    return Tasks(cores=cores, partitions_min=least).of(wanted)


@pytest.mark.parametrize(
    ("rows", "cores", "least", "counts"),
    [
        ((LARGE,), 8, None, [8]),
        ((LARGE,) * 4, 2, None, [1, 1, 1, 1]),
        ((LARGE,) * 4, 8, None, [2, 2, 2, 2]),
        ((LARGE, LARGE + 20), 2, None, [1, 1]),
        ((3 * LARGE, 10, 10, 10), 4, None, [4, 1, 1, 1]),
        ((LARGE, 0, LARGE), 4, None, [2, 0, 2]),
        ((LARGE,) * 4, 2, 7, [2, 2, 2, 2]),
        ((0, 0), 2, None, [0, 0]),
    ],
)
def test_cores_are_shared_by_bytes_and_every_row_is_read_once(
    rows: tuple[int, ...], cores: int, least: int | None, counts: list[int]
) -> None:
    found = tasks_of(rows, cores=cores, least=least)
    by_journal = Counter(each.path for each in found)
    assert [by_journal[f"journal {number}"] for number in range(len(rows))] == counts
    for number, end in enumerate(rows):
        own = [each for each in found if each.path == f"journal {number}"]
        assert [row for each in own for row in range(each.first_row, each.end_row)] == list(range(end))
