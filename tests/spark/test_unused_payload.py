# SPDX-License-Identifier: Apache-2.0
"""One line recommends ``payload = none`` after a query that used no payload, and none after one that did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """Keeps what it says, apart from a listener that the session has already; and says when it has looked."""

    def __init__(self) -> None:
        super().__init__()
        self.said = list[str]()
        self.looks = 0

    def say(self, inputs: Iterable[str]) -> None:
        self.said += inputs

    def onSuccess(self, name: str, execution: object, duration_ns: int) -> None:  # noqa: N802
        super().onSuccess(name, execution, duration_ns)
        self.looks += 1


@pytest.mark.parametrize("name", [*PLAIN, *USING])
def test_payloads_that_no_column_needs_are_named_once(spark: SparkSession, folder: Path, name: str) -> None:
    segments_of(folder, [5])
    spark.conf.set("framegate.test.path", str(folder))
    df = spark.read.format("framegate").load(str(folder))
    cast(Any, java_gateway).ensure_callback_server_started(spark.sparkContext._gateway)
    listener = Watched()
    manager = spark._jsparkSession.listenerManager()  # type: ignore[operator,unused-ignore]
    manager.register(listener)
    try:
        for time in (1, 2):
            {**PLAIN, **USING}[name](df)
            deadline = monotonic_ns() + WAIT_NS
            while listener.looks < time:
                assert monotonic_ns() < deadline
                sleep_ns(5_000_000)
    finally:
        manager.unregister(listener)
    assert listener.said == (["left", "right"] if name in PLAIN else [])


def test_what_is_said_names_the_inputs_and_the_option(caplog: pytest.LogCaptureFixture) -> None:
    _Listener().say(["left", "right"])
    (line,) = caplog.messages
    assert line == WARNING % "left, right"
    assert '.option("payload", "none")' in line
