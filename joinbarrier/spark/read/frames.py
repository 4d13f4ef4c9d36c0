# SPDX-License-Identifier: Apache-2.0
"""From an input's column to numpy: inside ``mapInArrow``, Arrow and pandas UDFs, and for single collected rows.

Payloads by value are viewed where Arrow has them; references are mapped. Every array is read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from framegate.joinbarrier.journal.payload import payload_array
from framegate.joinbarrier.tables.references import MappedSegments
from framegate.joinbarrier.tables.same_shape import Format, one_format, spread, stretches
from framegate.schema.errors import ReferenceRefused

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "npt.NDArray[Any] | None"
_Array = TypeVar("_Array")
_PAYLOADS: Final = ("payload", "ref")
_mapped: Final = MappedSegments()
"""This process's: workers are used again from batch to batch."""


def frames(column: pa.StructArray | pa.ChunkedArray | pd.DataFrame) -> list[Frame]:
    """The arrays of an input's column, None where it gave nothing. In a pandas UDF the column is a data frame.

    Raises ReferenceRefused and ReferenceOutlived.
    """
    return _of_chunks(column, lambda chunk: _frames_of_one_format(chunk) or _one_by_one(chunk))


def stacks(column: pa.StructArray | pa.ChunkedArray) -> list[npt.NDArray[Any]]:
    """The frames of an input's column as a few arrays whose first axis counts frames: for work on many of them at once.

    They are in the order of the rows; ``column.field("dtype").is_valid()`` says which rows have one. All have to be of
    one dtype and shape. Raises ReferenceRefused and ReferenceOutlived.
    """
    found = _of_chunks(column, _stacked)
    formats = {(array.dtype.str, array.shape[1:]) for array in found}
    if len(formats) > 1:
        raise ReferenceRefused(
            "frames of several dtypes or shapes in one column",
            formats="; ".join(sorted(f"{dtype} {shape}" for dtype, shape in formats)),
            hint="Use framegate.spark.frames: it gives each frame by itself.",
        )
    return found


def to_numpy(cell: Mapping[str, Any] | Any) -> Frame:
    """The array of one input in a collected row: ``to_numpy(row.left)``."""
    found = cell if isinstance(cell, Mapping) else cell.asDict()
    for name in _PAYLOADS:
        if name in found:
            return _frame(found[name], found["dtype"], found["shape"])
    raise _no_payload(found)


def _of_chunks(column: Any, arrays_of: Callable[[Any], Iterable[_Array]]) -> list[_Array]:
    """The arrays of all chunks of a column, which may have none."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    try:
        return [array for chunk in chunks for array in arrays_of(chunk)]
    finally:
        # What was mapped for this batch stays alive with its arrays; what retention dropped is given back.
        _mapped.let_go()


def _stacked(column: pa.StructArray) -> list[npt.NDArray[Any]]:
    found = _stretches(column)
    return [frame[np.newaxis] for frame in _one_by_one(column) if frame is not None] if found is None else found


def _frames_of_one_format(column: Any) -> list[Frame] | None:
    """All at once, where the frames of the column have one format."""
    found = _stretches(column)
    if found is None:
        return None
    every = [frame for stretch in found for frame in stretch]
    payloads = column.field(_payload_name(column))
    return spread(every, payloads.is_valid()) if payloads.null_count else every


def _stretches(column: Any) -> list[npt.NDArray[Any]] | None:
    """The frames that are there, in as few arrays as they lie in; None where they have no format in common."""
    if not isinstance(column, pa.StructArray):
        return None
    payloads = column.field(_payload_name(column))
    if payloads.null_count == len(payloads):
        return []
    dtypes, shapes = column.field("dtype"), column.field("shape")
    if payloads.null_count:
        is_present = payloads.is_valid()
        dtypes, shapes = dtypes.filter(is_present), shapes.filter(is_present)
    form = one_format(dtypes, shapes)
    if form is None:
        return None
    return _mapped.stretches(payloads.drop_null(), form) if _is_text(payloads) else _viewed(payloads, form)


def _viewed(column: pa.BinaryArray, form: Format) -> list[npt.NDArray[Any]] | None:
    _, _, data = column.buffers()
    offsets, is_valid = _offsets(column), column.is_valid().to_numpy(zero_copy_only=False)
    starts, lengths = offsets[:-1][is_valid], np.diff(offsets)[is_valid]
    return stretches(data, starts, form) if (lengths == form.frame_bytes).all() else None


def _one_by_one(column: Any) -> Iterator[Frame]:
    """Any column. Refuses what is wrong with one cell."""
    is_arrow = isinstance(column, pa.StructArray)
    name = _payload_name(column)
    take = column.field if is_arrow else column.__getitem__
    payloads = _buffers(take(name)) if is_arrow and name == "payload" else _values(take(name))
    for payload, dtype, shape in zip(payloads, _values(take("dtype")), _values(take("shape")), strict=True):
        yield _frame(payload, dtype, shape)


def _payload_name(column: Any) -> str:
    names = [field.name for field in column.type] if isinstance(column, pa.StructArray) else list(column.columns)
    for name in _PAYLOADS:
        if name in names:
            return name
    raise _no_payload(names)


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _values(column: Any) -> list[Any]:
    found: list[Any] = column.to_pylist() if isinstance(column, pa.Array) else list(column)
    return found


def _buffers(column: pa.BinaryArray) -> Iterator[pa.Buffer | None]:
    """Each value as a slice of the column's memory: ``to_pylist`` would copy megabytes."""
    _, _, data = column.buffers()
    places = _offsets(column)
    for index, is_valid in enumerate(column.is_valid().to_pylist()):
        start, end = int(places[index]), int(places[index + 1])
        yield (data.slice(start, end - start) if data is not None else pa.py_buffer(b"")) if is_valid else None


def _offsets(column: pa.BinaryArray) -> npt.NDArray[Any]:
    """Where each value begins in the column's memory, and where the last one ends."""
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    if len(column) == 0:
        return np.zeros(1, kind)
    return np.frombuffer(column.buffers()[1], kind, len(column) + 1, column.offset * kind().itemsize)


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
