# SPDX-License-Identifier: Apache-2.0
"""Images of other programs' schemas as arrays: ``foxglove.RawImage`` and ``sensor_msgs/Image``.

Bytes of a file are not believed: whatever they are, an image comes out or ``NotAnImage`` is raised.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_EIGHT_BITS: Final = {"mono8": 1, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4} | dict.fromkeys(
    ("uyvy", "yuyv", "yuv422", "yuv422_yuy2"), 2
)
_SIXTEEN_BITS: Final = {"mono16": 1, "rgb16": 3, "bgr16": 3, "rgba16": 4, "bgra16": 4}
_KINDS: Final = {"U": "u", "S": "i", "F": "f"}
_BY_BITS: Final = re.compile(r"(8|16|32|64)([USF])C([1-9])?")
_BAYER: Final = re.compile(r"bayer_(?:rggb|bggr|gbrg|grbg)(8|16)")
_SIDE_MAX: Final = 1 << 20


class NotAnImage(Exception):
    """The bytes are none, or of an encoding that is not known here."""


@dataclass(frozen=True, slots=True)
class _Image:
    """What all schemas say of an image."""

    width: int
    height: int
    encoding: str
    step: int
    data: bytes
    is_bigendian: bool = False

    def array(self) -> npt.NDArray[Any]:
        """Height by width, by channels where there are several; rows without their padding."""
        dtype, channels = _pixel(self.encoding)
        row_bytes = self.width * channels * dtype.itemsize
        step = self.step or row_bytes
        is_sane = 0 <= self.width <= _SIDE_MAX and 0 <= self.height <= _SIDE_MAX and step >= row_bytes
        if not is_sane or len(self.data) < self._extent(step, row_bytes):
            raise NotAnImage
        shape = (self.height, self.width) if channels == 1 else (self.height, self.width, channels)
        strides = (step, channels * dtype.itemsize, dtype.itemsize)[: len(shape)]
        stored = dtype.newbyteorder(">") if self.is_bigendian else dtype
        found = np.ndarray(shape, stored, self.data, strides=strides)
        return np.ascontiguousarray(found.astype(dtype, copy=False))

    def _extent(self, step: int, row_bytes: int) -> int:
        # The last row may come without its padding.
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
            raise NotAnImage
        return np.dtype(f"<{_KINDS[kind]}{int(bits) // 8}"), int(channels or 1)
    raise NotAnImage


def decode_protobuf(data: bytes) -> npt.NDArray[Any]:
    """``foxglove.RawImage``: fixed32 width = 2, height = 3, step = 5; string encoding = 4; bytes data = 6."""
    numbers, texts = {2: 0, 3: 0, 5: 0}, {4: b"", 6: b""}
    for field, value in protobuf_fields(data):
        if field in numbers and isinstance(value, int):
            numbers[field] = value
        elif field in texts and isinstance(value, bytes):
            texts[field] = value
    encoding = texts[4].decode("utf-8", "replace")
    return _Image(numbers[2], numbers[3], encoding, numbers[5], texts[6]).array()


def protobuf_fields(data: bytes | memoryview) -> Iterator[tuple[int, int | bytes | memoryview]]:
    """Numbers and values of a message's fields. Raises ``NotAnImage`` for bytes that are no message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
            case 1:
                at += 8
            case 2:
                length, at = _varint(data, at)
                if length > len(data) - at:
                    raise NotAnImage
                yield key >> 3, data[at : at + length]
                at += length
            case 5 if at + 4 <= len(data):
                yield key >> 3, int.from_bytes(data[at : at + 4], "little")
                at += 4
            case _:
                raise NotAnImage
    if at != len(data):
        raise NotAnImage


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise NotAnImage
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise NotAnImage


def decode_json(data: bytes) -> npt.NDArray[Any]:
    """``foxglove.RawImage`` as JSON, its data in base 64."""
    try:
        said = json.loads(data)
        sizes = [said[key] for key in ("width", "height", "step")]
        if not all(type(size) is int for size in sizes):
            raise NotAnImage
        payload = base64.b64decode(said["data"], validate=True)
        return _Image(sizes[0], sizes[1], str(said["encoding"]), sizes[2], payload).array()
    except (ValueError, TypeError, KeyError, RecursionError) as failure:
        raise NotAnImage from failure


def decode_cdr(data: bytes) -> npt.NDArray[Any]:
    """``sensor_msgs/Image`` of ROS 2."""
    # The second byte of the four before the fields says the byte order, and which version of CDR: plain ones only.
    if len(data) < 4 or data[0] != 0 or data[1] not in {0, 1, 6, 7}:
        raise NotAnImage
    return _Fields(data[4:], "<" if data[1] & 1 else ">", is_aligned=True, skipped="<iI").image()


def decode_ros1(data: bytes) -> npt.NDArray[Any]:
    """``sensor_msgs/Image`` of ROS 1."""
    return _Fields(data, "<", is_aligned=False, skipped="<III").image()


class _Fields:
    """Header, height, width, encoding, is_bigendian, step, data, one after the other."""

    def __init__(self, data: bytes, order: str, *, is_aligned: bool, skipped: str) -> None:
        self._data = data
        self._number = struct.Struct(order + "I")
        self._is_aligned = is_aligned
        # Before the header's frame_id.
        self._at = struct.calcsize(skipped)

    def image(self) -> npt.NDArray[Any]:
        self._text()
        height, width = self._u32(), self._u32()
        encoding = self._text().rstrip(b"\0").decode("utf-8", "replace")
        is_bigendian = bool(self._bytes(1)[0])
        step = self._u32()
        return _Image(width, height, encoding, step, self._text(), is_bigendian).array()

    def _u32(self) -> int:
        if self._is_aligned:
            self._at += -self._at % 4
        return int(self._number.unpack(self._bytes(4))[0])

    def _text(self) -> bytes:
        return self._bytes(self._u32())

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise NotAnImage
        self._at += count
        return found
