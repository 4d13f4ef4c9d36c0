# SPDX-License-Identifier: Apache-2.0
"""How much faster is a micro-batch that reads its payloads by reference than one that reads them by value?

The same rows, the same mean of both frames of each by an Arrow UDF, every reference and row checked as always. Both by
the whole micro-batch and by its part ``addBatch``, as Spark itself tells them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dev.bench.pool_bed import sized
from dev.bench.result import Result
from dev.bench.spark_bed import INPUTS, KIB, batches_of, home, journal_of, spark_session, stream
from dev.bench.spark_load import Others, abba, in_words, ratios
from dev.bench.spark_mean import means

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES: Final = ((4 * KIB, 1.7, 2.2), (64 * KIB, 2.1, 3.4), (640 * KIB, 2.6, 4.3))
"""With what was asked for, of the whole and of its part."""
BATCH_BYTES: Final = 200_000_000
_PARTS: Final = (("triggerExecution", "a micro-batch"), ("addBatch", "its addBatch"))
_BATCHES: Final = 3
_PAIRS: Final = 15
_WARM_UP: Final = 3
_QUICK_BYTES: Final = 2_000_000


def run(*, quick: bool = False) -> Iterator[Result]:
    """Two results a size; ``quick``: one size, and small batches."""
    with home() as folder, spark_session(folder) as spark:
        for frame_bytes, *asked in SIZES[:1] if quick else SIZES:
            batch_bytes = _QUICK_BYTES if quick else BATCH_BYTES
            rows = batch_bytes // (len(INPUTS) * frame_bytes)
            queries = _Queries(spark, folder, frame_bytes, rows)
            yield from queries.compared(asked, pairs=1 if quick else _PAIRS, warm_up=1 if quick else _WARM_UP)


class _Queries:
    """Over one journal of a few micro-batches."""

    def __init__(self, spark: SparkSession, folder: Path, frame_bytes: int, rows: int) -> None:
        self._spark, self._frame_bytes, self._rows = spark, frame_bytes, rows
        self._folder = folder / f"{frame_bytes}"
        self._folder.mkdir()
        self._journal = journal_of(self._folder / "journal", frame_bytes, rows * _BATCHES)
        self._count = 0

    def compared(self, asked: list[float], *, pairs: int, warm_up: int) -> Iterator[Result]:
        others = Others()
        by_value, by_reference = abba(
            lambda: self._durations("value"), lambda: self._durations("reference"), pairs, warm_up=warm_up
        )
        remark = others.remark()
        for (part, name), target in zip(_PARTS, asked, strict=True):
            values, references = ([each[part] for each in side] for side in (by_value, by_reference))
            found = ratios(values, references)
            yield Result(
                question=f"{name} of {sized(self._frame_bytes)} frames: by value over by reference",
                measured=statistics.median(found),
                unit="x",
                target=target,
                is_floor=True,
                spread=(min(found), max(found)),
                how=f"{statistics.median(values):.0f} over {statistics.median(references):.0f} ms, {self._rows} rows; "
                f"{in_words(found)}; {remark}",
            )

    def _durations(self, payload: str) -> dict[str, float]:
        """Milliseconds of a micro-batch by their part, without the first one, which compiles the plan."""
        self._count += 1
        query = (
            means(stream(self._spark, self._journal, payload, self._rows), "row")
            .writeStream.format("noop")
            .option("checkpointLocation", str(self._folder / f"checkpoint-{self._count}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        batches = [each["durationMs"] for each in batches_of(query)]
        assert len(batches) == _BATCHES, query.recentProgress  # noqa: S101  (or the figure lies)
        return {part: statistics.median(batch[part] for batch in batches[1:]) for part, _ in _PARTS}
