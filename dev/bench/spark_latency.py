# SPDX-License-Identifier: Apache-2.0
"""How old is a joined pair when ``foreachBatch`` has it, from the capture of its newer frame?

Two producers of 64 KiB frames, ``framegate join`` and a Spark query by reference, each a process of its own. A row
waits for the micro-batch that runs when it is sealed, and comes with the next one; so its age is told over what a
micro-batch takes that has no rows: of the same plan, over a source that never has any, in turn with the other, while
the producers go on.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from dev.bench.join_bed import Case, Join, joining
from dev.bench.result import Result, percentile
from dev.bench.spark_bed import KIB, home, spark_session, stream
from dev.bench.spark_load import Others
from dev.bench.spark_mean import means

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CASE: Final = Case(64 * KIB, 1024)
RATE_HZ: Final = 200
TARGET: Final = 1.8
_JOURNAL: Final = {"max_bytes": "1GiB", "when_full": "block", "prefault": "all"}
_TURNS: Final = 5
_BATCHES: Final = 60
"""Micro-batches of a turn that count."""
_WARM_UP: Final = 15
_LOOK_NS: Final = 20_000_000


def run(*, quick: bool = False) -> Iterator[Result]:
    """The ratio, and what it is made of; ``quick``: a few micro-batches."""
    turns, batches, warm_up = (1, 3, 1) if quick else (_TURNS, _BATCHES, _WARM_UP)
    with home() as folder, spark_session(folder) as spark, joining(CASE, **_JOURNAL) as join, _producing(join):
        queries = _Queries(spark, folder, join.journal)
        queries.live(warm_up, batches=0)
        queries.empty(warm_up, batches=0)
        others = Others()
        found = [(queries.live(warm_up, batches), queries.empty(warm_up, batches)) for _ in range(turns)]
        remark = others.remark()
    yield from _told(found, queries, remark)


def _told(found: list[tuple[list[float], list[float]]], queries: _Queries, remark: str) -> Iterator[Result]:
    ages, empty = ([value for turn in found for value in turn[side]] for side in (0, 1))
    each_turn = [statistics.median(live) / statistics.median(idle) for live, idle in found]
    age, batch = statistics.median(ages), statistics.median(empty)
    yield Result(
        question="age of a pair of 64 KiB in foreachBatch, over a micro-batch without rows, p50",
        measured=age / batch,
        unit="x",
        target=TARGET,
        spread=(min(each_turn), max(each_turn)),
        how=f"{age:.0f} over {batch:.0f} ms; p99 {percentile(ages, 0.99):.0f} ms; {len(ages)} pairs at {RATE_HZ}/s, "
        f"{len(empty)} empty micro-batches, those with rows {statistics.median(queries.full_ms):.0f} ms; {remark}",
    )


@contextmanager
def _producing(join: Join) -> Iterator[None]:
    """Both producers at their pace, in pieces of a second, until it is over."""
    is_over = threading.Event()

    def produce() -> None:
        while not is_over.is_set():
            join.paced(RATE_HZ, RATE_HZ)

    thread = threading.Thread(target=produce, name="producers")
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _Queries:
    """One at a time, with the same plan and the same function behind it."""

    def __init__(self, spark: SparkSession, folder: Path, journal: Path) -> None:
        from dev.bench.spark_null import Empty

        spark.dataSource.register(Empty)
        self._spark, self._folder, self._journal = spark, folder, journal
        self._count = 0
        self.full_ms: list[float] = []
        """What the micro-batches with rows took."""

    def live(self, warm_up: int, batches: int) -> list[float]:
        """Milliseconds from the capture of each pair until its row was in the hands of ``foreachBatch``."""
        ages = list[float]()

        def sink(df: DataFrame, number: int) -> None:
            rows = df.collect()
            now_ns = monotonic_ns()
            if number >= warm_up:
                ages.extend((now_ns - row.captured_ns) / 1e6 for row in rows)

        source = stream(self._spark, self._journal, "reference")
        self.full_ms += self._took(source, sink, warm_up, batches)
        return ages

    def empty(self, warm_up: int, batches: int) -> list[float]:
        """Milliseconds of micro-batches without rows."""
        from dev.bench.spark_null import EMPTY

        source = self._spark.readStream.format(EMPTY).option("payload", "reference").load()
        return self._took(source, lambda df, _: [df.collect()].clear(), warm_up, batches)

    def _took(
        self, source: DataFrame, sink: Callable[[DataFrame, int], None], warm_up: int, batches: int
    ) -> list[float]:
        from pyspark.sql import functions as f

        self._count += 1
        captured = f.greatest("left.timestamp_ns", "right.timestamp_ns").alias("captured_ns")
        query = (
            means(source, captured)
            .writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(self._folder / f"checkpoint-{self._count}"))
            .start()
        )
        try:
            while not _is_past(query, warm_up + batches):
                sleep_ns(_LOOK_NS)
        finally:
            query.stop()
        told = query.recentProgress
        return [
            float(each["durationMs"]["triggerExecution"])
            for each in told
            if each["batchId"] >= warm_up and "addBatch" in each["durationMs"]
        ]


def _is_past(query: Any, batches: int) -> bool:
    failure = query.exception()
    if failure is not None:
        raise failure
    last = query.lastProgress
    return last is not None and last["batchId"] >= batches
