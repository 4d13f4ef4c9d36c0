# SPDX-License-Identifier: Apache-2.0
"""Batch, stream, ``resolve`` and ``exactly_once`` in a session of Spark Connect: FOLDER, which holds ``journal``.

The server is started here, as ``SparkSession.builder.remote("local[2]")`` does it. Prints what it read as JSON.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import framegate.spark as fgs


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")  # PySpark's own.
    logging.basicConfig(level=logging.ERROR)
    config = {
        "spark.remote": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
    }
    spark = fgs.session(config=config)
    fgs.register(spark)
    source = spark.read.format("framegate").load(str(folder / "journal"))
    found: dict[str, Any] = {"session": type(spark).__module__, "rows": source.where("row >= 3").count()}

    def total(row: dict[str, Any]) -> dict[str, Any]:
        return {**{name: row[name] for name in ("out_stream", "journal_epoch", "row")}, "total": int(row["left"].sum())}

    columns = "out_stream bigint, journal_epoch bigint, row bigint, total bigint"
    stream = spark.readStream.format("framegate").option("startingOffsets", "earliest").load(str(folder / "journal"))
    for name, sink in (
        ("path", fgs.exactly_once(str(folder / "out"))),
        ("table", fgs.exactly_once(table="framegate_totals")),
    ):
        for _ in range(3):  # The later ones begin anew, with a checkpoint of their own, and find every row there.
            query = (
                fgs.resolve(stream, total, columns)
                .writeStream.foreachBatch(sink)
                .option("checkpointLocation", str(folder / f"checkpoint-{name}-{len(found)}"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            there = spark.read.parquet(str(folder / "out")) if name == "path" else spark.table("framegate_totals")
            found[f"{name}-{len(found)}"] = sorted([each["row"], each["total"]] for each in there.collect())
    print(json.dumps(found), flush=True)
    spark.stop()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(Path(sys.argv[1]))
