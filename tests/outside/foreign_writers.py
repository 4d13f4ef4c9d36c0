# SPDX-License-Identifier: Apache-2.0
"""Recordings written by other programs' own libraries, each with messages of its own kind."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import foxglove
import numpy as np
from foxglove import messages as fox
from foxglove.channels import CompressedImageChannel, PointCloudChannel, PoseInFrameChannel, RawImageChannel
from foxglove.mcap import MCAPCompression, MCAPWriteOptions
from foxglove_schemas_protobuf.PoseInFrame_pb2 import PoseInFrame
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from mcap_protobuf.writer import Writer as ProtobufWriter
from mcap_ros2.writer import Writer as McapRos2Writer
from rosbags.rosbag1 import Writer as Bag1Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Bag2Writer
from rosbags.typesys import Stores, get_typestore

from tests.outside.traffic import Written

CHUNK_BYTES = 4 << 10
Messages = Sequence[Written]

# --- Foxglove's SDK, which is written in Rust --------------------------------------------------------------------

FLOAT32 = fox.PackedElementFieldNumericType.Float32
UINT16 = fox.PackedElementFieldNumericType.Uint16


def _fox_time(each: Written) -> fox.Timestamp:
    return fox.Timestamp(*each.stamp)


def _fox_image(each: Written) -> fox.RawImage:
    data = bytes((each.number + k) % 256 for k in range(8 * 6))
    return fox.RawImage(timestamp=_fox_time(each), width=8, height=6, encoding="mono8", step=8, data=data)


def _fox_pose(each: Written) -> fox.PoseInFrame:
    pose = fox.Pose(position=fox.Vector3(x=each.number, y=0.5, z=0.0), orientation=fox.Quaternion(w=1.0))
    return fox.PoseInFrame(timestamp=_fox_time(each), frame_id="map", pose=pose)


def _fox_points(each: Written) -> fox.PointCloud:
    fields = [
        fox.PackedElementField(name=name, offset=offset, type=kind)
        for name, offset, kind in (("x", 0, FLOAT32), ("y", 4, FLOAT32), ("ring", 8, UINT16))
    ]
    data = b"".join(struct.pack("<ffH", each.number, k, k) for k in range(each.number % 9))
    return fox.PointCloud(timestamp=_fox_time(each), point_stride=10, fields=fields, data=data)


def _fox_jpeg(each: Written) -> fox.CompressedImage:
    return fox.CompressedImage(timestamp=_fox_time(each), format="jpeg", data=b"\xff\xd8" + bytes(each.number % 50))


FOX: Mapping[str, tuple[type[Any], Callable[[Written], Any]]] = {
    "/image": (RawImageChannel, _fox_image),
    "/pose": (PoseInFrameChannel, _fox_pose),
    "/points": (PointCloudChannel, _fox_points),
    "/jpeg": (CompressedImageChannel, _fox_jpeg),
}


def by_foxglove(path: Path, messages: Messages, compression: MCAPCompression | None = None) -> None:
    """Protobuf messages, in this order."""
    context = foxglove.Context()
    options = MCAPWriteOptions(compression=compression, chunk_size=CHUNK_BYTES)
    with foxglove.open_mcap(path, context=context, writer_options=options):
        channels = {topic: FOX[topic][0](topic, context=context) for topic in {each.topic for each in messages}}
        for each in messages:
            channels[each.topic].log(FOX[each.topic][1](each), log_time=each.log_ns)


def json_by_foxglove(path: Path, messages: Messages) -> None:
    """JSON messages with a schema, in this order."""
    context = foxglove.Context()
    whole = {"type": "integer"}
    stamp = {"type": "object", "title": "time", "properties": {"sec": whole, "nsec": whole}}
    schema = {"type": "object", "properties": {"timestamp": stamp, "volts": {"type": "number"}}}
    options = MCAPWriteOptions(compression=MCAPCompression.Lz4, chunk_size=CHUNK_BYTES)
    with foxglove.open_mcap(path, context=context, writer_options=options):
        channels = {
            topic: foxglove.Channel(topic, schema=schema, context=context)
            for topic in {each.topic for each in messages}
        }
        for each in messages:
            said = {"timestamp": dict(zip(("sec", "nsec"), each.stamp, strict=True)), "volts": each.number / 10}
            channels[each.topic].log(said, log_time=each.log_ns)


# --- ROS, by rosbags -----------------------------------------------------------------------------------------------

NOETIC = get_typestore(Stores.ROS1_NOETIC)
JAZZY = get_typestore(Stores.ROS2_JAZZY)


def _ros(store: Any, name: str, each: Written) -> Any:
    """A message of a standard type, its stamp set and all else at rest."""
    types = store.types
    stamp = types["builtin_interfaces/msg/Time"](*each.stamp)
    is_ros1 = any(field == "seq" for field, _ in store.fielddefs["std_msgs/msg/Header"][1])
    counted = (each.number,) if is_ros1 else ()
    header = types["std_msgs/msg/Header"](*counted, stamp, "base")
    return _at_rest(store, name, header)


def _at_rest(store: Any, name: str, header: Any) -> Any:
    values = []
    for _, (node, inner) in store.fielddefs[name][1]:
        node = node.name
        if node == "NAME":
            values.append(header if inner == "std_msgs/msg/Header" else _at_rest(store, inner, header))
        elif node == "BASE":
            values.append("" if inner[0] == "string" else 0)
        else:
            values.append(np.zeros(inner[1] if node == "ARRAY" else 0, inner[0][1][0]))
    return store.types[name](*values)


def by_rosbag1(
    path: Path, messages: Messages, types: Mapping[str, str], compression: Bag1Writer.CompressionFormat | None = None
) -> None:
    """A bag of ROS 1, its messages in this order."""
    writer = Bag1Writer(path)
    writer.chunk_threshold = CHUNK_BYTES
    if compression is not None:
        writer.set_compression(compression)
    with writer:
        connections = {
            topic: writer.add_connection(topic, name, typestore=NOETIC) for topic, name in sorted(types.items())
        }
        for each in messages:
            data = NOETIC.serialize_ros1(_ros(NOETIC, types[each.topic], each), types[each.topic])
            writer.write(connections[each.topic], each.log_ns, data)


def by_rosbag2(
    path: Path,
    messages: Messages,
    types: Mapping[str, str],
    storage: StoragePlugin = StoragePlugin.SQLITE3,
    packed: CompressionMode = CompressionMode.NONE,
) -> None:
    """A folder of rosbag2, its messages in this order; they or their file may be packed."""
    writer = Bag2Writer(path, version=9, storage_plugin=storage)
    if packed is not CompressionMode.NONE:
        writer.set_compression(packed, CompressionFormat.ZSTD)
    with writer:
        connections = {
            topic: writer.add_connection(topic, name, typestore=JAZZY) for topic, name in sorted(types.items())
        }
        for each in messages:
            data = JAZZY.serialize_cdr(_ros(JAZZY, types[each.topic], each), types[each.topic])
            writer.write(connections[each.topic], each.log_ns, data)


# --- ROS, laid out here --------------------------------------------------------------------------------------------


def _point_cdr(each: Written) -> bytes:
    """``geometry_msgs/msg/PointStamped``."""
    return struct.pack("<4siII4s3d", b"\0\1\0\0", *each.stamp, 4, b"map\0", each.number, 0.5, 0.0)


def _point_ros1(each: Written) -> bytes:
    """``geometry_msgs/PointStamped``."""
    return struct.pack("<IIII3s3d", each.number, *each.stamp, 3, b"map", each.number, 0.5, 0.0)


def by_sqlite(path: Path, messages: Messages) -> None:
    """A ``.db3`` as ROS 2 Humble wrote it: without definitions, its messages in this order."""
    with sqlite3.connect(path) as store:
        store.execute(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,"
            " serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)"
        )
        store.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,"
            " data BLOB NOT NULL)"
        )
        ids = {topic: k for k, topic in enumerate(sorted({each.topic for each in messages}), 1)}
        for topic, number in ids.items():
            store.execute(
                "INSERT INTO topics VALUES (?, ?, 'geometry_msgs/msg/PointStamped', 'cdr', '')", (number, topic)
            )
        for each in messages:
            row = ids[each.topic], each.log_ns, _point_cdr(each)
            store.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", row)
    store.close()


QOS = (
    "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 2\n  deadline: {sec: 0, nsec: 0}\n"
    "  lifespan: {sec: 0, nsec: 0}\n  liveliness: 1\n  liveliness_lease_duration: {sec: 0, nsec: 0}\n"
    "  avoid_ros_namespace_conventions: false"
)


def folder_by_sqlite(folder: Path, messages: Messages, files: int = 2) -> None:
    """A folder of rosbag2 with some files, each with the next messages in this order.

    What its metadata say of the quality of service is not what the files say: ROS 2 Foxy wrote such folders.
    """
    folder.mkdir()
    share = -(-len(messages) // files)
    names = [f"part_{k}.db3" for k in range(files)]
    for k, name in enumerate(names):
        by_sqlite(folder / name, messages[k * share : (k + 1) * share])
    topics = [
        {
            "topic_metadata": {
                "name": topic,
                "type": "geometry_msgs/msg/PointStamped",
                "serialization_format": "cdr",
                "offered_qos_profiles": QOS,
            },
            "message_count": sum(each.topic == topic for each in messages),
        }
        for topic in sorted({each.topic for each in messages})
    ]
    first, last = min(each.log_ns for each in messages), max(each.log_ns for each in messages)
    said = {
        "version": 4,
        "storage_identifier": "sqlite3",
        "relative_file_paths": names,
        "duration": {"nanoseconds": last - first},
        "starting_time": {"nanoseconds_since_epoch": first},
        "message_count": len(messages),
        "topics_with_message_count": topics,
        "compression_format": "",
        "compression_mode": "",
    }
    # JSON is YAML.
    (folder / "metadata.yaml").write_text(json.dumps({"rosbag2_bagfile_information": said}))


# --- MCAP, by its Python libraries ---------------------------------------------------------------------------------

RULE = "=" * 80
POINT = (
    f"Header header\ngeometry_msgs/Point point\n{RULE}\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
    f"{RULE}\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
)
SPEED = (
    f"std_msgs/Header header\nfloat32 speed\nint8 gear\n{RULE}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\n"
    f"string frame_id\n{RULE}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
)


def ros1_by_mcap(path: Path, messages: Messages, *, is_finished: bool = True) -> None:
    """Messages of ROS 1 in an MCAP file, in this order; one without its end lacks the summary and the last chunk."""
    with path.open("wb") as stream:
        writer = McapWriter(stream, chunk_size=CHUNK_BYTES, compression=CompressionType.LZ4)
        writer.start("ros1", "another program")
        schema = writer.register_schema("geometry_msgs/PointStamped", "ros1msg", POINT.encode())
        channels = {
            topic: writer.register_channel(topic, "ros1", schema) for topic in sorted({each.topic for each in messages})
        }
        for each in messages:
            writer.add_message(channels[each.topic], each.log_ns, _point_ros1(each), each.log_ns, each.number)
        if is_finished:
            writer.finish()  # type: ignore[no-untyped-call]  # the package forgot this one


def by_mcap_ros2(path: Path, messages: Messages) -> None:
    """Messages of a type that nobody knows, in CDR."""
    with path.open("wb") as stream:
        writer = McapRos2Writer(stream, chunk_size=CHUNK_BYTES)
        schema = writer.register_msgdef("example_msgs/msg/Speed", SPEED)
        for each in messages:
            sec, nanosec = each.stamp
            header = {"stamp": {"sec": sec, "nanosec": nanosec}, "frame_id": "base"}
            said = {"header": header, "speed": each.number / 2, "gear": each.number % 5}
            writer.write_message(each.topic, schema, said, each.log_ns, each.log_ns, each.number)
        writer.finish()  # type: ignore[no-untyped-call]  # the package leaves it so


def by_mcap_protobuf(path: Path, messages: Messages) -> None:
    """Foxglove's messages, by the classes that protobuf made."""
    with path.open("wb") as stream:
        writer = ProtobufWriter(stream, chunk_size=CHUNK_BYTES, compression=CompressionType.NONE)
        for each in messages:
            message: Any = PoseInFrame() if each.topic == "/pose" else RawImage(width=4, height=2, step=4)
            message.timestamp.FromNanoseconds(each.stamp_ns)
            if each.topic != "/pose":
                message.encoding, message.data = "mono8", bytes(range(8))
            writer.write_message(each.topic, message, each.log_ns, each.log_ns, each.number)
        writer.finish()  # type: ignore[no-untyped-call]  # the package leaves it so
