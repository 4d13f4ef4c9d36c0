# SPDX-License-Identifier: Apache-2.0
"""Frames of other programs' topics have the log's time, or the one that their message says itself."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import pytest
from framegate.recording.foreign import ForeignTopic
from framegate.recording.frames import FrameOfRecording, Passage
from framegate.recording.header_time import HEADER, LOG, parse_times
from framegate.recording.reader import Recording
from framegate.schema.errors import WrongUsage
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.recording.foreign_world import START_NS, as_json, cdr, foreign_file, protobuf, ros1, topic_of, varint

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4)
ROS_NS, JSON_NS = 12_000_000_034, 1_000_000_002
IMAGES = [
    ("sensor_msgs/Image", "ros1", ros1(GREY, "mono8"), ROS_NS),
    ("sensor_msgs/msg/Image", "cdr", cdr(GREY, "mono8"), ROS_NS),
    ("sensor_msgs/msg/Image", "cdr", cdr(GREY, "mono8", order=">"), ROS_NS),
    ("foxglove.RawImage", "protobuf", protobuf(GREY, "mono8"), ROS_NS),
    ("foxglove.RawImage", "json", as_json(GREY, "mono8"), JSON_NS),
]


def time_of(schema: str, encoding: str, data: bytes) -> int | None:
    return ForeignTopic(topic_of(schema, encoding)).frame(data).stamp_ns


@pytest.mark.parametrize(("schema", "encoding", "message", "header_ns"), IMAGES)
def test_an_image_has_the_time_that_was_asked_for(schema: str, encoding: str, message: bytes, header_ns: int) -> None:
    file = foreign_file([message], schema, encoding)
    for times, wanted_ns in ((LOG, START_NS), (HEADER, header_ns)):
        passage = Passage(Recording(io.BytesIO(file)), {"/camera/image": 30}, times)
        (found,) = passage
        assert isinstance(found, FrameOfRecording)
        assert (found.timestamp_ns, found.descriptor_timestamp_ns) == (wanted_ns, wanted_ns)
        # It is due when it was received, whatever its time is.
        assert (found.log_time_ns, passage.not_timed, passage.not_images) == (START_NS, 0, 0)
        assert np.array_equal(found.array, GREY)


def test_a_message_without_a_time_is_a_frame_without_a_timestamp_and_is_counted() -> None:
    nowhere = ros1(GREY, "mono8").replace(struct.pack("<II", 12, 34), bytes(8))
    messages = [ros1(GREY, "mono8"), nowhere, b"short"]
    passage = Passage(
        Recording(io.BytesIO(foreign_file(messages, "sensor_msgs/Image", "ros1"))), {"/camera/image": 30}, HEADER
    )
    assert [item.timestamp_ns for item in passage if isinstance(item, FrameOfRecording)] == [ROS_NS, None, None]
    assert (passage.not_timed, passage.not_decoded, passage.not_images) == (2, 1, 1)


@pytest.mark.parametrize(
    ("schema", "encoding", "message"),
    [
        ("sensor_msgs/Image", "ros1", struct.pack("<III", 1, 12, 1_000_000_000)),
        ("sensor_msgs/msg/Image", "cdr", b"\0\1\0\0" + struct.pack("<iI", -1, 5)),
        ("foxglove.RawImage", "protobuf", b"\x0a\x0b\x08" + b"\xff" * 9 + b"\1"),
        ("foxglove.RawImage", "protobuf", b"\x0a\x02\x08"),
        ("foxglove.RawImage", "protobuf", b""),
        ("foxglove.RawImage", "json", b'{"timestamp": "2026-01-01T00:00:00Z"}'),
        ("foxglove.RawImage", "json", b'{"timestamp": {"sec": 1.5, "nsec": 0}}'),
        ("foxglove.RawImage", "json", b'{"timestamp": {"sec": true, "nsec": 0}}'),
        ("foxglove.RawImage", "json", b"[]"),
        ("std_msgs/String", "ros1", bytes(range(1, 40))),
    ],
)
def test_a_time_that_makes_no_sense_or_whose_place_is_not_known_is_none(
    schema: str, encoding: str, message: bytes
) -> None:
    assert time_of(schema, encoding, message) is None


def test_whatever_type_a_message_is_of_its_schema_says_where_its_time_is() -> None:
    assert time_of("sensor_msgs/TimeReference", "ros1", struct.pack("<IIIIIII", 1, 3, 4, 0, 8, 9, 0)) == 3_000_000_004
    assert time_of(
        "geometry_msgs/msg/PointStamped", "cdr", b"\0\1\0\0" + struct.pack("<iII4x", 3, 4, 1) + bytes(24)
    ) == (3_000_000_004)
    assert time_of("rosgraph_msgs/msg/Clock", "cdr", b"\0\1\0\0" + struct.pack("<iI", 3, 4)) == 3_000_000_004
    # Seconds and nanoseconds that are zero are not sent.
    assert time_of("foxglove.RawImage", "protobuf", b"\x0a\x02\x10" + varint(9)) == 9
    for said in ({"timestamp": {"sec": 1, "nsec": 2}}, {"header": {"stamp": {"sec": 1, "nanosec": 2}}}):
        assert time_of("example.Point", "json", json.dumps(said).encode()) == JSON_NS
    # It looks like a time, and is none.
    assert time_of("builtin_interfaces/msg/Duration", "cdr", b"\0\1\0\0" + struct.pack("<iI", 3, 4)) is None


@given(data=st.binary(max_size=200), which=st.sampled_from(IMAGES))
def test_whatever_the_bytes_are_a_time_comes_of_them_or_none(data: bytes, which: tuple[str, str, bytes, int]) -> None:
    found = time_of(which[0], which[1], data)
    assert found is None or 0 < found < 1 << 63


def test_there_are_two_times() -> None:
    with pytest.raises(WrongUsage):
        parse_times("publish")
