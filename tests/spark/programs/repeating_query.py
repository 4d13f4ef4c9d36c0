# SPDX-License-Identifier: Apache-2.0
"""A streaming query in a process of its own, to be killed: FOLDER PAYLOAD. Says its JVM's id, then its batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import framegate.spark as fgs

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for a minute gains nothing from what takes longer to compile than to run."""


def total(row: dict[str, Any]) -> tuple[int, int, int, int]:
    """What is computed of each row: something that needs its payload."""
    return row["out_stream"], row["journal_epoch"], row["row"], int(row["left"].sum())


def main(folder: str, payload: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", SHORT_LIVED)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.local.dir", f"{folder}/spark")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    jvm = spark._jvm
    assert jvm is not None
    print("jvm", jvm.java.lang.ProcessHandle.current().pid(), flush=True)
    begun(spark, Path(folder), payload, lambda number: print("batch", number, flush=True)).awaitTermination()


def begun(
    spark: SparkSession,
    folder: Path,
    payload: str,
    tell: Callable[[int], None],
    source: Mapping[str, str] | None = None,
    function: Callable[[dict[str, Any]], tuple[int, ...]] = total,
    **trigger: Any,
) -> StreamingQuery:
    """The query, which tells of each micro-batch before it is written. ``source``: options in place of the folder's
    journal."""
    given = {"path": str(folder / "journal")} if source is None else source
    joined = (
        spark.readStream.format("framegate")
        .option("readerName", "killed")
        .option("startingOffsets", "earliest")
        .option("maxRowsPerTrigger", "8")
        .option("payload", payload)
        .options(**given)
        .load()
    )
    sink = fgs.exactly_once(str(folder / "out"))

    def told(df: DataFrame, batch_id: int) -> None:
        tell(batch_id)
        sink(df, batch_id)

    made = (
        fgs.resolve(joined, function, "out_stream bigint, journal_epoch bigint, row bigint, total bigint")
        .writeStream.foreachBatch(told)
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    return (made.trigger(**trigger) if trigger else made).start()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
