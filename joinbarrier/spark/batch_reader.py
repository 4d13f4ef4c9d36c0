# SPDX-License-Identifier: Apache-2.0
"""Batch queries: a range of rows that is fixed when the query is planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from framegate.joinbarrier.spark.error_headlines import read_with_headline, with_headline
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.batch_ranges import batch_ranges
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows, by_task
from framegate.joinbarrier.spark.read.read_range import read_range
from pyspark.sql.datasource import DataSourceReader, InputPartition

if TYPE_CHECKING:
    import pyarrow as pa
    from framegate.joinbarrier.spark.read.filters import Comparison


@dataclass
class RangePartition(InputPartition):
    """A task's ranges, as Spark carries them."""

    wanted: tuple[RangeOfRows, ...]


class FramegateBatchReader(DataSourceReader):
    """Made where a query is planned, and pickled to where it is executed."""

    def __init__(self, options: SourceOptions, inputs: Sequence[str], cores: int) -> None:
        self._options, self._inputs, self._cores = options, tuple(inputs), cores
        self._comparisons: tuple[Comparison, ...] = ()

    @with_headline
    def partitions(self) -> Sequence[InputPartition]:
        """The ranges of the tasks."""
        found = batch_ranges(self._options, self._comparisons, cores=self._cores)
        return [RangePartition(each) for each in by_task(found)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A task's rows. Spark makes a partition of its own where there are no rows."""
        if not isinstance(partition, RangePartition):
            return iter(())
        return read_with_headline(
            chain.from_iterable(
                read_range(each, self._options, self._inputs, self._comparisons, may_be_fenced=True)
                for each in partition.wanted
            )
        )
