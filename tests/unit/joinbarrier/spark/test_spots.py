# SPDX-License-Identifier: Apache-2.0
"""A task begins at its first batch, however many lie before it in the segment, unless it is told a wrong place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.segments import Segment
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows, Tasks, Wanted
from framegate.joinbarrier.spark.read.read_range import read_range
from framegate.joinbarrier.tables.journal_table import JournalTable

from tests.unit.joinbarrier.journal.journal_world import INPUTS, fill, segments_of, writer


def planned(folder: Path, first: int, end: int) -> RangeOfRows:
    """A task as a query plans it."""
    table = JournalTable(str(folder), "rows")
    (found,) = Tasks(cores=1, partitions_min=None).of({"one": Wanted(table, first, end, None)})
    return found


def rows_of(wanted: RangeOfRows) -> list[int]:
    options = SourceOptions.parse({"path": wanted.path})
    return [row for batch in read_range(wanted, options, INPUTS) for row in batch.column("row").to_pylist()]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first rows of all batches whose columns were looked at."""
    seen = list[int]()
    read = Segment.read

    def noted(segment: Segment, offset: int) -> Any:
        found = read(segment, offset)
        if isinstance(found, Batch):
            seen.append(found.first_row)
        return found

    monkeypatch.setattr(Segment, "read", noted)
    return seen


@pytest.mark.parametrize(("first", "batch"), [(0, 0), (3, 3), (17, 15), (29, 27), (41, 39)])
def test_a_task_goes_straight_to_its_first_batch(folder: Path, decoded: list[int], first: int, batch: int) -> None:
    made = writer(folder)
    for number in range(14):
        fill(made, 3)
        if number in (4, 8):
            made.finish_segment()
        made.seal({})  # One without rows: it has the same first row as the next.
    assert rows_of(planned(folder, first, 42)) == list(range(first, 42))
    assert decoded[0] == batch


@pytest.mark.parametrize("change", [{"ordinal": 2}, {"ordinal": 9}, {"offset": 8}, {"offset": 10**9}, {"first_row": 4},
                                    {"first_row": 999}])  # fmt: skip
def test_a_wrong_spot_costs_time_and_no_rows(folder: Path, change: dict[str, int]) -> None:
    segments_of(folder, [5, 7, 3])
    wanted = planned(folder, 7, 15)
    assert wanted.spot is not None
    assert rows_of(replace(wanted, spot=wanted.spot._replace(**change))) == list(range(7, 15))
    assert rows_of(replace(wanted, spot=None)) == list(range(7, 15))


def test_a_spot_behind_the_first_row_is_not_taken(folder: Path) -> None:
    made = writer(folder)
    for _ in range(4):
        fill(made, 3)
    late, early = planned(folder, 9, 12), planned(folder, 0, 12)
    assert rows_of(replace(early, spot=late.spot)) == list(range(12))
