# SPDX-License-Identifier: Apache-2.0
"""Batch queries that take over Spark's filters, which PySpark hands down from 4.1 on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from framegate.joinbarrier.spark.batch_reader import FramegateBatchReader
from framegate.joinbarrier.spark.read.filters import Comparison
from pyspark.sql.datasource import DataSourceReader, Filter


class FilteringBatchReader(FramegateBatchReader):
    """A batch reader that filters by what ``Comparison`` can compare."""

    @property
    def pushFilters(self) -> Callable[[list[Filter]], Iterable[Filter]]:  # noqa: N802
        """Takes over what ``Comparison`` can compare; gives back the rest."""
        return _FiltersTaken(self)

    def take(self, filters: list[Filter]) -> Iterable[Filter]:
        """Keep what can be compared here."""
        taken = [(given, Comparison.of(given)) for given in filters]
        self._comparisons = tuple(comparison for _, comparison in taken if comparison is not None)
        return [given for given, comparison in taken if comparison is None]


class _FiltersTaken:
    """``pushFilters`` of a reader, looking like the one that every reader inherits.

    Spark refuses a reader that has one of its own while ``spark.sql.python.filterPushdown.enabled`` is off, as it is by
    default, instead of not asking it. So the source would not work without that setting.
    """

    def __init__(self, reader: FilteringBatchReader) -> None:
        self._reader = reader
        # Of this object, not of the class: a function of the class would be bound when it is asked for.
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reader.take(filters)
