# SPDX-License-Identifier: Apache-2.0
"""Streaming queries, as Spark drives them: a thin skin over ``micro_batches.py``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from framegate.joinbarrier.spark.batch_reader import RangePartition
from framegate.joinbarrier.spark.error_headlines import read_with_headline, with_headline
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.micro_batches import MicroBatches
from framegate.joinbarrier.spark.plan.ranges import by_task
from framegate.joinbarrier.spark.read.read_range import read_range
from framegate.joinbarrier.tables.offsets import from_spark, to_spark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    import pyarrow as pa


class FramegateStreamReader(DataSourceStreamReader):
    """Made in two processes: one only pickles it to the executors, the other is asked for offsets, and opens."""

    def __init__(self, options: SourceOptions, inputs: Sequence[str], cores: int) -> None:
        self._options, self._inputs, self._cores = options, tuple(inputs), cores
        self._opened: MicroBatches | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    @with_headline
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's names, here and below
        """Where a query begins that has no checkpoint."""
        return to_spark(self._batches().initial())

    @with_headline
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802
        """The end of the next micro-batch, for PySpark 4.0 and 4.1, which ask without a start and without a limit."""
        return to_spark(self._batches().latest_of_all())

    @with_headline
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a micro-batch."""
        paths = self._options.paths
        found = self._batches().ranges(from_spark(start, paths), from_spark(end, paths))
        return [RangePartition(each) for each in by_task(found)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A task's rows."""
        if not isinstance(partition, RangePartition):
            return iter(())
        ranges = (read_range(each, self._options, self._inputs) for each in partition.wanted)
        return read_with_headline(chain.from_iterable(ranges))

    @with_headline
    def commit(self, end: dict[str, Any]) -> None:
        """Rows before ``end`` need not be kept for this query."""
        self._batches().commit(from_spark(end, self._options.paths))

    def stop(self) -> None:
        """Let the lease run out by itself."""
        if self._opened is not None:
            self._opened.stop()

    def _batches(self) -> MicroBatches:
        if self._opened is None:
            self._opened = MicroBatches(self._options, cores=self._cores)
        return self._opened
