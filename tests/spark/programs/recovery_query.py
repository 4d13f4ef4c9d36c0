# SPDX-License-Identifier: Apache-2.0
"""A streaming query over a journal, into a sink, to be killed: JOURNAL FOLDER. Says its JVM's id, then its batches."""

from __future__ import annotations

import os
import sys
import zlib
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import framegate.spark as fgs
from tests.spark.programs.repeating_query import SHORT_LIVED

INPUTS = ("a", "b", "c")
COLUMNS = "out_stream bigint, journal_epoch bigint, row bigint, out_seq bigint, content bigint"


def content(row: dict[str, Any]) -> tuple[int, int, int, int, int]:
    """What a row is: its output and a sum over the bytes of all its frames."""
    total = 0
    for name in INPUTS:
        frame = row[name]
        total = zlib.crc32(b"absent" if frame is None else frame.tobytes(), total)
    return row["out_stream"], row["journal_epoch"], row["row"], row["out_seq"], total


def main(journal: str, folder: str) -> None:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", SHORT_LIVED)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.local.dir", f"{folder}/spark")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    jvm = spark._jvm
    assert jvm is not None
    print("jvm", jvm.java.lang.ProcessHandle.current().pid(), flush=True)
    options = {"readerName": "recovery", "startingOffsets": "earliest", "maxRowsPerTrigger": "64"}
    joined = spark.readStream.format("framegate").options(**options).load(journal)
    sink = fgs.exactly_once(f"{folder}/out")

    def told(df: DataFrame, batch_id: int) -> None:
        print("batch", batch_id, flush=True)
        sink(df, batch_id)

    made = fgs.resolve(joined, content, COLUMNS).writeStream.foreachBatch(told)
    made.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
