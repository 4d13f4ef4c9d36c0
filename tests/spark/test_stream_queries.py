# SPDX-License-Identifier: Apache-2.0
"""``spark.readStream.format("framegate")``: every row once, in order, within limits, over restarts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.readers import readers
from framegate.joinbarrier.spark.pyspark_versions import has_limits
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, segments_of, writer

WAIT_NS = 90_000_000_000
needs_limits = pytest.mark.skipif(not has_limits(), reason="limits of micro-batches begin with PySpark 4.2")


class Collected:
    """A sink that remembers the rows of every micro-batch."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[int]]] = []

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        self.batches.append((batch_id, sorted(row.row for row in df.select("row").collect())))

    @property
    def rows(self) -> list[int]:
        return [row for _, rows in self.batches for row in rows]


def stream(spark: SparkSession, folder: Path, **options: str) -> DataFrame:
    given = {"startingOffsets": "earliest", **options}
    return spark.readStream.format("framegate").options(**given).load(str(folder / "journal"))


@pytest.fixture
def journal(folder: Path) -> Path:
    made = folder / "journal"
    made.mkdir()
    return made


def run_available(df: DataFrame, folder: Path, sink: Callable[[DataFrame, int], None]) -> StreamingQuery:
    """Everything that is there now, to its end."""
    query = (
        df.writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


@contextmanager
def running(df: DataFrame, folder: Path, sink: Callable[[DataFrame, int], None]) -> Iterator[StreamingQuery]:
    query = df.writeStream.foreachBatch(sink).option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        yield query
    finally:
        query.stop()


def wait(query: StreamingQuery, is_so: Callable[[], bool]) -> None:
    """Under a watchdog; a query that failed says why."""
    deadline = monotonic_ns() + WAIT_NS
    while not is_so():
        failure = query.exception()
        if failure is not None:
            raise failure
        assert monotonic_ns() < deadline, query.lastProgress
        sleep_ns(5_000_000)


def offsets(folder: Path) -> list[Any]:
    """What Spark logged as the end of each batch."""
    logs = {int(path.name): path for path in (folder / "checkpoint/offsets").iterdir() if path.name.isdigit()}
    return [json.loads(logs[number].read_text().splitlines()[2]) for number in sorted(logs)]


def forget(folder: Path, batch: int) -> None:
    """Spark's log does not say any more that this batch, the last one, was done."""
    for name in (str(batch), f".{batch}.crc"):
        (folder / "checkpoint/commits" / name).unlink()


@needs_limits
def test_available_now_reads_to_the_end_within_its_limits(spark: SparkSession, folder: Path, journal: Path) -> None:
    segments_of(journal, [5, 7, 3])
    sink = Collected()
    run_available(stream(spark, folder, maxRowsPerTrigger="4"), folder, sink)
    assert sink.rows == list(range(15))
    assert [len(rows) for _, rows in sink.batches] == [0, 4, 4, 4, 3], "the first one says where the query begins"
    assert offsets(folder) == [{"epoch": EPOCH, "row": row} for row in (0, 4, 8, 12, 15)]


@needs_limits
def test_bytes_limit_too(spark: SparkSession, folder: Path, journal: Path) -> None:
    segments_of(journal, [5, 5, 5])
    sink = Collected()
    run_available(stream(spark, folder, maxBytesPerTrigger="1k"), folder, sink)
    assert sink.rows == list(range(15))
    assert len(sink.batches) > 2


def test_a_restarted_query_goes_on_with_the_next_row(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = segments_of(journal, [5])
    sink = Collected()
    run_available(stream(spark, folder), folder, sink)
    fill(made, 4)
    run_available(stream(spark, folder, startingOffsets="latest"), folder, sink)
    batches = [[], [0, 1, 2, 3, 4], [5, 6, 7, 8]] if has_limits() else [[0, 1, 2, 3, 4], [5, 6, 7, 8]]
    assert sink.batches == list(enumerate(batches))


@needs_limits
@pytest.mark.long
def test_a_batch_that_was_not_logged_as_done_comes_again(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = segments_of(journal, [5, 4])
    sink = Collected()
    run_available(stream(spark, folder, maxRowsPerTrigger="6"), folder, sink)
    forget(folder, 2)
    fill(made, 4)
    again = Collected()
    run_available(stream(spark, folder, maxRowsPerTrigger="50"), folder, again)
    assert again.batches == [(2, [6, 7, 8]), (3, [9, 10, 11, 12])]


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_query_that_was_killed_in_its_first_batch_begins_where_it_had_begun(
    spark: SparkSession, folder: Path, journal: Path, start: str
) -> None:
    made = segments_of(journal, [5, 4])
    run_available(stream(spark, folder, startingOffsets=start), folder, Collected())
    # What a kill in the first batch leaves: where it ends, and nothing of what came after.
    shutil.rmtree(folder / "checkpoint/commits")
    for path in (folder / "checkpoint/offsets").iterdir():
        if path.name not in ("0", ".0.crc"):
            path.unlink()
    fill(made, 4)
    again = Collected()
    for _ in range(1 if has_limits() else 2):  # Before 4.2 this trigger runs one micro-batch: that which comes again.
        run_available(stream(spark, folder, startingOffsets="latest"), folder, again)
    assert again.rows == list(range(0 if start == "earliest" else 9, 13))


def test_a_running_query_follows_the_journal(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = writer(journal)
    sink = Collected()
    with running(stream(spark, folder, readerName="spark"), folder, sink) as query:
        for rows in (3, 5, 2):
            fill(made, rows)
            wait(query, lambda: len(sink.rows) == made.next_row)
        wait(query, lambda: readers(journal)[0].committed_row == 10)
    assert sink.rows == list(range(10))
    progress = query.lastProgress
    assert progress is not None
    if has_limits():  # What is said of progress came with them.
        assert json.loads(progress["sources"][0]["latestOffset"]) == {"epoch": EPOCH, "row": 10}


@needs_limits
def test_what_is_released_comes_one_batch_late(spark: SparkSession, folder: Path, journal: Path) -> None:
    """While there is more to read, a batch is held until the next one is logged."""
    segments_of(journal, [4, 4, 4])
    held = list[int]()

    def look(df: DataFrame, batch_id: int) -> None:
        held.append(readers(journal)[0].committed_row)

    run_available(stream(spark, folder, readerName="spark", maxRowsPerTrigger="4"), folder, look)
    assert held == [0, 0, 4, 8]


@needs_limits
def test_micro_batches_end_at_barriers(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = writer(journal)
    for checkpoint, rows in ((0, 4), (7, 3), (8, 2)):
        for _ in range(rows):
            made.append({"left": "stale", "right": "stale"}, checkpoint_id=checkpoint)
    made.seal()
    sink = Collected()
    run_available(stream(spark, folder, alignToCheckpoints="true"), folder, sink)
    assert [rows for _, rows in sink.batches] == [[], [0, 1, 2, 3], [4, 5, 6], [7, 8]]


def test_the_unmatched_table_streams_too(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = writer(journal)
    for seq in range(7):
        made.unmatched("left", seq, "no_partner")
    fill(made, 1)
    seen = list[int]()

    def sink(df: DataFrame, batch_id: int) -> None:
        seen.extend(sorted(row.seq for row in df.collect()))

    run_available(stream(spark, folder, table="unmatched", maxRowsPerTrigger="3"), folder, sink)
    assert seen == list(range(7))


# --- what goes wrong -----------------------------------------------------------------------------------------


def head_of(failure: object) -> str:
    return "\n".join(str(failure).splitlines()[:12])


def fails(query: StreamingQuery) -> str:
    """The query ends by itself; what it says first."""
    return head_of(failure_of(query))


def failure_of(query: StreamingQuery) -> str:
    """The query ends by itself; all it says."""
    deadline = monotonic_ns() + WAIT_NS
    while query.isActive:
        assert monotonic_ns() < deadline, query.lastProgress
        sleep_ns(5_000_000)
    return str(query.exception())


def test_a_journal_that_begins_anew_under_a_query_ends_it(spark: SparkSession, folder: Path, journal: Path) -> None:
    fill(writer(journal), 5)
    sink = Collected()
    with running(stream(spark, folder), folder, sink) as query:
        wait(query, lambda: len(sink.rows) == 5)
        (journal / "segments").rename(journal / "old")
        fill(writer(journal, epoch=EPOCH + 1), 9)
        assert "[FG-435 JOURNAL_RECREATED]" in fails(query)
    assert sink.rows == list(range(5))
    with running(stream(spark, folder), folder, sink) as query:
        text = fails(query)
    assert "[FG-435 JOURNAL_RECREATED]" in text
    assert f"want={EPOCH} have={EPOCH + 1}" in text
    # What the text says to do gives every row of the new life, also those from before it was done.
    assert "startingOffsets = earliest" in text
    again = Collected()
    shutil.rmtree(folder / "checkpoint")
    run_available(stream(spark, folder), folder, again)
    assert again.rows == list(range(9))


def test_rows_that_went_while_the_query_was_down_are_an_error(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = segments_of(journal, [5])
    sink = Collected()
    run_available(stream(spark, folder, maxRowsPerTrigger="3"), folder, sink)
    made.finish_segment()
    for _ in range(2):
        fill(made, 4)
        made.finish_segment()
    made.drop_oldest()
    made.drop_oldest()
    with pytest.raises(PySparkException) as caught:
        run_available(stream(spark, folder), folder, sink)
    text = head_of(caught.value)
    assert "[FG-432 DATA_LOSS]" in text
    assert "first_row=5 last_row=8 rows=4" in text
    run_available(stream(spark, folder, failOnDataLoss="false"), folder, sink)
    assert sink.rows == [*range(5), *range(9, 13)]


def test_a_later_query_of_the_same_name_ends_the_earlier(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = segments_of(journal, [5])
    first, second = Collected(), Collected()
    with running(stream(spark, folder, readerName="spark"), folder, first) as earlier:
        wait(earlier, lambda: len(first.rows) == 5)
        with running(stream(spark, folder, readerName="spark"), folder / "other", second) as later:
            wait(later, lambda: len(second.rows) == 5)
            fill(made, 4)
            wait(later, lambda: second.rows == list(range(9)))
            fill(made, 2)
            # From Spark's question for the next batch, or out of a task, below the lines of ``foreachBatch``.
            assert "[FG-433 READER_FENCED] reader=spark" in failure_of(earlier)


def test_a_stream_of_references_needs_a_name(spark: SparkSession, folder: Path, journal: Path) -> None:
    segments_of(journal, [1])
    with running(stream(spark, folder, payload="reference"), folder, Collected()) as query:
        assert "[FG-704 CONFLICTING_OPTIONS] options=payload,readerName" in fails(query)
