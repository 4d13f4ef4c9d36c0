# SPDX-License-Identifier: Apache-2.0
"""How a query names its journals and where it begins: patterns, URIs, times, views of SQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.spark.pyspark_versions import has_filters
from framegate.joinbarrier.spark.source import FramegateDataSource
from framegate.shmpool.idle import sleep_ns
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import framegate.spark as fgs
from tests.spark.test_batch_queries import head_of, load, rows_of
from tests.spark.test_stream_queries import Collected, run_available
from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, segments_of, writer


def test_a_pattern_is_every_journal_that_it_matches(spark: SparkSession, folder: Path) -> None:
    for number, name in enumerate(("run-1", "run-2", "other")):
        (folder / name).mkdir()
        fill(writer(folder / name, epoch=EPOCH + number), 3)
    (folder / "run-3").mkdir()  # No journal, as a checkpoint beside one.
    keys = {(row.journal_epoch, row.row) for row in load(spark, folder / "run-*", payload="none").collect()}
    assert keys == {(EPOCH + number, row) for number in (0, 1) for row in range(3)}
    with pytest.raises(PySparkException) as caught:
        load(spark, folder / "walk-*")
    assert f"[FG-430 JOURNAL_MISSING] path={folder}/walk-*: no journal matches" in head_of(str(caught.value))


def test_a_uri_of_a_file_is_its_directory(spark: SparkSession, folder: Path) -> None:
    made = folder / "with a space"
    made.mkdir()
    segments_of(made, [3])
    df = spark.read.format("framegate").option("payload", "none").load(made.as_uri())
    assert rows_of(df) == [0, 1, 2]
    with pytest.raises(PySparkException) as caught:
        spark.read.format("framegate").load("s3://bucket/joined")
    assert "[FG-702 WRONG_OPTION] option=path have=s3://bucket/joined" in head_of(str(caught.value))


def test_a_query_begins_with_what_was_joined_at_a_time_or_later(spark: SparkSession, folder: Path) -> None:
    (folder / "journal").mkdir()
    made = writer(folder / "journal")
    times = list[datetime]()
    for rows in (5, 4, 3):
        fill(made, rows)
        made.finish_segment()
        sleep_ns(2_000_000)
        times.append(datetime.now(UTC))
        sleep_ns(2_000_000)
    joined = Journal(folder / "journal").to_arrow().column("joined_at").to_pylist()
    assert joined[4] < times[0] < joined[5]
    for time, first in ((joined[0], 0), (times[0], 5), (joined[9], 9), (times[2], 12)):
        df = load(spark, folder / "journal", payload="none", startingTimestamp=time.isoformat())
        assert rows_of(df) == list(range(first, 12)), time
    since = str(int(times[1].timestamp() * 1000))
    sink = Collected()
    given = spark.readStream.format("framegate").option("startingTimestamp", since).load(str(folder / "journal"))
    run_available(given, folder, sink)
    assert sink.rows == [9, 10, 11]


def test_a_time_needs_a_zone(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [1])
    naive = (datetime.now(UTC) - timedelta(hours=1)).replace(tzinfo=None).isoformat()
    with pytest.raises(PySparkException) as caught:
        load(spark, folder, startingTimestamp=naive)
    assert f"[FG-702 WRONG_OPTION] option=startingTimestamp have={naive}" in head_of(str(caught.value))


def test_sql_reads_a_journal_by_a_view_and_a_table_says_so(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [5])
    with pytest.raises(PySparkException) as caught:
        spark.sql(f"CREATE TABLE framegate_rows USING framegate OPTIONS (path '{folder}')")
    says = head_of(str(caught.value))
    assert "[FG-715 CATALOG_TABLE]" in says
    assert "CREATE TEMPORARY VIEW joined USING framegate OPTIONS (path 'out/joined')" in says
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW framegate_rows USING framegate OPTIONS (path '{folder}')")
    try:
        assert spark.sql("SELECT count(*) FROM framegate_rows WHERE row > 1").collect()[0][0] == 3
    finally:
        spark.catalog.dropTempView("framegate_rows")


@pytest.mark.skipif(not has_filters(), reason="PySpark 4.0 keeps the source that it has found by itself")
def test_a_registered_source_makes_tasks_for_the_cores_of_the_executors(spark: SparkSession, folder: Path) -> None:
    """17 MiB a core are two tasks on two cores, and five on five; here the source is told of five."""
    made = writer(folder)
    frame = np.zeros(17 << 20, np.uint8)
    for _ in range(5):
        made.append({"left": frame, "right": "stale"})
        made.seal()
    spark.dataSource.register(FramegateDataSource.with_cores(5))
    assert load(spark, folder, payload="none").rdd.getNumPartitions() == 5
    fgs.register(spark)
    assert load(spark, folder, payload="none").rdd.getNumPartitions() == spark.sparkContext.defaultParallelism == 2


def test_a_stream_follows_a_pattern(spark: SparkSession, folder: Path) -> None:
    (folder / "journal").mkdir()
    segments_of(folder / "journal", [5])
    given = spark.readStream.format("framegate").option("startingOffsets", "earliest").load(str(folder / "jour*"))
    sink = Collected()
    run_available(given, folder, sink)
    assert sink.rows == list(range(5))
