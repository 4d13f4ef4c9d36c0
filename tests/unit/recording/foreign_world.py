# SPDX-License-Identifier: Apache-2.0
"""Images as other programs record them, laid out here by hand."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from framegate.recording.recorded import Topic
from mcap.writer import CompressionType, Writer
from mcap_protobuf.schema import build_file_descriptor_set

START_NS = 1_700_000_000_000_000_000
Array = npt.NDArray[Any]
DESCRIPTORS = build_file_descriptor_set(RawImage).SerializeToString()
"""Of ``foxglove.RawImage``; a ROS message of a standard type may come without a definition."""


def cdr(image: Array, encoding: str, *, order: str = "<", pad: int = 0) -> bytes:
    """``sensor_msgs/msg/Image``: after the representation header every number is aligned to four bytes."""
    body = struct.pack(order + "iI", 12, 34)

    def text(data: bytes) -> None:
        nonlocal body
        body += b"\0" * (-len(body) % 4) + struct.pack(order + "I", len(data)) + data

    text(b"camera\0")
    body += b"\0" * (-len(body) % 4) + struct.pack(order + "II", *image.shape[:2])
    text(encoding.encode() + b"\0")
    body += bytes([image.dtype.str[0] == ">"])
    body += b"\0" * (-len(body) % 4) + struct.pack(order + "I", image.strides[0] + pad)
    text(rows(image, pad))
    return bytes([0, order == "<", 0, 0]) + body


def ros1(image: Array, encoding: str) -> bytes:
    """``sensor_msgs/Image`` of ROS 1: nothing is aligned, texts end without a zero."""
    head = struct.pack("<IIII6s", 1, 12, 34, 6, b"camera") + struct.pack("<II", *image.shape[:2])
    middle = struct.pack("<I", len(encoding)) + encoding.encode() + bytes([0])
    return head + middle + struct.pack("<II", image.strides[0], image.nbytes) + image.tobytes()


def protobuf(image: Array, encoding: str, *, pad: int = 0) -> bytes:
    """``foxglove.RawImage``, its fields in another order than their numbers."""

    def chunk(number: int, data: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(data)) + data

    def fixed(number: int, value: int) -> bytes:
        return varint(number << 3 | 5) + struct.pack("<I", value)

    height, width = image.shape[:2]
    stamp = b"\x08" + varint(12) + b"\x10" + varint(34)
    sizes = fixed(2, width) + fixed(3, height) + fixed(5, image.strides[0] + pad)
    return chunk(1, stamp) + chunk(7, b"camera") + sizes + chunk(6, rows(image, pad)) + chunk(4, encoding.encode())


def as_json(image: Array, encoding: str) -> bytes:
    """``foxglove.RawImage`` as JSON."""
    height, width = image.shape[:2]
    data = base64.b64encode(image.tobytes()).decode()
    said = {"width": width, "height": height, "encoding": encoding, "step": image.strides[0], "data": data}
    return json.dumps({"timestamp": {"sec": 1, "nsec": 2}, "frame_id": "camera", **said}).encode()


def rows(image: Array, pad: int) -> bytes:
    """The rows of an image, each with its padding."""
    return b"".join(row.tobytes() + b"\xee" * pad for row in image)


def varint(value: int) -> bytes:
    """Seven bits a byte."""
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def topic_of(schema: str, encoding: str, name: str = "/camera/image") -> Topic:
    """A topic as a file says it."""
    language = {"protobuf": "protobuf", "json": "jsonschema"}.get(encoding, "ros2msg")
    return Topic.of(name, encoding, schema, language, DESCRIPTORS if encoding == "protobuf" else b"")


def foreign_file(
    messages: Sequence[bytes], schema: str, encoding: str, topic: str = "/camera/image", *, is_plain: bool = False
) -> bytes:
    """A recording of another program: a message each millisecond. A plain one is not packed and has no check sums."""
    stream = io.BytesIO()
    writer = Writer(stream, compression=CompressionType.NONE, enable_crcs=False) if is_plain else Writer(stream)
    writer.start("ros2", "another")
    said = topic_of(schema, encoding)
    schema_id = writer.register_schema(schema, said.schema_encoding, said.definition)
    channel = writer.register_channel(topic, encoding, schema_id)
    for index, message in enumerate(messages):
        at_ns = START_NS + index * 1_000_000
        writer.add_message(channel, at_ns, message, at_ns, index)
    writer.finish()  # type: ignore[no-untyped-call]  # the package leaves it so
    return stream.getvalue()


def camera_file(images: Sequence[npt.NDArray[np.uint8]]) -> bytes:
    """Colour images as a robot records them."""
    return foreign_file([cdr(image, "rgb8") for image in images], "sensor_msgs/msg/Image", "cdr")
