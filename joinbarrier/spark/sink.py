# SPDX-License-Identifier: Apache-2.0
"""A sink that takes every row once, however often Spark repeats a batch: rows are known by their key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from framegate.joinbarrier.spark.error_headlines import with_headline
from framegate.schema.errors import SinkChanged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY: Final = ("out_stream", "journal_epoch", "row")
_UNTYPED: Final = ("csv", "json", "text", "xml")
"""Formats whose types Spark guesses from what is written."""


def exactly_once(path: str, format: str = "parquet") -> Callable[[DataFrame, int], None]:  # noqa: A002 - Spark's word
    """A function for ``foreachBatch`` that appends to ``path`` what is not there yet.

    Spark repeats a batch whose end it had not logged. Rows of it that are in the target already, by (``out_stream``,
    ``journal_epoch``, ``row``), are left out; so the target may also be shared by queries over several journals. One
    query writes at a time. A format that stores columns apart reads only the keys for this.

    A batch of other columns or types than those of the target is a ``SinkChanged``, where the format keeps types.
    """

    @with_headline
    def write(df: DataFrame, batch_id: int) -> None:
        del batch_id  # A query that begins with a new checkpoint counts its batches from 0 again; keys stay.
        # Read once: for the range of the keys, and for the rows.
        kept = df.persist()
        try:
            _append_missing(kept, path, format)
        finally:
            kept.unpersist()

    return write


def _append_missing(df: DataFrame, path: str, kind: str) -> None:
    from pyspark.sql import functions as f

    session = df.sparkSession
    first, last = df.agg(f.min("row"), f.max("row")).collect()[0]
    if first is None:
        return
    if _has_rows(session, path):
        written = session.read.format(kind).load(path)
        if kind.lower() not in _UNTYPED:
            check_columns(_columns(written), _columns(df), path)
        there = written.select(*KEY).where(f.col("row").between(first, last))
        # The join puts its keys first; every file is to have the same columns in the same order.
        df = df.join(f.broadcast(there), list(KEY), "left_anti").select(*df.columns)
    df.write.format(kind).mode("append").save(path)


def check_columns(there: Mapping[str, str], given: Mapping[str, str], path: str) -> None:
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
        raise SinkChanged("the batch has other columns than the rows that are there", path=path, **found)


def _columns(df: DataFrame) -> dict[str, str]:
    return dict(df.dtypes)


def _has_rows(session: SparkSession, path: str) -> bool:
    """Whether there is a file of an earlier batch. A folder that a killed job left holds only hidden ones."""
    jvm: Any = session._jvm
    conf = session._jsc.hadoopConfiguration()
    target = jvm.org.apache.hadoop.fs.Path(path)
    files = target.getFileSystem(conf)
    if not files.exists(target):
        return False
    return any(not status.getPath().getName().startswith(("_", ".")) for status in files.listStatus(target))
