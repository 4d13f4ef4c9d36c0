# SPDX-License-Identifier: Apache-2.0
"""What ``framegate.spark`` gives beside the source: arrays in user code, flat columns, a sink that repeats nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from framegate.schema.errors import SinkChanged
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas import functions as pandas_functions
from pyspark.sql.pandas.functions import pandas_udf

import framegate.spark as fgs
from tests.spark.test_stream_queries import Collected, forget, needs_limits, run_available, stream
from tests.unit.joinbarrier.journal.journal_world import fill, left, right, segments_of, writer

MODES = ("value", "reference")


@pytest.fixture
def journal(folder: Path) -> Path:
    made = folder / "journal"
    made.mkdir()
    return made


def table(spark: SparkSession, journal: Path, **options: str) -> DataFrame:
    return spark.read.format("framegate").options(**options).load(str(journal))


def sums() -> dict[int, tuple[int, float | None]]:
    return {row: (int(left(row).sum()), None if row % 3 == 2 else float(right(row).sum())) for row in range(12)}


@pytest.mark.parametrize("payload", MODES)
def test_resolve_runs_a_function_over_rows_with_arrays(spark: SparkSession, journal: Path, payload: str) -> None:
    segments_of(journal, [5, 7])

    def one(row: dict[str, Any]) -> tuple[int, int, float | None]:
        assert not row["left"].flags.writeable
        found = row["right"]
        return row["row"], int(row["left"].sum()), None if found is None else float(found.sum())

    df = fgs.resolve(table(spark, journal, payload=payload), one, "row bigint, left bigint, right double")
    assert {row.row: (row.left, row.right) for row in df.collect()} == sums()


@pytest.mark.parametrize("payload", MODES)
def test_resolve_batches_runs_it_over_whole_batches(spark: SparkSession, journal: Path, payload: str) -> None:
    segments_of(journal, [5, 7])

    def whole(batch: dict[str, list[Any]]) -> dict[str, Any]:
        return {"row": batch["row"], "left": np.stack(batch["left"]).sum(axis=(1, 2)).astype(np.int64)}

    df = fgs.resolve_batches(table(spark, journal, payload=payload), whole, "row bigint, left bigint")
    assert {row.row: row.left for row in df.collect()} == {row: pair[0] for row, pair in sums().items()}


@pytest.mark.parametrize("payload", [pytest.param("value", marks=pytest.mark.long), "reference"])
def test_frames_work_in_map_in_arrow_and_in_both_kinds_of_udf(spark: SparkSession, journal: Path, payload: str) -> None:
    segments_of(journal, [5, 7])
    df = table(spark, journal, payload=payload)
    wanted = [pair[1] for _, pair in sorted(sums().items())]

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [None if array is None else float(array.sum()) for array in fgs.frames(batch.column("right"))]
            yield pa.RecordBatch.from_pydict({"row": batch.column("row"), "total": pa.array(found, pa.float64())})

    @pandas_udf("double")  # type: ignore[call-overload,untyped-decorator,unused-ignore]
    def by_pandas(column: pd.DataFrame) -> pd.Series:
        return pd.Series([None if array is None else float(array.sum()) for array in fgs.frames(column)], dtype=float)

    def by_arrow(column: pa.Array) -> pa.Array:
        return pa.array([None if array is None else float(array.sum()) for array in fgs.frames(column)], pa.float64())

    each = [df.mapInArrow(mapped, "row bigint, total double"), df.select("row", by_pandas("right").alias("total"))]
    if hasattr(pandas_functions, "arrow_udf"):  # From 4.1 on.
        arrow_udf: Any = pandas_functions.arrow_udf
        each.append(df.select("row", arrow_udf(by_arrow, "double")("right").alias("total")))
    for made in each:
        assert [row.total for row in made.orderBy("row").collect()] == wanted


@pytest.mark.parametrize("payload", MODES)
def test_a_collected_row_gives_its_arrays(spark: SparkSession, journal: Path, payload: str) -> None:
    segments_of(journal, [5])
    rows = table(spark, journal, payload=payload).orderBy("row").collect()
    np.testing.assert_array_equal(fgs.to_numpy(rows[3].left), left(3), strict=True)
    assert fgs.to_numpy(rows[2].right) is None


def test_a_reference_that_outlived_its_segment_shows_its_number_first(spark: SparkSession, journal: Path) -> None:
    made = segments_of(journal, [5, 7])
    kept = table(spark, journal, payload="reference", endingOffsets="5").persist()
    assert kept.count() == 5
    made.drop_oldest()
    with pytest.raises(PySparkException) as caught:
        fgs.resolve(kept, lambda row: (row["row"],), "row bigint").collect()
    kept.unpersist()
    text = "\n".join(str(caught.value).splitlines()[:14])
    assert "[FG-708 REFERENCE_OUTLIVED]" in text


def test_flatten_gives_each_field_a_column(spark: SparkSession, journal: Path) -> None:
    segments_of(journal, [4])
    flat = fgs.flatten(table(spark, journal, payload="none"))
    fields = ("status", "seq", "timestamp_ns", "epoch", "trace_id", "dtype", "shape")
    assert flat.columns[-14:] == [f"{name}_{field}" for name in ("left", "right") for field in fields]
    assert [row.right_status for row in flat.orderBy("row").collect()] == ["present", "present", "stale", "present"]


def test_exploded_there_is_a_row_for_each_input(spark: SparkSession, journal: Path) -> None:
    segments_of(journal, [3])
    rows = fgs.explode_inputs(table(spark, journal)).orderBy("row", "input").collect()
    assert [(row.row, row.input, row.status) for row in rows] == [
        (0, "left", "present"),
        (0, "right", "present"),
        (1, "left", "present"),
        (1, "right", "present"),
        (2, "left", "present"),
        (2, "right", "stale"),
    ]
    assert {"out_seq", "payload", "dtype"} <= set(rows[0].asDict())


def test_event_times_are_exact_to_the_microsecond(spark: SparkSession) -> None:
    ns = 1_700_000_000_123_456_999  # As a float it is more than 457 microseconds.
    df = spark.createDataFrame([(ns, ns - 5_000), (None, None)], "a bigint, b bigint")
    found = df.select(fgs.event_time("a").alias("a"), fgs.event_time(f.col("b"), offset_ns=5_000).alias("b")).collect()
    assert found[0].a == found[0].b
    text = df.select(fgs.event_time("a").cast("string").alias("a")).collect()[0].a
    assert text == datetime.fromtimestamp(1_700_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S") + ".123456"
    assert found[1].a is None


def test_the_format_can_be_registered(spark: SparkSession, journal: Path) -> None:
    segments_of(journal, [2])
    fgs.register(spark)
    assert table(spark, journal).count() == 2


# --- a sink that takes every row once ------------------------------------------------------------------------


def keys(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row.row for row in spark.read.parquet(str(path)).select("row").collect())


@needs_limits
def test_a_repeated_batch_is_written_once(spark: SparkSession, folder: Path, journal: Path) -> None:
    made = segments_of(journal, [5, 7])
    sink = fgs.exactly_once(str(folder / "out"))
    df = stream(spark, folder, maxRowsPerTrigger="6")
    run_available(df, folder, sink)
    forget(folder, 2)
    fill(made, 3)
    again = Collected()

    def both(batch: DataFrame, batch_id: int) -> None:
        again(batch, batch_id)
        sink(batch, batch_id)

    run_available(df, folder, both)
    assert again.rows[0] == 6, "the batch was to come again"
    assert keys(spark, folder / "out") == list(range(15))


def test_half_a_batch_that_was_written_is_completed(spark: SparkSession, folder: Path, journal: Path) -> None:
    segments_of(journal, [5, 7])
    sink = fgs.exactly_once(str(folder / "out"))
    df = table(spark, journal)
    sink(df.where("row in (2, 3, 8)"), 0)
    sink(df, 0)
    sink(df, 0)
    assert keys(spark, folder / "out") == list(range(12))
    found = spark.read.parquet(str(folder / "out")).where("row = 8").collect()[0]
    np.testing.assert_array_equal(fgs.to_numpy(found.left), left(8), strict=True)


def test_rows_of_another_journal_are_other_rows(spark: SparkSession, folder: Path) -> None:
    for name, epoch in (("a", 5), ("b", 6)):
        (folder / name).mkdir()
        fill(writer(folder / name, epoch=epoch), 3)
        fgs.exactly_once(str(folder / "out"))(table(spark, folder / name), 0)
    assert keys(spark, folder / "out") == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("values", [(), (1, 2, 3)], ids=["too few", "too many"])
def test_resolve_refuses_another_number_of_values_than_columns(
    spark: SparkSession, journal: Path, values: tuple[int, ...]
) -> None:
    segments_of(journal, [5])
    with pytest.raises(PySparkException) as caught:
        fgs.resolve(table(spark, journal), lambda _: values, "row bigint, mean bigint").collect()
    assert "[FG-713 WRONG_RESULT]" in "\n".join(str(caught.value).splitlines()[:14])


def test_resolve_batches_refuses_columns_that_nobody_asked_for(spark: SparkSession, journal: Path) -> None:
    segments_of(journal, [5])
    with pytest.raises(PySparkException) as caught:
        fgs.resolve_batches(table(spark, journal), lambda batch: batch, "row bigint").collect()
    assert "[FG-713 WRONG_RESULT]" in "\n".join(str(caught.value).splitlines()[:14])


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (lambda df: df.withColumn("mean", f.lit(1.5)), "new=mean"),
        (lambda df: df.drop("checkpoint_id", "skew_ns"), "missing=checkpoint_id, skew_ns"),
        (lambda df: df.withColumn("row", f.col("row").cast("double")), "other_type=row: bigint, now double"),
    ],
    ids=["more", "fewer", "another type"],
)
def test_a_batch_of_other_columns_is_refused_and_what_is_there_stays_readable(
    spark: SparkSession, folder: Path, journal: Path, changed: Callable[[DataFrame], DataFrame], says: str
) -> None:
    segments_of(journal, [5])
    sink = fgs.exactly_once(str(folder / "out"))
    df = table(spark, journal, payload="none").drop("left", "right")
    sink(df.where("row < 3"), 0)
    with pytest.raises(SinkChanged, match=says):
        sink(changed(df), 1)
    sink(df, 2)
    assert keys(spark, folder / "out") == list(range(5))
