# SPDX-License-Identifier: Apache-2.0
"""``resolve`` and ``resolve_batches``: a user's function over rows, with numpy arrays where the payloads were.

Both run in the executors' Python by ``mapInArrow``, by value or by reference alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from framegate.joinbarrier.spark.frames import frames
from framegate.joinbarrier.spark.shown import shown_while_reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

RowFunction = Callable[[dict[str, Any]], Sequence[Any]]
BatchFunction = Callable[[dict[str, Any]], Mapping[str, Sequence[Any]]]


def resolve(df: DataFrame, fn: RowFunction, schema: StructType | str) -> DataFrame:
    """Run ``fn(row) -> tuple`` for each row: scalar columns by name, and each input's read-only array, or None.

    The tuple has the columns of ``schema``, in their order.
    """

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return shown_while_reading(_by_row(batches, fn, target))

    target = _arrow(df, schema)
    return df.mapInArrow(rows, schema)


def resolve_batches(df: DataFrame, fn: BatchFunction, schema: StructType | str) -> DataFrame:
    """Run ``fn(batch) -> {column: values}`` for whole batches: a list of values, or of arrays, for each column."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return shown_while_reading(_by_batch(batches, fn, target))

    target = _arrow(df, schema)
    return df.mapInArrow(rows, schema)


def _by_row(batches: Iterable[pa.RecordBatch], fn: RowFunction, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = taken_apart(batch)
        made = [fn(dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)]
        arrays = [
            pa.array([row[index] for row in made], type=field.type, from_pandas=True)
            for index, field in enumerate(target)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)


def _by_batch(batches: Iterable[pa.RecordBatch], fn: BatchFunction, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        made = fn(taken_apart(batch))
        arrays = [pa.array(made[field.name], type=field.type, from_pandas=True) for field in target]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)


def taken_apart(batch: pa.RecordBatch) -> dict[str, list[Any]]:
    """Each column as a list: an input's as its arrays, any other as its values."""
    return {
        field.name: frames(column) if _is_input(field.type) else column.to_pylist()
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }


def _is_input(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return False
    names = {field.name for field in kind}
    return {"status", "dtype", "shape"} <= names and bool({"payload", "ref"} & names)


def _arrow(df: DataFrame, schema: StructType | str) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    # A text of columns needs a session to be read.
    parsed = schema if isinstance(schema, StructType) else df.sparkSession.createDataFrame([], schema).schema
    return to_arrow_schema(parsed, timezone="UTC")
