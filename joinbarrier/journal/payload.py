# SPDX-License-Identifier: Apache-2.0
"""Views a payload's bytes as an array of its dtype and shape, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from framegate.schema.errors import JournalDamaged

if TYPE_CHECKING:
    from typing_extensions import Buffer

_BYTES: Final = np.dtype(np.uint8)
DTYPES: Final[dict[str | None, np.dtype[Any]]] = {
    **{name: np.dtype(name) for name in ("uint8", "int8", "bool", "float32", "float64")},
    **{f"{sign}int{bits}": np.dtype(f"<{sign or 'i'}{bits // 8}") for sign in ("u", "") for bits in (16, 32, 64)},
    "": _BYTES,
    None: _BYTES,
}
"""The dtypes of payloads; a payload of an unknown dtype is bytes."""


def payload_array(
    payload: Buffer, dtype: str | None, shape: Sequence[int] | None, *, start: int = 0, end: int | None = None
) -> npt.NDArray[Any]:
    """View the bytes from ``start`` to ``end``, read-only. Raises JournalDamaged if they do not fit the shape.

    >>> payload_array(bytes([1, 0, 2, 0]), "uint16", [2, 1]).tolist()
    [[1], [2]]
    """
    length = (memoryview(payload).nbytes if end is None else end) - start
    kind = DTYPES.get(dtype)
    dims = [length] if shape is None else list(shape)
    if kind is None or min(dims, default=0) < 0 or prod(dims) * kind.itemsize != length:
        raise JournalDamaged("a payload does not fit its dtype and shape", dtype=dtype, shape=shape, bytes=length)
    if length == 0:
        # numpy makes no view of zero bytes; the array it makes instead is set read-only like the others.
        array = np.zeros(dims, kind)
    else:
        array = np.frombuffer(payload, kind, length // kind.itemsize, start).reshape(dims)
    array.flags.writeable = False
    return array
