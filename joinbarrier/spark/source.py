# SPDX-License-Identifier: Apache-2.0
"""``format("framegate")``: what Spark makes of the options, in several processes. Opens nothing before it is asked."""

from __future__ import annotations

import os
from typing import ClassVar

from framegate.joinbarrier.spark.batch_reader import FramegateBatchReader
from framegate.joinbarrier.spark.error_headlines import with_headline
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.globs import with_journals
from framegate.joinbarrier.spark.plan.starting import open_tables
from framegate.joinbarrier.spark.pyspark_versions import check_without_limits, has_filters, has_limits
from framegate.joinbarrier.spark.read.columns import inputs_of, spark_schema
from framegate.joinbarrier.spark.stream_reader import FramegateStreamReader
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType


class FramegateDataSource(DataSource):
    """The source. Raises UnknownOption, WrongOption, MissingOption or ConflictingOptions for what was written wrong."""

    executor_cores: ClassVar[int | None] = None
    """How many tasks run at a time; None where nobody has said it, and it is what the driver has."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "framegate"

    @classmethod
    def with_cores(cls, cores: int | None) -> type[FramegateDataSource]:
        """The source for a session whose executors have so many cores: planning asks no session."""
        return type(cls.__name__, (cls,), {"executor_cores": cores, "__doc__": cls.__doc__})

    @with_headline
    def schema(self) -> StructType:
        """The columns: those of the journal, without payloads where only references, or none, are wanted."""
        options = self._parsed()
        first = next(iter(open_tables(options).values()))
        return spark_schema(options.table, first.inputs, options.payload)

    @with_headline
    def reader(self, schema: StructType) -> FramegateBatchReader:
        """For ``spark.read``."""
        options = self._parsed()
        inputs = inputs_of(schema, options)
        if not has_filters():
            return FramegateBatchReader(options, inputs, self._cores())
        from framegate.joinbarrier.spark.filtering_batch_reader import FilteringBatchReader

        return FilteringBatchReader(options, inputs, self._cores())

    @with_headline
    def streamReader(self, schema: StructType) -> FramegateStreamReader:  # noqa: N802 - Spark's name
        """For ``spark.readStream``."""
        options = self._parsed()
        options.check_streaming()
        inputs = inputs_of(schema, options)
        if not has_limits():
            check_without_limits(options)
            return FramegateStreamReader(options, inputs, self._cores())
        from framegate.joinbarrier.spark.limited_stream_reader import LimitedStreamReader

        return LimitedStreamReader(options, inputs, self._cores())

    def _parsed(self) -> SourceOptions:
        return with_journals(SourceOptions.parse(self.options))

    def _cores(self) -> int:
        return self.executor_cores or len(os.sched_getaffinity(0))
