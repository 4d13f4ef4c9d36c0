# SPDX-License-Identifier: Apache-2.0
"""A streaming query on a small cluster, its executors reading by Flight: MASTER FOLDER OPTIONS(JSON) ROWS.

Says its JVM's id, then its batches, and ends when the sink has so many rows.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from framegate.shmpool.idle import sleep_ns
from framegate.tools.demo.spark_query import linked_spark_home
from pyspark.sql import SparkSession

from tests.spark.kills import written
from tests.spark.programs.repeating_query import SHORT_LIVED, begun

LOOK_NS = 200_000_000


def main(master: str, folder: str, options: str, rows: str) -> None:
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.extraJavaOptions", SHORT_LIVED)
        .config("spark.executor.extraJavaOptions", SHORT_LIVED)
        .config("spark.executor.memory", "512m")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.driver.host", os.environ.get("FRAMEGATE_TEST_ADDRESS", "127.0.0.1"))
        .config("spark.driver.memory", "512m")
        .config("spark.local.dir", f"{folder}/spark")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    jvm = spark._jvm
    assert jvm is not None
    print("jvm", jvm.java.lang.ProcessHandle.current().pid(), flush=True)

    def total(row: dict[str, Any]) -> tuple[int, ...]:
        # Inside a function: executors get it by value, and need no package of tests.
        return row["out_stream"], row["journal_epoch"], row["row"], int(row["left"].sum())

    query = begun(
        spark,
        Path(folder),
        "value",
        lambda number: print("batch", number, flush=True),
        source=json.loads(options),
        function=total,
    )
    while query.isActive and len(set(written(Path(folder)))) < int(rows):
        sleep_ns(LOOK_NS)
    failure = query.exception()
    print("failed" if failure is not None else "done", failure or "", flush=True)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(linked_spark_home(Path(sys.argv[2]) / "home"))
    main(*sys.argv[1:])
