# SPDX-License-Identifier: Apache-2.0
"""Columns whose frames all have one dtype and shape: their arrays are made together, with little Python for each.

Most columns are like this: one camera, one format. A column that is not is left to the code that handles one cell after
another, which also reports what is wrong. This module reports no errors; it returns None if it cannot handle a column.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.journal.payload import DTYPES

Offsets: TypeAlias = npt.NDArray[np.int64]
_PARTS: Final = 8
_RUNS_MAX: Final = 16
"""The most segments that a column may refer to. For each of them, the rest of the column is searched."""
_DIGITS_MAX: Final = 18
"""The most digits of an offset: with a length added it still fits an int64."""


class Format(NamedTuple):
    """The dtype and shape that every frame of a column has."""

    dtype: np.dtype[Any]
    dims: tuple[int, ...]

    @property
    def frame_bytes(self) -> int:
        """The bytes of one frame."""
        return prod(self.dims) * self.dtype.itemsize


def one_format(dtypes: pa.StringArray, shapes: pa.ListArray) -> Format | None:
    """The dtype and shape that all these cells have; None if they differ, or are not of frames with bytes."""
    if len(dtypes) == 0 or dtypes.null_count or shapes.null_count:
        return None
    names, sizes = dtypes.unique(), shapes.value_lengths().unique()
    if len(names) > 1 or len(sizes) > 1:
        return None
    values, rank = shapes.flatten(), sizes[0].as_py()
    if rank == 0 or values.null_count:
        return None
    dims = values.to_numpy().reshape(-1, rank)
    dtype = DTYPES.get(names[0].as_py())
    if dtype is None or (dims != dims[0]).any() or dims[0].min() <= 0:
        return None
    return Format(dtype, tuple(dims[0].tolist()))


def stretches(memory: Any, offsets: Offsets, form: Format) -> list[npt.NDArray[Any]]:
    """A read-only view of each run of frames that are stored back to back, as in a sealed batch.

    The first dimension of a view counts frames. The caller has checked that all of them are inside the memory.
    """
    if len(offsets) == 0:
        return []
    breaks = np.flatnonzero(np.diff(offsets) != form.frame_bytes) + 1
    found = list[npt.NDArray[Any]]()
    for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(offsets)], strict=True):
        stretch: npt.NDArray[Any] = np.ndarray((end - begin, *form.dims), form.dtype, memory, int(offsets[begin]))
        stretch.flags.writeable = False
        found.append(stretch)
    return found


def spread(frames: Iterable[npt.NDArray[Any]], is_present: pa.BooleanArray) -> list[npt.NDArray[Any] | None]:
    """The frames in the rows that have one, and None in the others."""
    following = iter(frames)
    return [next(following) if is_one else None for is_one in is_present.to_pylist()]


class Run(NamedTuple):
    """Successive references into one segment."""

    first_text: str
    offsets: Offsets


def runs(texts: pa.StringArray, frame_bytes: int) -> list[Run] | None:
    """The references grouped by segment; None if they are not all to frames of this size. None of them may be null."""
    found = list[Run]()
    while len(texts):
        run = _run(texts, frame_bytes)
        if run is None or len(found) == _RUNS_MAX:
            return None
        found.append(run)
        texts = texts.slice(len(run.offsets))
    return found


def _run(texts: pa.StringArray, frame_bytes: int) -> Run | None:
    """The references at the beginning that differ from the first one only in their offset."""
    first: str = texts[0].as_py()
    parts = first.split(":", _PARTS - 1)
    if len(parts) != _PARTS or parts[6] != str(frame_bytes):
        return None
    before, behind = ":".join(parts[:5]) + ":", f":{parts[6]}:{parts[7]}"
    others = np.flatnonzero(~pc.starts_with(texts, before).to_numpy(zero_copy_only=False))
    texts = texts.slice(0, int(others[0])) if len(others) else texts
    numbers = pc.utf8_slice_codeunits(texts, len(before), -len(behind))
    # The part between must be digits. This also fails a text that is too short for both ends, whose part is empty.
    is_sound = pc.and_(pc.ends_with(texts, behind), pc.ascii_is_decimal(numbers))
    if not (pc.all(is_sound).as_py() and pc.max(pc.utf8_length(numbers)).as_py() <= _DIGITS_MAX):
        return None
    return Run(first, numbers.cast(pa.int64()).to_numpy())
