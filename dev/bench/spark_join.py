# SPDX-License-Identifier: Apache-2.0
"""Joined rows a second: a journal read by Spark, over Spark's own join of the same two streams.

Spark joins two journals of one input each, which hold the same frames, by sequence within a watermark of 2 s. Each end
takes the mean of both frames of every row by the same UDF, and sums it up; what a row's means come to must agree. Each
has the size of micro-batch that a sweep found best for it, and as many rows as that wants: a joined journal is read in
batches of many rows, while Spark's join keeps every row that it waits with in its state, and pays for each.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dev.bench.pool_bed import sized
from dev.bench.result import Result
from dev.bench.spark_bed import INPUTS, KIB, batches_of, home, journal_of, spark_session, stream
from dev.bench.spark_load import Others, in_words, ratios
from dev.bench.spark_mean import frame_of, means

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STORES: Final = {
    "default": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    "RocksDB": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}
TARGETS: Final = {"reference": 10.0, "value": 3.0}
WATERMARK: Final = "2 seconds"
_ROUNDS: Final = 3
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Rows:
    """How many an end is given, and the sizes of micro-batch that are tried, from the largest down.

    What rows hold repeats itself; the number is a multiple of that, so that ends with more rows have the same mean.
    """

    count: int
    sweep: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Frames of a size, read as joined ones or joined by Spark."""

    frame_bytes: int
    read: Rows
    joined: Mapping[str, Rows]
    """By where Spark keeps its state; as many rows everywhere."""


CASES: Final = (
    Case(
        4 * KIB,
        Rows(1_024_000, (256_000, 128_000, 64_000, 32_000, 16_000)),
        dict.fromkeys(STORES, Rows(256_000, (64_000, 32_000, 16_000, 8_000, 4_000))),
    ),
    Case(
        64 * KIB,
        Rows(32_768, (8_192, 4_096, 2_048, 1_024)),
        {
            "default": Rows(16_384, (4_096, 2_048, 1_024, 512)),
            # With 4,096 its files and their copies in the checkpoint did not fit beside the rest into 24 GiB.
            "RocksDB": Rows(16_384, (2_048, 1_024, 512, 256)),
        },
    ),
)
_QUICK: Final = Case(4 * KIB, Rows(1_280, (320,)), dict.fromkeys(STORES, Rows(640, (160,))))


def run(*, quick: bool = False) -> Iterator[Result]:
    """Four results a size; ``quick``: one size, and few rows."""
    with home() as folder, spark_session(folder) as spark:
        for case in (_QUICK,) if quick else CASES:
            own = folder / f"{case.frame_bytes}"
            yield from _compared(Ends(spark, own, case), rounds=1 if quick else _ROUNDS)
            # The next size needs the memory that these journals lie in.
            shutil.rmtree(own)


def _compared(ends: Ends, rounds: int) -> Iterator[Result]:
    others = Others()
    best = {name: _best(ends, end) for name, end in ends.all().items()}
    rates: dict[str, list[float]] = {name: [] for name in best}
    for number in range(rounds):
        order = list(best) if number % 2 else list(reversed(best))
        for name in order:
            rates[name].append(ends.rate(ends.all()[name], best[name]))
    remark = others.remark()
    for payload, target in TARGETS.items():
        for store in STORES:
            found = ratios(rates[payload], rates[store])
            ours, theirs = statistics.median(rates[payload]), statistics.median(rates[store])
            yield Result(
                question=f"rows of two {sized(ends.case.frame_bytes)} by {payload}, over Spark's own join, {store}",
                measured=statistics.median(found),
                unit="x",
                target=target,
                is_floor=True,
                spread=(min(found), max(found)),
                how=f"{ours:,.0f} over {theirs:,.0f} rows/s, in micro-batches of {best[payload]} and {best[store]}; "
                f"{in_words(found)}; {remark}",
            )


def _best(ends: Ends, end: End) -> int:
    """The size of micro-batch with the highest rate: smaller ones are tried until one is slower than the one before.

    The first run of all only warms up.
    """
    sizes = end.rows.sweep
    ends.rate(end, sizes[0])
    best, highest = sizes[0], 0.0
    for rows in sizes:
        rate = ends.rate(end, rows)
        if rate < highest:
            break
        best, highest = rows, rate
    return best


