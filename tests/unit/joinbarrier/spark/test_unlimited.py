# SPDX-License-Identifier: Apache-2.0
"""Micro-batches of PySpark 4.0 and 4.1, which ask for all that is there, and not from where on."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.micro_batches import RELEASE_AFTER_NS, UNLIMITED
from framegate.joinbarrier.spark.pyspark_versions import check_without_limits
from framegate.joinbarrier.spark.source import FramegateDataSource
from framegate.joinbarrier.spark.stream_reader import FramegateStreamReader
from framegate.joinbarrier.tables.offsets import from_spark, to_spark
from framegate.schema.errors import DataLoss, PySparkMissing
from framegate.shmpool.clock import ManualClock

from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS, fill, segments_of
from tests.unit.joinbarrier.spark.test_micro_batches import at, committed, opened, rows_of


def test_the_first_micro_batch_holds_all_that_is_there(folder: Path) -> None:
    made = segments_of(folder, [5, 7])
    with opened(folder) as batches:
        end = batches.latest_of_all()
        assert to_spark(end) == {"begin": 0, "epoch": EPOCH, "row": 12}
        start = batches.initial()
        assert rows_of(batches, start, end) == list(range(12))
        assert to_spark(batches.latest_of_all()) == to_spark(end), "nothing new is no new offset"
        fill(made, 3)
        then = batches.latest_of_all()
        assert to_spark(then) == {"epoch": EPOCH, "row": 15}
        assert rows_of(batches, end, then) == [12, 13, 14]


@pytest.mark.parametrize(("start", "first"), [("earliest", 0), ("3", 3)])
def test_a_first_micro_batch_that_comes_again_has_the_rows_that_it_had(folder: Path, start: str, first: int) -> None:
    made = segments_of(folder, [5, 7])
    with opened(folder, startingOffsets=start) as batches:
        logged = to_spark(batches.latest_of_all())
        batches.initial()
    fill(made, 3)
    with opened(folder, startingOffsets=start) as batches:
        again = batches.initial()
        assert rows_of(batches, again, from_spark(logged, [str(folder)])) == list(range(first, 12))
        assert batches.latest_of_all() == at(folder, 15)


def test_a_first_micro_batch_whose_rows_are_gone_when_it_comes_again_is_data_loss(folder: Path) -> None:
    made = segments_of(folder, [5, 7])
    with opened(folder) as batches:
        logged = to_spark(batches.latest_of_all())
        batches.initial()
    made.drop_oldest()
    with opened(folder) as batches:
        again = batches.initial()
        assert again == at(folder, 5)
        with pytest.raises(DataLoss):
            batches.ranges(again, from_spark(logged, [str(folder)]))


def test_a_query_that_begins_at_the_newest_row_begins_with_an_empty_micro_batch(folder: Path) -> None:
    made = segments_of(folder, [5])
    with opened(folder, startingOffsets="latest") as batches:
        logged = to_spark(batches.latest_of_all())
        fill(made, 3)
        assert batches.initial() == at(folder, 5)
        assert rows_of(batches, batches.initial(), from_spark(logged, [str(folder)])) == []
    fill(made, 2)
    with opened(folder, startingOffsets="latest") as batches:
        end = from_spark(logged, [str(folder)])
        assert rows_of(batches, batches.initial(), end) == []
        assert rows_of(batches, end, batches.latest_of_all()) == list(range(5, 10))


def test_a_query_that_goes_on_does_not_ask_for_where_it_once_began(folder: Path) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    with opened(folder, startingOffsets="3") as batches:
        end = batches.latest_of_all()
        assert to_spark(end) == {"epoch": EPOCH, "row": 12}
        assert rows_of(batches, at(folder, 6), end) == list(range(6, 12))


def test_what_was_executed_is_released_when_nothing_new_comes(folder: Path) -> None:
    segments_of(folder, [5])
    clock = ManualClock()
    with opened(folder, clock=clock, readerName="spark") as batches:
        end = batches.latest_of_all()
        batches.ranges(batches.initial(), end)
        batches.latest_of_all()
        assert committed(folder) == 0
        clock.advance(RELEASE_AFTER_NS)
        batches.latest_of_all()
        assert committed(folder) == 5


def test_one_line_says_that_there_are_no_limits(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    segments_of(folder, [5])
    with caplog.at_level(logging.WARNING), opened(folder, maxRowsPerTrigger="2") as batches:
        batches.latest_of_all()
        batches.latest_of_all()
    assert [each.message for each in caplog.records] == [UNLIMITED]


def test_micro_batches_that_end_at_barriers_are_refused() -> None:
    with pytest.raises(PySparkMissing, match=r"alignToCheckpoints want=4\.2"):
        check_without_limits(SourceOptions.parse({"path": "a", "alignToCheckpoints": "true"}))


def test_the_reader_of_old_asks_nothing_of_pyspark_that_old_ones_lack(folder: Path) -> None:
    segments_of(folder, [5])
    source = FramegateDataSource({"path": str(folder), "startingOffsets": "earliest"})
    reader = FramegateStreamReader(source._parsed(), INPUTS, 1)
    end = reader.latestOffset()
    start = reader.initialOffset()
    (task,) = reader.partitions(start, end)
    assert [row for batch in reader.read(task) for row in batch.column("row").to_pylist()] == list(range(5))
    reader.stop()
