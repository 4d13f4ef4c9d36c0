# SPDX-License-Identifier: Apache-2.0
"""Spark over Flight and over several journals, by value, into a sink that does nothing.

By Flight in four partitions, over the source of memory that costs nothing itself; the journals of four agents in one
query, over the journal of one agent with the same bytes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.flight.child import FlightChild, FlightOptions
from framegate.schema.errors import AddTimedOut

from dev.bench.join_bed import Case, Join, several_joining
from dev.bench.pool_bed import sized
from dev.bench.result import Result
from dev.bench.spark_bed import INPUTS, KIB, cores, home, journal_of, spark_session
from dev.bench.spark_load import Others, abba, in_words, ratios
from dev.bench.spark_value import from_memory, not_late, seconds_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRAME_BYTES: Final = 64 * KIB
PARTITIONS: Final = 4
FLIGHT_TARGET: Final = 1.0
SEVERAL_TARGET: Final = 0.9
_PAIRS: Final = 11
_RUN_BYTES: Final = 400_000_000
_WARM_UP: Final = 3
_QUICK_BYTES: Final = 8_000_000
_SLOTS: Final = 256
_JOURNAL: Final = {"max_bytes": "2GiB", "segment_bytes": "128MiB"}
"""Room for all rows of the one journal, so that none is dropped before it was read."""


def run(*, quick: bool = False) -> Iterator[Result]:
    """Two results; ``quick``: of few rows."""
    run_bytes, pairs, warm_up = (_QUICK_BYTES, 1, 1) if quick else (_RUN_BYTES, _PAIRS, _WARM_UP)
    rows = run_bytes // (len(INPUTS) * FRAME_BYTES) // PARTITIONS * PARTITIONS
    with home() as folder, spark_session(folder) as spark:
        journal = journal_of(folder / "one", FRAME_BYTES, rows)
        yield _by_flight(spark, folder, journal, rows, pairs, warm_up)
        yield _several(spark, rows, pairs, warm_up)


def _by_flight(spark: SparkSession, folder: Path, journal: Path, rows: int, pairs: int, warm_up: int) -> Result:
    with FlightChild(journal, FlightOptions(listen="grpc://127.0.0.1:0")) as server:
        options = {"endpoint": str(server.endpoint), "forceFlight": "true", "minPartitions": str(PARTITIONS)}
        ours = spark.read.format("framegate").options(**options).load()
        memory = from_memory(spark, folder, journal)
        others = Others()
        ours_s, memory_s = abba(
            lambda: seconds_of(ours), not_late(lambda: seconds_of(memory), folder), pairs, warm_up=warm_up
        )
        remark = others.remark()
    found = ratios(memory_s, ours_s)
    return Result(
        question=f"rows of two {sized(FRAME_BYTES)} by Flight in {PARTITIONS} partitions, over the same from memory",
        measured=statistics.median(found),
        unit="x",
        target=FLIGHT_TARGET,
        is_floor=True,
        spread=(min(found), max(found)),
        how=f"{_rates(rows, ours_s, memory_s)}; the server is on the same {cores()} cores as Spark; {in_words(found)};"
        f" {remark}",
    )


def _several(spark: SparkSession, rows: int, pairs: int, warm_up: int) -> Result:
    """All five agents have joined before anything is measured, and go on waiting for frames while it is: the cores are
    Spark's alone, as they are where it runs on hosts of its own."""
    with several_joining(Case(FRAME_BYTES, _SLOTS), PARTITIONS + 1, **_JOURNAL) as (single, *rig):
        _fill(single, rows)
        for join in rig:
            _fill(join, rows // PARTITIONS)
        several = spark.read.format("framegate").load(",".join(str(join.journal) for join in rig))
        one = spark.read.format("framegate").load(str(single.journal))
        others = Others()
        several_s, one_s = abba(lambda: seconds_of(several), lambda: seconds_of(one), pairs, warm_up=warm_up)
        remark = others.remark()
    found = ratios(one_s, several_s)
    return Result(
        question=f"rows of two {sized(FRAME_BYTES)} of {PARTITIONS} journals of {PARTITIONS} agents in one query,"
        " over one of the same bytes",
        measured=statistics.median(found),
        unit="x",
        target=SEVERAL_TARGET,
        is_floor=True,
        spread=(min(found), max(found)),
        how=f"{_rates(rows, several_s, one_s)}; written before by {PARTITIONS + 1} `framegate join` from two producers"
        f" each, which stay attached; {in_words(found)}; {remark}",
    )


def _fill(join: Join, rows: int) -> None:
    """As fast as it joins. Raises AddTimedOut: a rate of fewer rows would be none."""
    run = join.held(rows)
    if run.joined != rows:
        raise AddTimedOut("an agent has not joined every pair", journal=join.journal, want=rows, have=run.joined)


def _rates(rows: int, ours_s: list[float], theirs_s: list[float]) -> str:
    return f"{rows / statistics.median(ours_s):,.0f} over {rows / statistics.median(theirs_s):,.0f} rows/s"