@dataclass(frozen=True, slots=True)
class End:
    """One way to joined rows: a stream of the row's number and ``mean``, in micro-batches of a size."""

    rows: Rows
    stream: Callable[[int], DataFrame]


class Ends:
    """All of them."""

    def __init__(self, spark: SparkSession, folder: Path, case: Case) -> None:
        self.case = case
        self._spark, self._folder = spark, folder
        self._folder.mkdir()
        self._joined = journal_of(self._folder / "joined", case.frame_bytes, case.read.count)
        rows = case.joined["default"].count
        self._single = {name: journal_of(self._folder / name, case.frame_bytes, rows, (name,)) for name in INPUTS}
        self._mean: float | None = None

    def all(self) -> dict[str, End]:
        """By name: how a journal is read, or where Spark keeps its state."""
        return {
            **{payload: End(self.case.read, self._journal(payload)) for payload in TARGETS},
            **{store: End(self.case.joined[store], self._spark_join(store)) for store in STORES},
        }

    def rate(self, end: End, batch_rows: int) -> float:
        """Joined rows a second of Spark's time, over all micro-batches that had rows but the first two."""
        sums = dict[int, tuple[int, float]]()
        checkpoint = self._folder / "checkpoint"
        query = (
            end.stream(batch_rows)
            .writeStream.foreachBatch(lambda df, number: sums.update({number: _summed(df)}))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        # A run's state is as large as what it joined, and so are the files of its shuffles. Spark keeps the one for a
        # minute more, the others until what stands for them is collected.
        jvm: Any = self._spark.sparkContext._jvm
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
        jvm.java.lang.System.gc()
        shutil.rmtree(checkpoint)
        self._check(end.rows.count, [count for count, _ in sums.values()], sum(total for _, total in sums.values()))
        counted = batches_of(query)
        # The first ones compile the plan and fill the state; where there are no others, the last one stands for all.
        counted = counted[min(2, len(counted) - 1) :]
        joined: int = sum(sums[each["batchId"]][0] for each in counted)
        spent_ms: float = sum(each["durationMs"]["triggerExecution"] for each in counted)
        return joined / spent_ms * 1e3

    def _check(self, rows: int, counts: Sequence[int], total: float) -> None:
        """Every row was joined, and every end computes the same."""
        assert sum(counts) == rows, f"{sum(counts)} of {rows} rows"  # noqa: S101  (or the figure lies)
        mean = total / rows
        self._mean = mean if self._mean is None else self._mean
        assert abs(mean - self._mean) <= _ROUNDING * self._mean, (mean, self._mean)  # noqa: S101

    def _journal(self, payload: str) -> Callable[[int], DataFrame]:
        def read(rows: int) -> DataFrame:
            frames = stream(self._spark, self._joined, payload, rows)
            return means(frames.select("row", *(frame_of(frames, name) for name in INPUTS)), "row", at_once=True)

        return read

    def _spark_join(self, store: str) -> Callable[[int], DataFrame]:
        def joined(rows: int) -> DataFrame:
            from pyspark.sql import functions as f

            self._spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORES[store])
            left, right = (self._input(name, rows) for name in INPUTS)
            is_near = f.col("right_at").between(f.col("left_at"), f.col("left_at") + f.expr("interval 1 second"))
            return means(
                left.join(right, (f.col("left_seq") == f.col("right_seq")) & is_near), "left_seq", at_once=True
            )

        return joined

    def _input(self, name: str, rows: int) -> DataFrame:
        """One stream of frames, as a query over it alone would have them."""
        from pyspark.sql import functions as f

        import framegate.spark as fgs

        frames = stream(self._spark, self._single[name], "value", rows)
        at = fgs.event_time(f"{name}.timestamp_ns").alias(f"{name}_at")
        seq = f.col(f"{name}.seq").alias(f"{name}_seq")
        return frames.select(seq, at, frame_of(frames, name)).withWatermark(f"{name}_at", WATERMARK)


def _summed(df: DataFrame) -> tuple[int, float]:
    from pyspark.sql import functions as f

    count, total = df.agg(f.count(f.lit(1)), f.sum("mean")).collect()[0]
    return count, total or 0.0
