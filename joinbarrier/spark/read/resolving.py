# SPDX-License-Identifier: Apache-2.0
"""``resolve`` and ``resolve_batches``: a user's function over rows, with numpy arrays where the payloads were.

Both run in the executors' Python by ``mapInArrow``, by value or by reference alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from framegate.joinbarrier.spark.error_headlines import read_with_headline
from framegate.joinbarrier.spark.read.frames import frames
from framegate.schema.errors import WrongResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

RowFunction = Callable[[dict[str, Any]], Sequence[Any]]
BatchFunction = Callable[[dict[str, Any]], Mapping[str, Sequence[Any]]]


def resolve(df: DataFrame, fn: RowFunction, schema: StructType | str) -> DataFrame:
    """Run ``fn(row) -> tuple`` for each row: scalar columns by name, and each input's read-only array, or None.

    The tuple has the columns of ``schema``, in their order. Another number of values is a ``WrongResult``.
    """

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return read_with_headline(_by_row(batches, fn, target))

    target = _arrow(df, schema)
    return df.mapInArrow(rows, schema)


def resolve_batches(df: DataFrame, fn: BatchFunction, schema: StructType | str) -> DataFrame:
    """Run ``fn(batch) -> {column: values}`` for whole batches: a list of values, or of arrays, for each column."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return read_with_headline(_by_batch(batches, fn, target))

    target = _arrow(df, schema)
    return df.mapInArrow(rows, schema)


def _by_row(batches: Iterable[pa.RecordBatch], fn: RowFunction, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = taken_apart(batch)
        made = [_whole(fn(dict(zip(columns, values, strict=True))), target) for values in _rows_of(columns)]
        arrays = [
            pa.array([row[index] for row in made], type=field.type, from_pandas=True)
            for index, field in enumerate(target)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)


def _rows_of(columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    return zip(*columns.values(), strict=True)


def _whole(row: Any, target: pa.Schema) -> Any:
    """A row as the function gave it. Raises WrongResult: what is too much would be lost without a word."""
    has_values = hasattr(row, "__len__") and not isinstance(row, str | bytes)
    have = len(row) if has_values else type(row).__name__
    if have != len(target):
        raise WrongResult("a row has other columns than the schema", have=have, want=len(target), columns=target.names)
    return row


def _by_batch(batches: Iterable[pa.RecordBatch], fn: BatchFunction, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        made = fn(taken_apart(batch))
        if set(made) != set(target.names):
            raise WrongResult("a batch has other columns than the schema", have=sorted(made), want=target.names)
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
