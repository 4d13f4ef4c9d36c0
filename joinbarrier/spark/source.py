# SPDX-License-Identifier: Apache-2.0
"""``format("framegate")``: what Spark makes of the options, in several processes. Opens nothing before it is asked."""

from __future__ import annotations

import os

from framegate.joinbarrier.spark.batch_reader import FramegateBatchReader
from framegate.joinbarrier.spark.error_headlines import with_headline
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.starting import open_tables
from framegate.joinbarrier.spark.read.columns import inputs_of, spark_schema
from framegate.joinbarrier.spark.stream_reader import FramegateStreamReader
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType


class FramegateDataSource(DataSource):
    """The source. Raises UnknownOption, WrongOption, MissingOption or ConflictingOptions for what was written wrong."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "framegate"

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
        return FramegateBatchReader(options, inputs_of(schema, options), _cores())

    @with_headline
    def streamReader(self, schema: StructType) -> FramegateStreamReader:  # noqa: N802 - Spark's name
        """For ``spark.readStream``."""
        options = self._parsed()
        options.check_streaming()
        return FramegateStreamReader(options, inputs_of(schema, options), _cores())

    def _parsed(self) -> SourceOptions:
        return SourceOptions.parse(self.options)


def _cores() -> int:
    return len(os.sched_getaffinity(0))
