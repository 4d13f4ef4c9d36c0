# SPDX-License-Identifier: Apache-2.0
"""One line recommends ``payload = none`` after a query that used no payload, and none after one that did."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from framegate.joinbarrier.spark.unused_payload import WARNING, _Listener
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from pyspark import java_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framegate.spark as fgs
from tests.unit.joinbarrier.journal.journal_world import segments_of

WAIT_NS = 60_000_000_000
PLAIN: dict[str, Callable[[DataFrame], object]] = {
    "a count": lambda df: df.count(),
    "other columns": lambda df: df.where("row > 1").select("row", "left.seq").collect(),
    "fields of an input": lambda df: df.agg(f.sum("left.seq"), f.max("right.status")).collect(),
}
USING: dict[str, Callable[[DataFrame], object]] = {
    "everything": lambda df: df.collect(),
    "a payload": lambda df: df.select(f.length("left.payload")).collect(),
    "an input": lambda df: df.where("row > 1").select(f.col("right").alias("r")).collect(),
    "a function": lambda df: fgs.resolve(df, lambda row: (row["row"],), "row bigint").collect(),
    "payload = none": lambda df: (
        df.sparkSession.read.format("framegate").option("payload", "none").load(_path(df)).count()
    ),
}


def _path(df: DataFrame) -> str:
    return str(df.sparkSession.conf.get("framegate.test.path"))


class Watched(_Listener):
    """Also says when it has looked."""

    looks = 0

    def onSuccess(self, name: str, execution: object, duration_ns: int) -> None:  # noqa: N802
        super().onSuccess(name, execution, duration_ns)
        self.looks += 1


@pytest.mark.parametrize("name", [*PLAIN, *USING])
def test_payloads_that_no_column_needs_are_named_once(
    spark: SparkSession, folder: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    segments_of(folder, [5])
    spark.conf.set("framegate.test.path", str(folder))
    df = spark.read.format("framegate").load(str(folder))
    cast(Any, java_gateway).ensure_callback_server_started(spark.sparkContext._gateway)
    listener = Watched()
    manager = spark._jsparkSession.listenerManager()  # type: ignore[operator,unused-ignore]
    manager.register(listener)
    try:
        with caplog.at_level(logging.WARNING):
            for time in (1, 2):
                {**PLAIN, **USING}[name](df)
                deadline = monotonic_ns() + WAIT_NS
                while listener.looks < time:
                    assert monotonic_ns() < deadline
                    sleep_ns(5_000_000)
    finally:
        manager.unregister(listener)
    said = [each.getMessage() for each in caplog.records]
    assert said == ([WARNING % "left, right"] if name in PLAIN else [])
