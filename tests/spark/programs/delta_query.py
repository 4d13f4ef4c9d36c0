# SPDX-License-Identifier: Apache-2.0
"""``exactly_once`` to Delta, under a path and as a table of the catalog: FOLDER, which holds ``journal``.

The session gets the jars of Delta from a repository of Maven, as ``configure_spark_with_delta_pip`` names them. Prints
the rows that are there as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

from framegate.schema.errors import SinkChanged

import framegate.spark as fgs


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")  # PySpark's own.
    from delta import configure_spark_with_delta_pip
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(folder / "spark"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    )
    spark = configure_spark_with_delta_pip(builder).getOrCreate()
    fgs.register(spark)
    source = spark.read.format("framegate").option("payload", "none").load(str(folder / "journal"))
    rows = source.select("out_stream", "journal_epoch", "row", "out_seq")
    found = dict[str, object]()
    for name, given in (("path", {"path": str(folder / "out")}), ("table", {"table": "framegate_delta"})):
        sink = fgs.exactly_once(format="delta", **given)
        sink(rows.where("row < 4"), 0)
        sink(rows.where("row >= 4 and row < 8"), 1)
        again = fgs.exactly_once(format="delta", **given)
        again(rows.where("row >= 6"), 1)
        try:
            again(rows.withColumn("mean", f.lit(1.5)), 2)
        except SinkChanged as error:
            found[f"{name} refuses"] = error.facts["new"]
        there = spark.read.format("delta").load(given["path"]) if name == "path" else spark.table(given["table"])
        found[name] = sorted(row.row for row in there.select("row").collect())
    print(json.dumps(found), flush=True)
    spark.stop()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(Path(sys.argv[1]))
