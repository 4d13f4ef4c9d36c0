# SPDX-License-Identifier: Apache-2.0
"""Joined rows as a Spark stream: how bright each left picture is, once for each row."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cameras import picture, source

import framegate as fg
from framegate.spark import register, resolve, session

with tempfile.TemporaryDirectory() as folder, fg.local() as gate:
    left = gate.producer("left", shape=(480, 640, 3), dtype="uint8")
    right = gate.producer("right", shape=(480, 640, 3), dtype="uint8")
    with gate.join("left", "right", journal=str(Path(folder, "rows"))) as joined:
        source(left, hz=30, frames=60, frame=picture)
        source(right, hz=30, frames=60, frame=picture)
        for row in joined:
            last = row.out_seq
    spark = session("local[2]")
    register(spark)
    rows = spark.readStream.format("framegate").option("startingOffsets", "earliest").load(str(Path(folder, "rows")))
    bright = resolve(rows, lambda row: (row["out_seq"], float(row["left"].mean())), "out_seq long, bright double")
    query = bright.writeStream.format("memory").queryName("bright").trigger(availableNow=True).start()
    query.awaitTermination()
    found = spark.sql("select count(*) as rows, avg(bright) as bright from bright").collect()[0]
    print(f"{found['rows']} rows in Spark of {last + 1}; a mean brightness of {found['bright']:.2f}")
    spark.stop()
