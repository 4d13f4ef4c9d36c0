# SPDX-License-Identifier: Apache-2.0
"""Where ``exactly_once`` writes, how often it looks there, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.schema.errors import ConflictingOptions, SinkChanged
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framegate.spark as fgs
from tests.spark.test_stream_queries import Collected, forget, run_available, stream
from tests.unit.joinbarrier.journal.journal_world import fill, segments_of

NAME = "framegate_means"


@pytest.fixture
def rows(spark: SparkSession, folder: Path) -> DataFrame:
    (folder / "journal").mkdir()
    segments_of(folder / "journal", [5, 7])
    df = spark.read.format("framegate").option("payload", "none").load(str(folder / "journal"))
    return df.select("row", "out_stream", "journal_epoch", "out_seq")


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    spark.sql(f"DROP TABLE IF EXISTS {NAME}")
    yield NAME
    spark.sql(f"DROP TABLE IF EXISTS {NAME}")


def numbers(df: DataFrame) -> list[int]:
    return sorted(row.row for row in df.select("row").collect())


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_rows_go_once_to_a_table_of_the_catalog_which_the_first_batch_makes(
    spark: SparkSession, rows: DataFrame, table: str, kind: str
) -> None:
    sink = fgs.exactly_once(table=table, format=kind)
    sink(rows.where("row < 4"), 0)
    sink(rows.where("row >= 4 and row < 8"), 1)
    again = fgs.exactly_once(table=table)
    again(rows.where("row >= 4 and row < 8"), 1)
    again(rows, 2)
    assert numbers(spark.table(table)) == list(range(12))
    assert spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Provider'").collect()[0].data_type == kind


def test_a_table_whose_columns_stand_in_another_order_takes_them_by_name(
    spark: SparkSession, rows: DataFrame, table: str
) -> None:
    columns = ("out_seq", "row", "journal_epoch", "out_stream")
    spark.sql(f"CREATE TABLE {table} ({', '.join(f'{name} bigint' for name in columns)}) USING parquet")
    fgs.exactly_once(table=table)(rows, 0)
    found = spark.table(table).orderBy("row").collect()
    assert [(row.row, row.out_seq) for row in found] == [(row, row) for row in range(12)]


def test_a_table_refuses_other_columns_by_name(rows: DataFrame, table: str) -> None:
    sink = fgs.exactly_once(table=table)
    sink(rows.where("row < 4"), 0)
    for _ in range(2):  # From what it remembers, and from what it finds.
        with pytest.raises(SinkChanged, match=rf"target={table} new=mean"):
            sink(rows.where("row >= 4").withColumn("mean", f.lit(1.5)), 1)
        sink = fgs.exactly_once(table=table)


def test_the_target_is_looked_at_once_not_for_each_batch(spark: SparkSession, rows: DataFrame, folder: Path) -> None:
    """A file that nobody could read is in the way of every look."""
    out = folder / "out"
    sink = fgs.exactly_once(str(out))
    sink(rows.where("row < 4"), 0)
    spoiled = out / "spoiled.parquet"
    spoiled.write_bytes(b"no file of Parquet")
    sink(rows.where("row >= 4 and row < 8"), 1)
    with pytest.raises(Exception, match=r"FAILED_READ_FILE|spoiled\.parquet"):
        sink(rows.where("row >= 7"), 2)  # It reaches back, so it is looked for.
    spoiled.unlink()
    sink(rows.where("row >= 7"), 2)
    assert numbers(spark.read.parquet(str(out))) == list(range(12))


def test_after_a_write_that_failed_the_target_is_looked_at_again(
    spark: SparkSession, rows: DataFrame, folder: Path
) -> None:
    out = folder / "out"
    sink = fgs.exactly_once(str(out))
    sink(rows.where("row < 4"), 0)

    with pytest.raises(PySparkException):
        sink(rows.where("row >= 4").withColumn("out_seq", f.raise_error(f.lit("no such sequence")).cast("bigint")), 1)
    # What another writer left half done, as a committer may: some rows of the batch.
    rows.where("row in (5, 9)").write.mode("append").parquet(str(out))
    sink(rows.where("row >= 4"), 1)
    assert numbers(spark.read.parquet(str(out))) == list(range(12))


def test_a_folder_that_a_killed_job_left_is_an_empty_target(spark: SparkSession, rows: DataFrame, folder: Path) -> None:
    (folder / "out/_temporary/0").mkdir(parents=True)
    fgs.exactly_once(str(folder / "out"))(rows, 0)
    assert numbers(spark.read.parquet(str(folder / "out"))) == list(range(12))


def test_there_is_one_target() -> None:
    for given in ({}, {"path": "out", "table": "means"}):
        with pytest.raises(ConflictingOptions, match="path,table"):
            fgs.exactly_once(**given)


def test_a_stream_that_repeats_its_last_batch_writes_each_row_once(spark: SparkSession, folder: Path) -> None:
    """By every PySpark: also by those whose first batch is not empty."""
    (folder / "journal").mkdir()
    made = segments_of(folder / "journal", [5])
    run_available(stream(spark, folder), folder, fgs.exactly_once(str(folder / "out")))
    last = max(int(path.name) for path in (folder / "checkpoint/commits").iterdir() if path.name.isdigit())
    forget(folder, last)
    fill(made, 4)
    again = Collected()

    def both(batch: DataFrame, batch_id: int) -> None:
        again(batch, batch_id)
        fgs.exactly_once(str(folder / "out"))(batch, batch_id)

    for _ in range(2):
        run_available(stream(spark, folder), folder, both)
    assert again.rows == list(range(9)), "the last batch was to come again"
    assert numbers(spark.read.parquet(str(folder / "out"))) == list(range(9))
