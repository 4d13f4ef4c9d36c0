# SPDX-License-Identifier: Apache-2.0
"""How much does the source itself cost, by value? Rows a second into a sink that does nothing, over a source of memory.

That one gives the same batches in the same tasks from its worker's own memory, so all that it takes is Spark's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dev.bench.pool_bed import sized
from dev.bench.result import Result
from dev.bench.spark_bed import INPUTS, KIB, cores, home, journal_of, spark_session
from dev.bench.spark_load import Others, abba, in_words, ratios

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZES: Final = (4 * KIB, 64 * KIB, 640 * KIB)
TARGET: Final = 0.85
_PAIRS: Final = 21
_RUN_BYTES: Final = 400_000_000
_WARM_UP: Final = 4
_QUICK_BYTES: Final = 4_000_000


def run(*, quick: bool = False) -> Iterator[Result]:
    """One result a size; ``quick``: one of them, and few rows."""
    with home() as folder, spark_session(folder) as spark:
        for frame_bytes in SIZES[:1] if quick else SIZES:
            if quick:
                yield _over_memory(spark, folder, frame_bytes, _QUICK_BYTES, pairs=1, warm_up=1)
            else:
                yield _over_memory(spark, folder, frame_bytes, _RUN_BYTES, pairs=_PAIRS, warm_up=_WARM_UP)


def _over_memory(
    spark: SparkSession, folder: Path, frame_bytes: int, run_bytes: int, *, pairs: int, warm_up: int
) -> Result:
    rows = run_bytes // (len(INPUTS) * frame_bytes)
    journal = journal_of(folder / f"{frame_bytes}", frame_bytes, rows)
    ours = spark.read.format("framegate").load(str(journal))
    memory = from_memory(spark, folder, journal)
    others = Others()
    journals_s, memory_s = abba(
        lambda: seconds_of(ours), not_late(lambda: seconds_of(memory), folder), pairs, warm_up=warm_up
    )
    found = ratios(memory_s, journals_s)
    return Result(
        question=f"rows of two {sized(frame_bytes)} by value into Spark, over the same from memory",
        measured=statistics.median(found),
        unit="x",
        target=TARGET,
        is_floor=True,
        spread=(min(found), max(found)),
        how=f"{rows / statistics.median(journals_s):,.0f} over {rows / statistics.median(memory_s):,.0f} rows/s, "
        f"{run_bytes / statistics.median(journals_s) / 1e9:.2f} GB/s; {in_words(found)}; {others.remark()}",
    )


def from_memory(spark: SparkSession, folder: Path, journal: Path) -> DataFrame:
    """The rows of a journal from the memory of Spark's workers."""
    from framegate.joinbarrier.spark.options import SourceOptions
    from framegate.joinbarrier.spark.plan.batch_ranges import batch_ranges

    from dev.bench.spark_null import FROM_MEMORY, FromMemory, ranges_as_text

    spark.dataSource.register(FromMemory)
    ranges = batch_ranges(SourceOptions.parse({"path": str(journal)}), (), cores=cores())
    return spark.read.format(FROM_MEMORY).options(ranges=ranges_as_text(ranges), home=str(folder)).load()


def seconds_of(df: DataFrame) -> float:
    """How long it takes to read all of it."""
    began_ns = time.perf_counter_ns()
    df.write.format("noop").mode("overwrite").save()
    return (time.perf_counter_ns() - began_ns) / 1e9


def not_late(measure: Callable[[], float], folder: Path) -> Callable[[], float]:
    """Taken again when a new worker had to fill its memory first."""
    from dev.bench.spark_null import IS_WARM, LATE

    def seconds() -> float:
        (folder / IS_WARM).touch()
        while True:
            found = measure()
            if not (folder / LATE).exists():
                return found
            with suppress(FileNotFoundError):
                (folder / LATE).unlink()

    return seconds
