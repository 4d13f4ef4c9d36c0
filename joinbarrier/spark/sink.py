# SPDX-License-Identifier: Apache-2.0
"""A sink that takes every row once, however often Spark repeats a batch: rows are known by their key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.spark.error_headlines import with_headline
from framegate.joinbarrier.spark.sink_targets import PathTarget, TableTarget, Target
from framegate.schema.errors import ConflictingOptions, SinkChanged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY: Final = ("out_stream", "journal_epoch", "row")
Source = tuple[int, int]
"""The stream and the epoch of a journal."""


def exactly_once(
    path: str | None = None,
    format: str = "parquet",  # noqa: A002 - Spark's word
    *,
    table: str | None = None,
) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch`` that appends what is not there yet to ``path``, or to the ``table`` of a catalog.

    Spark repeats a batch whose end it had not logged. Rows of it that are in the target already, by (``out_stream``,
    ``journal_epoch``, ``row``), are left out; so the target may also be shared by queries over several journals. One
    query writes at a time. The target is looked at when the query begins, and for a batch that reaches back behind
    the last row; every other batch is only appended. A format that stores columns apart reads only the keys for this.

    A batch of other columns or types than those of the target is a ``SinkChanged``, where the format keeps types.
    ``format`` is also what a table is made of that is not there yet. Raises ConflictingOptions without a target, and
    with two.
    """
    if (path is None) == (table is None):
        raise ConflictingOptions(
            "rows go to one path, or to one table",
            options="path,table",
            hint='Write exactly_once("out/means") or exactly_once(table="means").',
        )
    sink = _Sink(TableTarget(table, format) if path is None else PathTarget(path, format))  # type: ignore[arg-type]

    @with_headline
    def write(df: DataFrame, batch_id: int) -> None:
        del batch_id  # A query that begins with a new checkpoint counts its batches from 0 again; keys stay.
        # Read once: for the range of the keys, and for the rows.
        kept = df.persist()
        try:
            sink.append_missing(kept)
        finally:
            kept.unpersist()

    return write


@dataclass(slots=True)
class _Sink:
    """What is known of a target, as long as nothing went wrong."""

    target: Target
    last: dict[Source, int] = field(default_factory=dict)
    """The last row of each journal that is there: what comes behind it cannot be there."""
    types: dict[str, str] | None = None
    """The columns that are there, in their order; None before the first look."""

    def append_missing(self, df: DataFrame) -> None:
        """Append what is not there. Raises SinkChanged."""
        # A batch that fails may have been written half: then the next one looks.
        known, self.last = self.last, {}
        first, last = _spans(df)
        if last:
            columns = df.columns
            if self.types is not None and all(first[source] > known.get(source, row) for source, row in last.items()):
                self._check(df)
            else:
                df, last = self._missing(df, min(first.values()), last)
            # In the order of what is there: the join puts its keys first.
            self.target.append(df, list(self.types or {}) if self.target.is_typed else columns)
        self.last = known | last

    def _missing(self, df: DataFrame, first_row: int, last: dict[Source, int]) -> tuple[DataFrame, dict[Source, int]]:
        """The rows that are not in the target, and the last row of each of their journals when they are."""
        from pyspark.sql import functions as f

        written = self.target.written(df.sparkSession)
        self.types = _types(df if written is None else written)
        if written is None:
            self.target.make(df)
            return df, last
        self._check(df)
        there = written.select(*KEY).where(f.col("row") >= first_row)
        _, last_there = _spans(there)
        in_range = there.where(f.col("row") <= max(last.values()))
        missing = df.join(f.broadcast(in_range), list(KEY), "left_anti")
        return missing, {source: max(row, last_there.get(source, row)) for source, row in last.items()}

    def _check(self, df: DataFrame) -> None:
        if self.target.is_typed and self.types is not None:
            check_columns(self.types, _types(df), self.target.name)


def check_columns(there: Mapping[str, str], given: Mapping[str, str], target: str) -> None:
    """Compare columns with their types. Raises SinkChanged: one reader could not read both.

    >>> check_columns({"row": "bigint"}, {"row": "bigint"}, "out")
    """
    other = sorted(name for name in there.keys() & given.keys() if there[name] != given[name])
    changes = {
        "new": sorted(given.keys() - there.keys()),
        "missing": sorted(there.keys() - given.keys()),
        "other_type": [f"{name}: {there[name]}, now {given[name]}" for name in other],
    }
    found = {what: ", ".join(names) for what, names in changes.items() if names}
    if found:
        raise SinkChanged("the batch has other columns than the rows that are there", target=target, **found)


def _types(df: DataFrame) -> dict[str, str]:
    return dict(df.dtypes)


def _spans(df: DataFrame) -> tuple[dict[Source, int], dict[Source, int]]:
    """The first and the last row of each journal."""
    from pyspark.sql import functions as f

    found = df.groupBy("out_stream", "journal_epoch").agg(f.min("row").alias("first"), f.max("row").alias("last"))
    rows = {(each["out_stream"], each["journal_epoch"]): each for each in found.collect()}
    return {source: each["first"] for source, each in rows.items()}, {
        source: each["last"] for source, each in rows.items()
    }
