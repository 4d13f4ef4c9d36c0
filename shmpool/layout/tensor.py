# SPDX-License-Identifier: Apache-2.0
"""The tensor of a frame: shape, strides and dtype, checked before any address is computed with them (PROTOCOL 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final, Self

import numpy as np
from framegate.schema.errors import WrongArray
from framegate.schema.wire import Dtype, MajorOrder, ProgressUnit, TensorHeader

MAX_DIMS: Final = 8
_COUNT_MAX: Final = (1 << 63) - 1
DTYPES: Final[dict[int, np.dtype[Any]]] = {
    Dtype.UINT8: np.dtype("<u1"), Dtype.INT8: np.dtype("<i1"),
    Dtype.UINT16: np.dtype("<u2"), Dtype.INT16: np.dtype("<i2"),
    Dtype.UINT32: np.dtype("<u4"), Dtype.INT32: np.dtype("<i4"),
    Dtype.UINT64: np.dtype("<u8"), Dtype.INT64: np.dtype("<i8"),
    Dtype.FLOAT32: np.dtype("<f4"), Dtype.FLOAT64: np.dtype("<f8"),
    Dtype.BOOLEAN: np.dtype("?"), Dtype.BYTES: np.dtype("<u1"), Dtype.BIT: np.dtype("?"),
}  # fmt: skip
"""The dtypes of frames by number. UNKNOWN cannot be read, and 12 is not assigned."""
_NUMBERS: Final = {dtype: number for number, dtype in reversed(DTYPES.items())}


@dataclass(frozen=True, slots=True)
class Tensor:
    """The fields of a TensorHeader as they are in a slot. They may hold any numbers until ``resolved`` checks them."""

    dtype: int
    major_order: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    ndims: int
    progress_unit: int = ProgressUnit.NONE
    progress_stride_bytes: int = 0

    @classmethod
    def contiguous(cls, dtype: np.dtype[Any], shape: tuple[int, ...], order: MajorOrder = MajorOrder.ROW) -> Self:
        """Make a tensor without gaps and progress. A number without dimensions becomes a frame of one element."""
        if dtype not in _NUMBERS or len(shape) > MAX_DIMS:
            raise WrongArray("no frame can have this dtype and shape", dtype=dtype, shape=shape)
        dims = shape or (1,)
        return cls(_NUMBERS[dtype], order, dims, (0,) * len(dims), len(dims))

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Self:
        """The tensor that a writer stores. An array that is contiguous in neither order is copied row by row."""
        is_column = array.flags.f_contiguous and not array.flags.c_contiguous
        return cls.contiguous(array.dtype, array.shape, MajorOrder.COLUMN if is_column else MajorOrder.ROW)

    def header(self) -> TensorHeader:
        """The header as a writer stores it, with zeroes from ``ndims`` on."""
        unused = (0,) * (MAX_DIMS - self.ndims)
        return TensorHeader(
            dtype=Dtype(self.dtype),
            major_order=MajorOrder(self.major_order),
            ndims=self.ndims,
            progress_unit=ProgressUnit(self.progress_unit),
            progress_stride_bytes=self.progress_stride_bytes,
            dims=self.dims + unused,
            strides=self.strides + unused,
        )

    def resolved(self, values_bytes: int) -> tuple[int, ...] | str:
        """The strides, with zeroes replaced by their values; or the first fault, by the native twin's name for it."""
        if self.dtype not in DTYPES:
            return "dtype"
        if self.major_order not in (MajorOrder.ROW, MajorOrder.COLUMN):
            return "major_order"
        if not 1 <= self.ndims <= MAX_DIMS:
            return "ndims"
        if min(self.dims) < 0:
            return "dims"
        element = DTYPES[self.dtype].itemsize
        strides = self._inferred(element)
        if strides is None:
            return "strides"
        if not self._is_progress_sound(strides):
            return "progress"
        return strides if self._furthest_byte(strides, element) <= values_bytes else "extent"

    def _inferred(self, element: int) -> tuple[int, ...] | None:
        """The strides from the fastest dimension to the slowest. Each must not be shorter than what is inside it."""
        strides, least = [0] * self.ndims, element
        fastest_first = range(self.ndims) if self.major_order == MajorOrder.COLUMN else reversed(range(self.ndims))
        for index in fastest_first:
            strides[index] = self.strides[index] or least
            if strides[index] < least:
                return None
            least = strides[index] * max(self.dims[index], 1)
        return tuple(strides)

    def _is_progress_sound(self, strides: tuple[int, ...]) -> bool:
        match self.progress_unit:
            case ProgressUnit.NONE:
                return True
            case ProgressUnit.ROWS:
                return self.progress_stride_bytes == strides[0]
            case ProgressUnit.COLUMNS:
                return self.ndims >= 2 and self.progress_stride_bytes == strides[1]
        return False

    def _furthest_byte(self, strides: tuple[int, ...], element: int) -> int:
        if 0 in self.dims:
            # An empty array addresses no byte, but a program that shows it must still be able to count its elements.
            count = prod(max(dim, 1) for dim in self.dims) * element
            return 0 if count < _COUNT_MAX else count
        return element + sum(stride * (dim - 1) for dim, stride in zip(self.dims, strides, strict=True))
