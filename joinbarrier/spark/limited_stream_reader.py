# SPDX-License-Identifier: Apache-2.0
"""Streaming queries with limits, and with an end for ``availableNow``: what PySpark asks for from 4.2 on."""

from __future__ import annotations

from typing import Any

from framegate.joinbarrier.spark.error_headlines import with_headline
from framegate.joinbarrier.spark.stream_reader import FramegateStreamReader
from framegate.joinbarrier.tables.extents import Limit
from framegate.joinbarrier.tables.offsets import from_spark, to_spark
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)


class LimitedStreamReader(FramegateStreamReader, SupportsTriggerAvailableNow):
    """A stream reader that is told where a micro-batch begins and how much it may hold."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Says only that there is a limit: Spark has none of rows and bytes together."""
        if self._options.rows_per_trigger_max is not None:
            return ReadMaxRows(self._options.rows_per_trigger_max)
        return ReadMaxBytes(self._options.bytes_per_trigger_max)

    @with_headline
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802
        """The end of the next micro-batch."""
        first = from_spark(start, self._options.paths)
        return to_spark(self._batches().latest(first, self._limit(limit)))

    @with_headline
    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """What is sealed, for the query's progress."""
        return to_spark(self._batches().newest())

    @with_headline
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """From now on nothing new comes."""
        self._batches().freeze()

    def _limit(self, given: ReadLimit) -> Limit:
        if isinstance(given, ReadAllAvailable):
            return Limit()
        return Limit(self._options.rows_per_trigger_max, self._options.bytes_per_trigger_max)
