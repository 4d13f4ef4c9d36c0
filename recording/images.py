# SPDX-License-Identifier: Apache-2.0
"""Raw images as arrays: height by width, and by channels if there are several.

The bytes of a file may be anything: either an image comes out, or ``Unreadable`` is raised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.recording.message_fields import Unreadable

_EIGHT_BITS: Final = {"mono8": 1, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4} | dict.fromkeys(
    ("uyvy", "yuyv", "yuv422", "yuv422_yuy2"), 2
)
_SIXTEEN_BITS: Final = {"mono16": 1, "rgb16": 3, "bgr16": 3, "rgba16": 4, "bgra16": 4}
_KINDS: Final = {"U": "u", "S": "i", "F": "f"}
_BY_BITS: Final = re.compile(r"(8|16|32|64)([USF])C([1-9])?")
_BAYER: Final = re.compile(r"bayer_(?:rggb|bggr|gbrg|grbg)(8|16)")
_SIDE_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class RawImage:
    """The properties of an image that all schemas have."""

    width: int
    height: int
    encoding: str
    step: int
    data: bytes | memoryview
    is_bigendian: bool = False

    def array(self) -> npt.NDArray[Any]:
        """The image without the padding of its rows. Raises ``Unreadable``."""
        dtype, channels = _pixel(self.encoding)
        row_bytes = self.width * channels * dtype.itemsize
        step = self.step or row_bytes
        is_sane = 0 <= self.width <= _SIDE_MAX and 0 <= self.height <= _SIDE_MAX and step >= row_bytes
        if not is_sane or len(self.data) < self._extent(step, row_bytes):
            raise Unreadable("it is no image of a known encoding")
        shape = (self.height, self.width) if channels == 1 else (self.height, self.width, channels)
        strides = (step, channels * dtype.itemsize, dtype.itemsize)[: len(shape)]
        stored = dtype.newbyteorder(">") if self.is_bigendian else dtype
        found = np.ndarray(shape, stored, self.data, strides=strides)
        return np.ascontiguousarray(found.astype(dtype, copy=False))

    def _extent(self, step: int, row_bytes: int) -> int:
        # The last row may lack its padding.
        return step * (self.height - 1) + row_bytes if self.height and self.width else 0


def _pixel(encoding: str) -> tuple[np.dtype[Any], int]:
    if encoding in _EIGHT_BITS:
        return np.dtype("<u1"), _EIGHT_BITS[encoding]
    if encoding in _SIXTEEN_BITS:
        return np.dtype("<u2"), _SIXTEEN_BITS[encoding]
    if bayer := _BAYER.fullmatch(encoding):
        return np.dtype(f"<u{int(bayer[1]) // 8}"), 1
    if by_bits := _BY_BITS.fullmatch(encoding):
        bits, kind, channels = by_bits.groups()
        if kind == "F" and bits not in {"32", "64"}:
            raise Unreadable("it is no image of a known encoding")
        return np.dtype(f"<{_KINDS[kind]}{int(bits) // 8}"), int(channels or 1)
    raise Unreadable("it is no image of a known encoding")
