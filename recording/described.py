# SPDX-License-Identifier: Apache-2.0
"""Images and point clouds as messages describe them, independent of the library that decoded the message."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from framegate.recording.images import RawImage
from framegate.recording.message_fields import Messages, Unreadable
from framegate.recording.points import FOXGLOVE_TYPES, ROS_TYPES, PointCloud, PointField


class Described:
    """The fields of one message. Each method gives a field in its type, and raises ``Unreadable`` if it has another."""

    def __init__(self, messages: Messages, message: Any) -> None:
        self._messages = messages
        self._message = message

    def whole(self, name: str) -> int:
        """The field as a whole number."""
        found = self._messages.value(self._message, name)
        if type(found) is not int:
            raise Unreadable(f"{name} is no whole number")
        return found

    def text(self, name: str) -> str:
        """A text."""
        return str(self._messages.value(self._message, name))

    def flag(self, name: str) -> bool:
        """Whether the flag is set. A missing field counts as not set."""
        return bool(self._messages.value(self._message, name))

    def bytes(self, name: str) -> bytes | memoryview:
        """The field as bytes; a text is decoded from base 64."""
        found = self._messages.value(self._message, name)
        if isinstance(found, str):
            try:
                return base64.b64decode(found, validate=True)
            except ValueError as failure:
                raise Unreadable(f"{name} is not in base 64") from failure
        if isinstance(found, bytes):
            return found
        if isinstance(found, np.ndarray) and found.dtype.itemsize == 1:
            return memoryview(np.ascontiguousarray(found)).cast("B")
        raise Unreadable(f"{name} holds no bytes")

    def each(self, name: str) -> list[Described]:
        """The messages in a list."""
        found = self._messages.value(self._message, name)
        if found is None or isinstance(found, str | int | float):
            raise Unreadable(f"{name} is no list")
        return [Described(self._messages, inner) for inner in found]

    def has(self, name: str) -> bool:
        """Whether the message has such a field."""
        return self._messages.value(self._message, name) is not None


def image_of(get: Described) -> RawImage:
    """The image in a message. Raises ``Unreadable``."""
    width, height, step = get.whole("width"), get.whole("height"), get.whole("step")
    return RawImage(width, height, get.text("encoding"), step, get.bytes("data"), get.flag("is_bigendian"))


def cloud_of(get: Described) -> PointCloud:
    """The point cloud in a message. Raises ``Unreadable``."""
    data = get.bytes("data")
    if get.has("point_stride"):
        step = get.whole("point_stride")
        points = [_point_field(each, FOXGLOVE_TYPES, "type", 1) for each in get.each("fields")]
        width = len(data) // step if step > 0 else 0
        return PointCloud(points, 1, width, step, width * step, data)
    points = [_point_field(each, ROS_TYPES, "datatype", max(each.whole("count"), 1)) for each in get.each("fields")]
    height, width, step = get.whole("height"), get.whole("width"), get.whole("point_step")
    return PointCloud(points, height, width, step, get.whole("row_step"), data, get.flag("is_bigendian"))


def _point_field(get: Described, types: dict[int, str], type_name: str, count: int) -> PointField:
    dtype = types.get(get.whole(type_name))
    if dtype is None:
        raise Unreadable("a field of its points has no known type")
    return PointField(get.text("name"), get.whole("offset"), dtype, count)
