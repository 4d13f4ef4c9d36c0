# SPDX-License-Identifier: Apache-2.0
"""What array a message of another program is: told by its fields, whatever language its schema is written in."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from foxglove_schemas_protobuf.Grid_pb2 import Grid
from foxglove_schemas_protobuf.JointStates_pb2 import JointStates
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud
from framegate.recording.foreign import ForeignFrame, ForeignTopic, Form
from framegate.recording.message_fields import Bound, Unreadable
from framegate.recording.recorded import Topic
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st
from mcap_protobuf.schema import build_file_descriptor_set
from rosbags.typesys import Stores, get_typestore

NOETIC, JAZZY = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_JAZZY)


def ros2(name: str, text: str | None = None) -> ForeignTopic:
    definition = JAZZY.generate_msgdef(name)[0] if text is None else text
    return ForeignTopic(Topic.of("/any", "cdr", name, "ros2msg", definition.encode()))


def of_protobuf(kind: Any) -> ForeignTopic:
    descriptors = build_file_descriptor_set(kind).SerializeToString()
    return ForeignTopic(Topic.of("/any", "protobuf", kind.DESCRIPTOR.full_name, "protobuf", descriptors))


def of_json(said: object, schema: object = None) -> ForeignFrame:
    definition = b"" if schema is None else json.dumps(schema).encode()
    topic = ForeignTopic(Topic.of("/any", "json", "", "jsonschema", definition))
    return topic.frame(json.dumps(said).encode(), is_named=True)


def test_numbers_keep_their_order_and_take_the_type_that_holds_them_all() -> None:
    topic = ros2("example/msg/Mixed", "uint8 a\nstring name\nint16[2] b\nfloat32 c\nbool d\n")
    frame = topic.frame(
        b"\0\1\0\0" + struct.pack("<B3xI2shhhf?", 7, 2, b"x\0", -1, 2, -3, 0.5, True)[: 4 + 4 + 2] + b""
    )
    assert frame.problem
    body = struct.pack("<B3xI2s", 7, 2, b"x\0") + struct.pack("<hh", -1, 2)
    body += b"\0" * (-len(body) % 4) + struct.pack("<f?", 0.5, True)
    frame = topic.frame(b"\0\1\0\0" + body, is_named=True)
    assert (frame.array.dtype, frame.array.tolist()) == (np.dtype("f4"), [7, -1, 2, 0.5, 1])
    assert frame.columns == ("a", "b[0:2]", "c", "d")


def test_whole_numbers_of_64_bits_stay_whole_where_they_are_alone() -> None:
    topic = ros2("std_msgs/msg/UInt64")
    found = topic.frame(b"\0\1\0\0" + struct.pack("<Q", (1 << 64) - 1))
    assert (found.array.dtype, found.array.tolist()) == (np.dtype("u8"), [(1 << 64) - 1])


def test_lists_of_messages_are_one_row_and_each_of_them_is_named() -> None:
    states = JointStates()
    states.timestamp.FromNanoseconds(5_000_000_006)
    for k in range(2):
        joint = states.joints.add()
        joint.name, joint.position = f"j{k}", k + 0.5
    frame = of_protobuf(JointStates).frame(states.SerializeToString(), is_named=True)
    assert (frame.form, frame.stamp_ns) == (Form.NUMBERS, 5_000_000_006)
    places = {name: frame.array[k] for k, name in enumerate(frame.columns)}
    assert (places["joints[0].position"], places["joints[1].position"]) == (0.5, 1.5)


def test_points_of_foxglove_are_rows() -> None:
    cloud = PointCloud(point_stride=6, data=struct.pack("<fHfH", 1.5, 2, -3, 4))
    for name, offset, kind in (("x", 0, 7), ("ring", 4, 3)):
        cloud.fields.add(name=name, offset=offset, type=kind)
    frame = of_protobuf(PointCloud).frame(cloud.SerializeToString(), is_named=True)
    assert (frame.form, frame.columns, frame.array.tolist()) == (Form.POINTS, ("x", "ring"), [[1.5, 2], [-3, 4]])


@pytest.mark.parametrize("order", ["<", ">"])
def test_points_of_ros_lose_their_padding_and_their_byte_order(order: str) -> None:
    types = JAZZY.types
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](1, 2), "")
    fields = [types["sensor_msgs/msg/PointField"](name, 4 * k, 7, count) for k, (name, count) in enumerate([("x", 2)])]
    rows = b"".join(struct.pack(f"{order}2f4x2f4x", k, k + 1, k + 2, k + 3) + b"\xee" * 5 for k in (0, 10))
    cloud = types["sensor_msgs/msg/PointCloud2"](
        header, 2, 2, fields, order == ">", 12, 29, np.frombuffer(rows, np.uint8), True
    )
    frame = ros2("sensor_msgs/msg/PointCloud2").frame(
        bytes(JAZZY.serialize_cdr(cloud, "sensor_msgs/msg/PointCloud2")), is_named=True
    )
    assert frame.array.tolist() == [[0, 1], [2, 3], [10, 11], [12, 13]]
    assert frame.columns == ("x[0:2]",)


def test_json_without_a_schema_is_ordered_by_names_and_with_one_by_the_schema() -> None:
    assert of_json({"b": 2, "a": [1, 1.5], "name": "x", "c": {"d": True}}).array.tolist() == [1, 1.5, 2, 1]
    schema = {"properties": {"b": {"type": "number"}, "a": {"type": "integer"}, "c": {"type": "string"}}}
    found = of_json({"a": 1, "b": 2, "c": "text", "more": 9}, schema)
    assert (found.array.tolist(), found.columns) == ([2, 1], ("b", "a"))
    lacking = of_json({"a": 1}, schema).array
    assert np.isnan(lacking[0])
    assert lacking[1] == 1


def test_what_holds_no_numbers_alone_is_given_as_it_is() -> None:
    text = ros2("std_msgs/msg/String")
    assert "std_msgs/msg/String" in text.why_bytes
    assert text.frame(b"anything at all").array.tobytes() == b"anything at all"
    # Bytes beside numbers would be lost among them.
    assert of_protobuf(Grid).form is Form.BYTES
    # A type that holds itself has no end.
    assert of_protobuf(Struct).form is Form.BYTES
    for encoding in ("", "raw", "flatbuffer"):
        topic = ForeignTopic(Topic.of("/any", encoding, "std_msgs/msg/String"))
        assert (topic.why_bytes, topic.frame(b"123").array.tobytes()) == ("", b"123")


@pytest.mark.parametrize(
    "topic",
    [
        Topic.of("/any", "cdr", "a/msg/B", "ros2msg", b"float32 x\nwhat is this"),
        Topic.of("/any", "cdr", "a/msg/B", "ros2msg", b"c/Unknown x"),
        Topic.of("/any", "cdr", "a/msg/B", "ros2msg", b"a/B x"),
        Topic.of("/any", "cdr", "a/msg/B", "ros2idl", b"module a {"),
        Topic.of("/any", "ros1", "", "ros1msg", b"\xff\xfe"),
        Topic.of("/any", "cdr", "nobody/msg/Knows"),
        Topic.of("/any", "cdr", "a/msg/B:\n  import os", "ros2msg", b"float32 x"),
        Topic.of("/any", "protobuf", "a.B", "protobuf", b"\xff\xff"),
        Topic.of("/any", "protobuf", "a.B", "protobuf", b""),
        Topic.of("/any", "protobuf", "a.B", "ros2msg", b"float32 x"),
        Topic.of("/any", "json", "", "jsonschema", b"{"),
        Topic.of("/any", "json", "", "jsonschema", b"[" * 100_000),
    ],
    ids=repr,
)
def test_a_definition_that_makes_no_sense_leaves_the_bytes_and_is_told_on_one_line(topic: Topic) -> None:
    found = ForeignTopic(topic)
    assert found.frame(b"abc").array.tobytes() == b"abc"
    assert found.why_bytes
    assert found.why_bytes.isprintable()
    assert len(found.why_bytes) <= 200


def test_a_schema_cannot_unfold_without_end() -> None:
    lines = [f"a{k + 1}/M x\na{k + 1}/M y" for k in range(40)]
    text = lines[0] + "".join(f"\n{'=' * 80}\nMSG: a{k}/M\n{each}" for k, each in enumerate(lines[1:], 1))
    topic = ForeignTopic(
        Topic.of("/any", "cdr", "a0/msg/M", "ros2msg", f"{text}\n{'=' * 80}\nMSG: a40/M\nint8 z\n".encode())
    )
    assert topic.why_bytes
    file = FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
    message = file.message_type.add(name="B")
    message.field.add(name="x", number=1, type=11, label=1, type_name=".a.B")
    found = ForeignTopic(
        Topic.of("/any", "protobuf", "a.B", "protobuf", FileDescriptorSet(file=[file]).SerializeToString())
    )
    assert found.form is Form.BYTES
    with pytest.raises(Unreadable):
        Bound(left=0).take(0)


IMU = ros2("sensor_msgs/msg/Imu")
CLOUD = ros2("sensor_msgs/msg/PointCloud2")
POINTS = of_protobuf(PointCloud)
JOINTS = of_protobuf(JointStates)
ANY_JSON = ForeignTopic(Topic.of("/any", "json", ""))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["fields", "data", "point_stride", "format", "width", "timestamp", "sec", "nsec", "x"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(data=st.binary(max_size=400), at=st.sampled_from([IMU, CLOUD, POINTS, JOINTS, ANY_JSON]))
def test_whatever_the_bytes_are_a_frame_comes_of_them(data: bytes, at: ForeignTopic) -> None:
    frame = at.frame(data, is_named=True)
    assert frame.array.tobytes() == data or not frame.problem


@given(said=VALUES)
def test_whatever_json_says_a_frame_comes_of_it(said: object) -> None:
    data = json.dumps(said).encode()
    frame = ANY_JSON.frame(data, is_named=True)
    assert frame.array.dtype.kind in "fu"
    assert frame.array.tobytes() == data or not frame.problem
