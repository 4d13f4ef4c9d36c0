# SPDX-License-Identifier: Apache-2.0
"""One row: its scalar columns, and for each input a read-only numpy view of the payload in the mapped segment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from framegate.joinbarrier.journal.batch import Batch
from framegate.joinbarrier.journal.payload import payload_array
from framegate.joinbarrier.journal.schema import INPUT_TYPE, ROW_FIELDS
from framegate.schema.errors import JournalDamaged

_SCALARS: Final = tuple(field.name for field in ROW_FIELDS)
_CELLS: Final = tuple(field.name for field in INPUT_TYPE)[:-1]
"""Without the payload, in the order of ``JoinedInput``."""


@dataclass(frozen=True, slots=True)
class JoinedInput:
    """What one input gave to a row. If it gave no frame, everything except ``status`` is None."""

    status: str
    seq: int | None
    timestamp_ns: int | None
    epoch: int | None
    trace_id: int | None
    dtype: str | None
    shape: tuple[int, ...] | None
    array: npt.NDArray[Any] | None
    """A view of the payload. It keeps the segment's memory from being reused; ``array.copy()`` does not."""

    @property
    def is_present(self) -> bool:
        """Whether the row has a frame of the input."""
        return self.array is not None


class Row(Mapping[str, Any]):
    """One row. It maps scalar columns by name, and each input's name to its array, or None; also as attributes,
    except for an input with the name of a method, as ``values``: that one is ``row["values"]``.

    ``inputs`` holds what else is known of each input.
    """

    __slots__ = ("_scalars", "inputs")

    def __init__(self, scalars: Mapping[str, Any], inputs: Mapping[str, JoinedInput]) -> None:
        self._scalars = scalars
        self.inputs = inputs

    def __getitem__(self, name: str) -> Any:
        found = self.inputs.get(name)
        return self._scalars[name] if found is None else found.array

    @property
    def absent(self) -> tuple[str, ...]:
        """The inputs of which the row has no frame."""
        return tuple(name for name, cell in self.inputs.items() if not cell.is_present)

    def __getattr__(self, name: str) -> Any:
        # Unpickling asks for slots before they are filled; these must not look themselves up.
        if name.startswith("_") or name == "inputs" or name not in self:
            raise AttributeError(f"a row has no {name!r}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._scalars
        yield from self.inputs

    def __len__(self) -> int:
        return len(self._scalars) + len(self.inputs)

    def __repr__(self) -> str:
        states = ", ".join(f"{name}={cell.status}" for name, cell in self.inputs.items())
        return f"<Row {self['row']}: out_epoch={self['out_epoch']} out_seq={self['out_seq']} {states}>"


class _InputColumns:
    """One input's struct column, split once for its batch."""

    def __init__(self, name: str, column: pa.StructArray) -> None:
        self._name = name
        self._cells = [column.field(cell).to_pylist() for cell in _CELLS]
        payload = column.field("payload")
        _, offsets, self._data = payload.buffers()
        # A column without rows may have no offsets.
        self._offsets = (
            np.frombuffer(offsets, np.int32, len(payload) + 1, payload.offset * 4)
            if len(payload)
            else np.zeros(1, np.int32)
        )
        self._is_present = payload.is_valid().to_pylist()

    def cell(self, index: int) -> JoinedInput:
        *values, dtype, shape = (cells[index] for cells in self._cells)
        array = self._array(index, dtype, shape) if self._is_present[index] else None
        dims = None if shape is None else tuple(shape)
        cell: list[Any] = [*values, dtype, dims, array]
        return JoinedInput(*cell)

    def _array(self, index: int, dtype: str | None, shape: list[int] | None) -> npt.NDArray[Any]:
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        try:
            return payload_array(self._data, dtype, shape, start=start, end=end)
        except JournalDamaged as broken:
            broken.facts = {"input": self._name, **broken.facts}
            raise


def rows_of(batch: Batch, first_row: int = 0) -> Iterator[Row]:
    """The rows of a batch from ``first_row`` on. Raises JournalDamaged if a payload contradicts its shape."""
    table = batch.record_batch
    try:
        scalars = [table.column(name).to_pylist() for name in _SCALARS]
        inputs = {name: _InputColumns(name, table.column(name)) for name in table.schema.names[len(_SCALARS) :]}
    except (ValueError, OverflowError) as broken:
        raise JournalDamaged(f"a value has no meaning: {broken}", first_row=batch.first_row) from None
    for index in range(max(first_row - batch.first_row, 0), table.num_rows):
        yield Row(
            dict(zip(_SCALARS, (column[index] for column in scalars), strict=True)),
            {name: columns.cell(index) for name, columns in inputs.items()},
        )
