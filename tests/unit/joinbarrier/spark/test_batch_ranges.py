# SPDX-License-Identifier: Apache-2.0
"""The driver's side of a batch query over real journals, without a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.journal.readers import readers
from framegate.joinbarrier.spark.batch_reader import RangePartition
from framegate.joinbarrier.spark.filtering_batch_reader import FilteringBatchReader
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.batch_ranges import batch_ranges
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows
from framegate.schema.errors import ConflictingOptions, JournalRecreated, WrongOption
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, LessThan

from tests.unit.joinbarrier.journal.journal_world import EPOCH, segments_of


def ranges_of(*paths: Path, **options: str) -> list[RangeOfRows]:
    given = {"path": ",".join(map(str, paths)), **options}
    return batch_ranges(SourceOptions.parse(given), (), cores=2)


def rows_of(found: list[RangeOfRows]) -> list[int]:
    return [row for each in found for row in range(each.first_row, each.end_row)]


def test_a_table_is_everything_that_is_sealed_unless_it_is_told_otherwise(folder: Path) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    assert rows_of(ranges_of(folder)) == list(range(5, 12))
    assert rows_of(ranges_of(folder, startingOffsets="6", endingOffsets="9")) == [6, 7, 8]
    assert rows_of(ranges_of(folder, startingOffsets="6", endingOffsets="6")) == []


def test_a_table_that_ends_before_it_begins_is_refused(folder: Path) -> None:
    segments_of(folder, [5, 7])
    with pytest.raises(ConflictingOptions, match="start=9 end=6"):
        ranges_of(folder, startingOffsets="9", endingOffsets="6")


def test_a_table_of_no_rows_by_its_words_is_refused(folder: Path) -> None:
    segments_of(folder, [5])
    for options in ({"startingOffsets": "latest"}, {"endingOffsets": "earliest"}):
        with pytest.raises(WrongOption, match="a table of no rows"):
            ranges_of(folder, **options)


def test_an_end_of_another_life_of_the_journal_is_refused(folder: Path) -> None:
    segments_of(folder, [5])
    with pytest.raises(JournalRecreated):
        ranges_of(folder, endingOffsets=f'{{"epoch":{EPOCH - 1},"row":3}}')


def test_each_journal_gives_its_share_of_the_tasks_and_no_task_is_missing(folder: Path) -> None:
    paths = [folder / name for name in ("a", "b")]
    for path in paths:
        path.mkdir()
        segments_of(path, [12])
    found = ranges_of(*paths, minPartitions="5")
    assert [each.path for each in found] == [str(paths[0])] * 3 + [str(paths[1])] * 3
    assert rows_of(found) == [*range(12), *range(12)]


@pytest.mark.parametrize(("options", "kept"), [({}, 5), ({"startingOffsets": "7"}, 7)])
def test_a_named_table_keeps_its_rows_for_its_tasks(folder: Path, options: dict[str, str], kept: int) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    found = ranges_of(folder, readerName="table", **options)
    (state,) = readers(folder)
    assert (state.reader, state.committed_row) == ("table", kept)
    assert {each.claim for each in found} == {state.claim}


def test_what_it_filters_itself_narrows_the_range_and_the_rest_is_given_back(folder: Path) -> None:
    segments_of(folder, [5, 7, 3])
    reader = FilteringBatchReader(SourceOptions.parse({"path": str(folder)}), ("left", "right"), 2)
    theirs: list[Filter] = [EqualTo(("left", "seq"), 6), LessThan(("joined_at",), 3)]
    ours: list[Filter] = [GreaterThan(("row",), 2), LessThan(("row",), 9)]
    assert list(reader.pushFilters([theirs[0], *ours, theirs[1]])) == theirs
    found = [part for each in reader.partitions() if isinstance(each, RangePartition) for part in each.wanted]
    assert rows_of(found) == list(range(3, 9))
