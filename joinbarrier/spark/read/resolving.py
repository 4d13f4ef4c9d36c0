# SPDX-License-Identifier: Apache-2.0
"""``resolve`` and ``resolve_batches``: a user's function over rows, with numpy arrays where the payloads were.

Both run in the executors' Python by ``mapInArrow``, by value or by reference alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa
from framegate.joinbarrier.spark.error_headlines import read_with_headline
from framegate.joinbarrier.spark.read.frames import frames
from framegate.schema.errors import WrongResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

OneRow: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
RowFunction = Callable[[dict[str, Any]], "OneRow | Iterable[OneRow]"]
BatchFunction = Callable[[dict[str, Any]], Mapping[str, Sequence[Any]]]


def resolve(df: DataFrame, fn: RowFunction, schema: StructType | str) -> DataFrame:
    """Run ``fn(row)`` for each row: scalar columns by name, and each input's read-only array, or None.

    ``fn`` gives a row as a tuple, which has the columns of ``schema`` in their order, or as a dict, which has them by
    name: a column that it leaves out is null. Several rows, or none, are a list of these, or what a generator yields.
    A value that has no column is a ``WrongResult``, and so are a tuple of another length and ``None``.
    """

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return read_with_headline(_by_row(batches, fn, target))

    target = _arrow(df, schema)
    return _mapped(df, rows, schema)


def resolve_batches(df: DataFrame, fn: BatchFunction, schema: StructType | str) -> DataFrame:
    """Run ``fn(batch) -> {column: values}`` for whole batches: a list of values, or of arrays, for each column."""

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return read_with_headline(_by_batch(batches, fn, target))

    target = _arrow(df, schema)
    return _mapped(df, rows, schema)


def _mapped(df: DataFrame, rows: Callable[..., Iterator[pa.RecordBatch]], schema: StructType | str) -> DataFrame:
    with warnings.catch_warnings():
        # Of pandas 3, which is not used here. PySpark looks at its version all the same.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return df.mapInArrow(rows, schema)


def _by_row(batches: Iterable[pa.RecordBatch], fn: RowFunction, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = taken_apart(batch)
        made = [
            _whole(row, target)
            for values in _rows_of(columns)
            for row in _several(fn(dict(zip(columns, values, strict=True))))
        ]
        arrays = [
            pa.array([row[index] for row in made], type=field.type, from_pandas=True)
            for index, field in enumerate(target)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=target)


def _several(given: Any) -> Iterable[Any]:
    """The rows that a function gave. A list of anything but rows is one row, as a tuple is."""
    if isinstance(given, Iterator):
        return given
    if isinstance(given, list) and all(isinstance(each, tuple | Mapping) for each in given):
        return given
    return [given]


def _rows_of(columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    return zip(*columns.values(), strict=True)


def _whole(row: Any, target: pa.Schema) -> Sequence[Any]:
    """A row's values in the order of the schema. Raises WrongResult: what is too much would be lost without a word."""
    if isinstance(row, Mapping):
        unknown = sorted(map(str, row.keys() - set(target.names)))
        if unknown:
            raise WrongResult("a value has no column", have=unknown, want=target.names)
        return [row.get(name) for name in target.names]
    has_values = hasattr(row, "__len__") and not isinstance(row, str | bytes)
    have = len(row) if has_values else type(row).__name__
    if have != len(target):
        raise WrongResult("a row has other columns than the schema", have=have, want=len(target), columns=target.names)
    return cast(Sequence[Any], row)


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
    # Before 4.2 the zone is no option, and is this one.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(parsed, **zone)
