# SPDX-License-Identifier: Apache-2.0
"""``spark.read.format("framegate")`` against what the journal itself says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.spark.pyspark_versions import has_filters
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.unit.joinbarrier.journal.journal_world import EPOCH, OUT_STREAM, fill, segments_of, writer

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def load(spark: SparkSession, folder: Path, **options: str) -> DataFrame:
    return spark.read.format("framegate").options(**options).load(str(folder))


def rows_of(df: DataFrame) -> list[int]:
    return sorted(row.row for row in df.select("row").collect())


def as_dicts(df: DataFrame) -> list[dict[str, Any]]:
    rows = [row.asDict(recursive=True) for row in df.collect()]
    for row in rows:
        row["joined_at"] = row["joined_at"].timestamp()
    return sorted(rows, key=lambda row: row["row"])


def failure(df: DataFrame) -> str:
    with pytest.raises(PySparkException) as caught:
        df.collect()
    return str(caught.value)


def head_of(text: str) -> str:
    """What a user sees first."""
    return "\n".join(text.splitlines()[:6])


def test_the_table_is_what_the_journal_says_row_by_row(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [5, 7, 3])
    wanted = Journal(folder).to_arrow().to_pylist()
    for row in wanted:
        row["joined_at"] = row["joined_at"].timestamp()
    found = as_dicts(load(spark, folder))
    assert found == wanted
    assert len(found) == 15


def test_a_range_is_read_where_one_is_wanted(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [5, 7, 3])
    df = load(spark, folder, startingOffsets="3", endingOffsets="11", minPartitions="4")
    assert rows_of(df) == list(range(3, 11))
    assert df.rdd.getNumPartitions() == 4


def test_an_empty_journal_is_an_empty_table(spark: SparkSession, folder: Path) -> None:
    writer(folder)
    df = load(spark, folder)
    assert df.collect() == []
    assert df.columns[-2:] == ["left", "right"]


def test_without_payloads_the_column_is_not_there(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [4])
    df = load(spark, folder, payload="none")
    assert "payload" not in df.select("left.*").columns
    assert df.select(f.sum("left.seq")).collect()[0][0] == 6


def test_the_unmatched_table_is_read_with_its_causes(spark: SparkSession, folder: Path) -> None:
    made = writer(folder)
    for seq in range(5):
        made.unmatched("left", seq, "no_partner" if seq % 2 else "overwritten")
    fill(made, 1)
    causes = load(spark, folder, table="unmatched").groupBy("cause").count().collect()
    assert {row["cause"]: row["count"] for row in causes} == {"no_partner": 2, "overwritten": 3}


def test_several_journals_are_one_table_with_unique_keys(spark: SparkSession, folder: Path) -> None:
    """Two hosts may give their journals the same stream: the time at which each was made tells them apart."""
    for name, epoch in (("a", EPOCH), ("b", EPOCH + 1)):
        (folder / name).mkdir()
        fill(writer(folder / name, epoch=epoch), 3)
    df = spark.read.format("framegate").load(f"{folder}/a,{folder}/b")
    keys = [(row.out_stream, row.journal_epoch, row.row) for row in df.collect()]
    assert sorted(keys) == [(OUT_STREAM, epoch, row) for epoch in (EPOCH, EPOCH + 1) for row in range(3)]


CONDITIONS = {
    "row >= 4": range(4, 15),
    "row > 4 and row <= 9": range(5, 10),
    "row = 7": [7],
    "row in (1, 8, 99)": [1, 8],
    "out_seq < 3": range(3),
    "row between 2 and 12 and out_seq >= 10": range(10, 13),
    "checkpoint_id = 0 and row < 2": range(2),
    "out_time_ns = 5": [],
    "out_time_ns is null and row = 1": [1],
    "row <> 3 and row < 5": [0, 1, 2, 4],
    "row + 1 = 4": [3],
    "row < 0": [],
    "left.seq = 6": [6],
}


@pytest.mark.parametrize("is_pushed", [True, False])
def test_filters_give_the_same_rows_whether_spark_hands_them_down_or_not(
    spark: SparkSession, folder: Path, is_pushed: bool
) -> None:
    segments_of(folder, [5, 7, 3])
    spark.conf.set(PUSHDOWN, str(is_pushed).lower())
    try:
        # All of them where this source filters; Spark's own filters need no trial of each.
        for condition, wanted in list(CONDITIONS.items())[: None if is_pushed else 2]:
            assert rows_of(load(spark, folder).where(condition)) == list(wanted), condition
    finally:
        spark.conf.unset(PUSHDOWN)


@pytest.mark.skipif(not has_filters(), reason="PySpark hands filters down from 4.1 on")
def test_a_filter_that_is_handed_down_leaves_spark_nothing_to_do(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [5, 7, 3])
    spark.conf.set(PUSHDOWN, "true")
    try:
        df = load(spark, folder).where("row >= 4 and out_seq < 9 and left.seq > 0")
        plan = df._jdf.queryExecution().executedPlan().toString()
        condition = plan[plan.index("Filter") : plan.index("BatchScan")]
        assert "left" in condition
        assert "out_seq" not in condition
        assert "row#" not in condition.replace("left", "")
    finally:
        spark.conf.unset(PUSHDOWN)


# --- mistakes, as Spark shows them ---------------------------------------------------------------------------


def test_an_unknown_option_is_named_with_the_nearest(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [1])
    with pytest.raises(PySparkException) as caught:
        load(spark, folder, startingOfsets="latest")
    assert "[FG-701 UNKNOWN_OPTION] option=startingofsets nearest=startingOffsets" in head_of(str(caught.value))


def test_a_path_that_is_no_journal_is_named(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(PySparkException) as caught:
        load(spark, folder)
    assert f"[FG-430 JOURNAL_MISSING] path={folder}" in head_of(str(caught.value))


def test_a_schema_that_is_not_the_journals_is_refused(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [1])
    df = spark.read.format("framegate").schema("row string").load(str(folder))
    assert "[FG-707 SCHEMA_CHANGED] column=row have=string want=row bigint" in head_of(failure(df))


def test_rows_that_are_gone_are_named_first(spark: SparkSession, folder: Path) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    text = head_of(failure(load(spark, folder, startingOffsets="2")))
    assert "[FG-432 DATA_LOSS]" in text
    assert "first_row=2 last_row=4 rows=3" in text
    assert rows_of(load(spark, folder, startingOffsets="2", failOnDataLoss="false")) == list(range(5, 12))


def test_an_error_inside_a_task_shows_its_number_first(spark: SparkSession, folder: Path) -> None:
    made = segments_of(folder, [5, 7])
    df = load(spark, folder)
    df.count()
    path = next((folder / "segments").iterdir())
    planned = df.select("row", "left.payload")
    planned._jdf.queryExecution().toRdd().getNumPartitions()  # The ranges are fixed; now the rows go.
    made.drop_oldest()
    text = failure(planned)
    assert not path.exists() or "[FG-432 DATA_LOSS]" in text
    assert "[FG-432 DATA_LOSS]" in "\n".join(text.splitlines()[:12])
