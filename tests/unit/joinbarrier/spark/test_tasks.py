# SPDX-License-Identifier: Apache-2.0
"""How many tasks read what of several journals."""

from __future__ import annotations

from collections import Counter

import pytest
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows, Tasks, Wanted, by_task
from framegate.joinbarrier.tables.source_table import Origin

from tests.unit.joinbarrier.spark.rig_world import FAR, GrowingTable, Rig

LARGE = 1000
"""Rows of 128 KiB: several times what a second task is worth."""


def ranges_of(
    rows: tuple[int, ...], *, cores: int, least: int | None = None, origin: Origin | None = None
) -> list[RangeOfRows]:
    tables = [GrowingTable(f"journal {number}", Rig(), [1.0], origin=origin) for number in range(len(rows))]
    wanted = {each.path: Wanted(each, 0, end, None) for each, end in zip(tables, rows, strict=True)}
    found = Tasks(cores=cores, partitions_min=least).of(wanted)
    for number, end in enumerate(rows):
        own = [each for each in found if each.path == f"journal {number}"]
        assert [row for each in own for row in range(each.first_row, each.end_row)] == list(range(end))
    return found


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
def test_of_servers_the_cores_are_shared_by_bytes_and_each_has_a_task_of_its_own(
    rows: tuple[int, ...], cores: int, least: int | None, counts: list[int]
) -> None:
    found = ranges_of(rows, cores=cores, least=least, origin=FAR)
    by_journal = Counter(each.path for each in found)
    assert [by_journal[f"journal {number}"] for number in range(len(rows))] == counts
    assert [len(task) for task in by_task(found)] == [1] * sum(counts)


@pytest.mark.parametrize(
    ("rows", "cores", "tasks"),
    [
        ((LARGE,), 4, [{0: LARGE // 4}] * 4),
        ((LARGE,) * 4, 2, [{0: LARGE, 1: LARGE}, {2: LARGE, 3: LARGE}]),
        ((LARGE,) * 4, 8, [{number // 2: LARGE // 2} for number in range(8)]),
        ((LARGE, 0, 3 * LARGE), 2, [{0: LARGE, 2: LARGE}, {2: 2 * LARGE}]),
        ((10,) * 4, 2, [{0: 10, 1: 10, 2: 10, 3: 10}]),
        ((0, 0), 2, []),
    ],
)
def test_journals_that_lie_here_are_cut_as_one_would_be(
    rows: tuple[int, ...], cores: int, tasks: list[dict[int, int]]
) -> None:
    found = by_task(ranges_of(rows, cores=cores))
    assert [{int(part.path.split()[1]): part.end_row - part.first_row for part in task} for task in found] == tasks


def test_of_the_tasks_that_were_asked_for_each_journal_has_its_own() -> None:
    found = by_task(ranges_of((LARGE,) * 4, cores=2, least=7))
    assert [[part.path for part in task] for task in found] == [[f"journal {number // 2}"] for number in range(8)]
