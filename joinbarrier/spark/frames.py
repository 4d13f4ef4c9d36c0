# SPDX-License-Identifier: Apache-2.0
"""From an input's column to numpy: inside ``mapInArrow``, Arrow and pandas UDFs, and for single collected rows.

Payloads by value are viewed where Arrow has them; references are mapped. Every array is read-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from framegate.joinbarrier.journal.payload import payload_array
from framegate.joinbarrier.spark.references import MappedSegments
from framegate.schema.errors import ReferenceRefused

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "npt.NDArray[Any] | None"
_PAYLOADS: Final = ("payload", "ref")
_mapped: Final = MappedSegments()
"""This process's: workers are used again from batch to batch."""


def frames(column: pa.StructArray | pa.ChunkedArray | pd.DataFrame) -> list[Frame]:
    """The arrays of an input's column, None where it gave nothing. In a pandas UDF the column is a data frame.

    Raises ReferenceRefused and ReferenceOutlived.
    """
    try:
        return list(_frames(column))
    finally:
        # What was mapped for this batch stays alive with its arrays; what retention dropped is given back.
        _mapped.let_go()


def to_numpy(cell: Mapping[str, Any] | Any) -> Frame:
    """The array of one input in a collected row: ``to_numpy(row.left)``."""
    found = cell if isinstance(cell, Mapping) else cell.asDict()
    for name in _PAYLOADS:
        if name in found:
            return _frame(found[name], found["dtype"], found["shape"])
    raise _no_payload(found)


def _frames(column: Any) -> Iterator[Frame]:
    if isinstance(column, pa.ChunkedArray):
        for chunk in column.chunks:
            yield from _frames(chunk)
        return
    is_arrow = isinstance(column, pa.StructArray)
    names = [field.name for field in column.type] if is_arrow else list(column.columns)
    name = next((each for each in _PAYLOADS if each in names), None)
    if name is None:
        raise _no_payload(names)
    take = column.field if is_arrow else column.__getitem__
    payloads = _buffers(take(name)) if is_arrow and name == "payload" else _values(take(name))
    for payload, dtype, shape in zip(payloads, _values(take("dtype")), _values(take("shape")), strict=True):
        yield _frame(payload, dtype, shape)


def _values(column: Any) -> list[Any]:
    found: list[Any] = column.to_pylist() if isinstance(column, pa.Array) else list(column)
    return found


def _buffers(column: pa.BinaryArray) -> Iterator[pa.Buffer | None]:
    """Each value as a slice of the column's memory: ``to_pylist`` would copy megabytes."""
    _, offsets, data = column.buffers()
    is_large = pa.types.is_large_binary(column.type)
    kind = np.int64 if is_large else np.int32
    places = np.frombuffer(offsets, kind, len(column) + 1, column.offset * kind().itemsize) if len(column) else ()
    for index, is_valid in enumerate(column.is_valid().to_pylist()):
        start, end = int(places[index]), int(places[index + 1])
        yield (data.slice(start, end - start) if data is not None else pa.py_buffer(b"")) if is_valid else None


def _frame(payload: Any, dtype: Any, shape: Any) -> Frame:
    # A null text in a pandas column may come as nan.
    if payload is None or payload != payload:
        return None
    # Arrow and Spark give a list, pandas an array.
    dims = shape if shape is None or isinstance(shape, list) else [int(size) for size in shape]
    kind = dtype if isinstance(dtype, str) else None
    if isinstance(payload, str):
        return _mapped.array(payload, kind, dims)
    return payload_array(payload, kind, dims)


def _no_payload(names: Iterable[str]) -> ReferenceRefused:
    return ReferenceRefused(
        "not the column of an input, or one read without payloads",
        have=",".join(map(str, names)),
        hint='Give it the whole struct of an input, read with payload="value" or payload="reference".',
    )
