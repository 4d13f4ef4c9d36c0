# SPDX-License-Identifier: Apache-2.0
"""Images of other programs' schemas, and bytes that are none."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from framegate.recording.foreign import ForeignTopic, Form
from framegate.recording.frames import FrameOfRecording, Passage
from framegate.recording.reader import Recording
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.recording.foreign_world import (
    START_NS,
    Array,
    as_json,
    cdr,
    foreign_file,
    protobuf,
    ros1,
    rows,
    topic_of,
    varint,
)

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4)
COLOUR = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
DEPTH = np.arange(12, dtype=np.float32).reshape(3, 4)
DEEP = np.arange(12, dtype=np.uint16).reshape(3, 4) * 300
TOPICS = {
    "cdr": ForeignTopic(topic_of("sensor_msgs/msg/Image", "cdr")),
    "ros1": ForeignTopic(topic_of("sensor_msgs/Image", "ros1")),
    "protobuf": ForeignTopic(topic_of("foxglove.RawImage", "protobuf")),
    "json": ForeignTopic(topic_of("foxglove.RawImage", "json")),
}


class NotAnImage(Exception):
    """The message is given as bytes, with a problem."""


def decoded(encoding: str, data: bytes) -> Array:
    frame = TOPICS[encoding].frame(data)
    if frame.problem:
        assert frame.array.tobytes() == data
        raise NotAnImage(frame.problem)
    assert frame.form is Form.IMAGE
    return frame.array


def decode_cdr(data: bytes) -> Array:
    return decoded("cdr", data)


def decode_ros1(data: bytes) -> Array:
    return decoded("ros1", data)


def decode_protobuf(data: bytes) -> Array:
    return decoded("protobuf", data)


def decode_json(data: bytes) -> Array:
    return decoded("json", data)


@pytest.mark.parametrize(
    ("image", "encoding"),
    [(GREY, "mono8"), (GREY, "bayer_rggb8"), (COLOUR, "rgb8"), (COLOUR, "8UC3"), (DEPTH, "32FC1"), (DEEP, "mono16")],
)
@pytest.mark.parametrize(
    ("encode", "decode"),
    [(cdr, decode_cdr), (ros1, decode_ros1), (protobuf, decode_protobuf), (as_json, decode_json)],
)
def test_an_image_has_its_shape_and_type(
    encode: Callable[[Array, str], bytes], decode: Callable[[bytes], Array], image: Array, encoding: str
) -> None:
    found = decode(encode(image, encoding))
    assert found.dtype == image.dtype
    assert np.array_equal(found, image)


def test_rows_lose_their_padding() -> None:
    assert np.array_equal(decode_cdr(cdr(COLOUR, "bgr8", pad=5)), COLOUR)
    assert np.array_equal(decode_protobuf(protobuf(DEEP, "16UC1", pad=6)), DEEP)


def test_either_byte_order_is_read() -> None:
    assert np.array_equal(decode_cdr(cdr(DEEP.astype(">u2"), "mono16", order=">")), DEEP)


def test_rows_that_overlap_are_no_image() -> None:
    for encode, decode in ((cdr, decode_cdr), (protobuf, decode_protobuf)):
        with pytest.raises(NotAnImage):
            decode(encode(COLOUR, "rgb8", pad=-1))


@pytest.mark.parametrize("encoding", ["h264", "8FC1", "", "mono7"])
def test_an_encoding_that_is_not_known_is_no_image(encoding: str) -> None:
    with pytest.raises(NotAnImage):
        decode_cdr(cdr(GREY, encoding))


@pytest.mark.parametrize("encoding", TOPICS)
@given(data=st.binary(max_size=200))
def test_whatever_the_bytes_are_a_frame_comes_of_them(encoding: str, data: bytes) -> None:
    frame = TOPICS[encoding].frame(data)
    assert frame.form is Form.BYTES or not frame.problem


@given(at=st.integers(0, 10_000), flip=st.integers(1, 255), cut=st.integers(0, 200))
def test_a_damaged_image_is_an_image_or_none(at: int, flip: int, cut: int) -> None:
    for encode, decode in ((cdr, decode_cdr), (ros1, decode_ros1), (protobuf, decode_protobuf)):
        data = bytearray(encode(COLOUR, "rgb8"))
        data[at % len(data)] ^= flip
        try:
            decode(bytes(data[: len(data) - cut % len(data)]))
        except NotAnImage:
            continue


def test_messages_of_a_mapped_topic_are_frames_numbered_and_timed_by_the_log() -> None:
    file = foreign_file([cdr(GREY, "mono8"), b"broken"], "sensor_msgs/msg/Image", "cdr")
    passage = Passage(Recording(io.BytesIO(file)), {"/camera/image": 30})
    items = [item for item in passage if isinstance(item, FrameOfRecording)]
    assert [(item.stream, item.seq, item.timestamp_ns) for item in items] == [
        (30, 0, START_NS),
        (30, 1, START_NS + 1_000_000),
    ]
    assert np.array_equal(items[0].array, GREY)
    assert (items[1].payload, passage.not_images) == (b"broken", 1)


def test_other_messages_are_bytes_and_topics_that_are_not_mapped_are_left_alone() -> None:
    file = foreign_file([b"{}"], "example.Point", "json")
    assert list(Passage(Recording(io.BytesIO(file)), {})) == []
    other = Passage(Recording(io.BytesIO(file)), {"/camera/imag": 30, "10001": 5})
    assert list(other) == []
    (found,) = Passage(Recording(io.BytesIO(file)), {"/camera/image": 30})
    assert isinstance(found, FrameOfRecording)
    assert (found.payload, found.array.dtype, found.array.shape) == (b"{}", np.dtype(np.uint8), (2,))


def test_a_last_row_may_come_without_its_padding_and_not_without_its_end() -> None:
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    whole, body = protobuf(image, "rgb8", pad=3), rows(image, 3)

    def cut(count: int) -> bytes:
        def chunk(data: bytes) -> bytes:
            return varint(6 << 3 | 2) + varint(len(data)) + data

        return whole.replace(chunk(body), chunk(body[:-count]))

    assert np.array_equal(decode_protobuf(cut(3)), image)
    with pytest.raises(NotAnImage):
        decode_protobuf(cut(4))
