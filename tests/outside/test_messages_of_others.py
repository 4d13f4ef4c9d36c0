# SPDX-License-Identifier: Apache-2.0
"""Messages of other programs as arrays, their own times, and what is refused by number before anything is written."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import CompressionMode

from tests.outside import foreign_writers as writers
from tests.outside.bed import ENVIRONMENT, USAGE, Bed, Object, Process
from tests.outside.rows import read_rows, read_unmatched, seqs
from tests.outside.traffic import MS, START_NS, of_topic, traffic

ROS = traffic(7, imu=(80, 5.0), odom=(20, 20.0))
STAMPED = {"/imu": "sensor_msgs/msg/Imu", "/odom": "nav_msgs/msg/Odometry"}
UNSTAMPED = {"/imu": "sensor_msgs/msg/Imu", "/odom": "geometry_msgs/msg/Twist"}
VIEWS = traffic(8, image=(12, 30.0), points=(12, 30.0), jpeg=(12, 30.0))
MAPPED = ("--map", "/imu=10001", "--map", "/odom=10002")


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A bed without a driver: nobody is asked."""
    with Bed() as bed:
        yield bed


def joined(bed: Bed, name: str, file: Path, *words: object) -> Process:
    config = bed.lockstep(name, [10_001, 10_002])
    join = bed.run("join", "--config", config, "--from", file, *words, "--json")
    join.ended()
    return join


def topics_of(bed: Bed, file: Path, *words: object) -> dict[str, Object]:
    inspect = bed.run("inspect", file, "--stats", "--json", *words)
    assert inspect.ended() == 0, inspect
    found: dict[str, Object] = inspect.says(event="statistics")["topics"]
    return found


# --- arrays ------------------------------------------------------------------------------------------------------

SHOW = """
import json, sys
import framegate as fg

for row in fg.journal(sys.argv[1]).rows(limit=1):
    for name in ("s0", "s1"):
        array = row[name]
        said = {"event": name, "dtype": str(array.dtype), "shape": array.shape, "array": array.ravel().tolist()}
        print(json.dumps(said))
"""


def arrays_of(bed: Bed, name: str) -> list[Object]:
    shown = bed.python(SHOW, bed.journal(name))
    assert shown.ended() == 0, shown
    return [shown.says(event=each) for each in ("s0", "s1")]


@pytest.mark.parametrize("kind", ["bag", "rosbag2"])
def test_numbers_of_ros_messages_are_arrays_and_inspect_names_their_columns(bed: Bed, kind: str) -> None:
    file = bed.folder / f"in.{kind}"
    write = writers.by_rosbag1 if kind == "bag" else writers.by_rosbag2
    write(file, ROS, types=STAMPED)
    found = topics_of(bed, file)
    imu, odom = found["/imu"], found["/odom"]
    assert (imu["form"], imu["dtype"], imu["shape"], imu["stamp"]) == ("numbers", "float64", [37], "header.stamp")
    assert imu["columns"][:5] == [*(f"orientation.{axis}" for axis in "xyzw"), "orientation_covariance[0:9]"]
    assert (odom["shape"], odom["columns"][0], odom["columns"][-1]) == (
        [85],
        "pose.pose.position.x",
        "twist.covariance[0:36]",
    )
    assert joined(bed, "numbers", file, *MAPPED).summary()["rows"] == 20
    assert [each["shape"] for each in arrays_of(bed, "numbers")] == [[37], [85]]
    told = bed.run("inspect", file, "--stats")
    assert told.ended() == 0
    assert "columns of /imu: orientation.x orientation.y" in told.text


def test_images_points_and_compressed_images_are_what_they_hold(bed: Bed) -> None:
    file = bed.folder / "views.mcap"
    # The first clouds are small: a point of the fourth one tells more.
    writers.by_foxglove(file, [each for each in VIEWS if each.number >= 3])
    found = topics_of(bed, file)
    assert [(found[name]["form"], found[name]["dtype"], found[name]["shape"]) for name in ("/image", "/points")] == [
        ("image", "uint8", [6, 8]),
        ("points", "float32", [3, 3]),
    ]
    assert found["/points"]["columns"] == ["x", "y", "ring"]
    assert (found["/jpeg"]["form"], found["/jpeg"]["shape"], found["/jpeg"]["stamp"]) == (
        "compressed",
        [5],
        "timestamp",
    )
    joined(bed, "views", file, "--map", "/points=10001", "--map", "/jpeg=10002").summary()
    points, packed = arrays_of(bed, "views")
    assert points["array"] == [3, 0, 0, 3, 1, 1, 3, 2, 2]
    assert packed["array"] == [0xFF, 0xD8, 0, 0, 0]


def test_what_can_be_no_array_is_its_bytes_and_that_is_said_once(bed: Bed) -> None:
    file = bed.folder / "in.bag"
    writers.by_rosbag1(file, ROS, types={"/imu": "std_msgs/msg/String", "/odom": "nav_msgs/msg/Odometry"})
    join = joined(bed, "texts", file, *MAPPED)
    assert join.summary()["rows"] == 20
    assert join.errors.count("the bytes of a message") == 1
    assert list(join.summary()["as_bytes"]) == ["/imu"]
    assert arrays_of(bed, "texts")[0]["dtype"] == "uint8"


def test_arrays_that_are_larger_than_their_messages_find_room_to_wait(bed: Bed) -> None:
    # Eight bytes for each number that takes one in the file, of a topic that lies an hour before its partner.
    file, count, cells = bed.folder / "grids.mcap", 30, 400_000
    with file.open("wb") as stream:
        writer = McapWriter(stream, compression=CompressionType.NONE)
        writer.start()
        schema = writer.register_schema("example_msgs/msg/Grid", "ros2msg", b"float64 size\nint8[] cells")
        channels = [writer.register_channel(topic, "cdr", schema) for topic in ("/grid", "/small")]
        for channel, number, first_ns in zip(channels, (cells, 1), (START_NS, START_NS + 3_600_000 * MS), strict=True):
            data = struct.pack("<4sdI", b"\0\1\0\0", 0.5, number) + bytes(number)
            for k in range(count):
                writer.add_message(channel, first_ns + k * MS, data, first_ns + k * MS, k)
        writer.finish()  # type: ignore[no-untyped-call]  # the package leaves it so
    assert joined(bed, "grids", file, "--map", "/grid=10001", "--map", "/small=10002").summary()["rows"] == count


# --- times -------------------------------------------------------------------------------------------------------


def nothing_was_written(bed: Bed, name: str, process: Process, code: int, exit_code: int) -> Object:
    assert process.ended() == exit_code, process
    assert not bed.journal(name).exists()
    return process.says(event="error", code=code)


@pytest.mark.parametrize("command", ["join", "replay", "inspect"])
def test_a_topic_without_stamps_is_refused_by_name_where_their_times_are_asked_for(bed: Bed, command: str) -> None:
    file = bed.folder / "in.bag"
    writers.by_rosbag1(file, ROS, types=UNSTAMPED)
    if command == "join":
        process = joined(bed, "stamps", file, *MAPPED, "--time", "header")
    else:
        process = bed.run(command, file, *MAPPED, "--time", "header", "--json")
    error = nothing_was_written(bed, "stamps", process, 811, USAGE)
    assert error["facts"]["topic"] == "/odom"
    # Without it nothing is missed, nor where the log's times are asked for.
    assert joined(bed, "stamps", file, *MAPPED).summary()["rows"] == 20


def json_file(file: Path, *stamps: tuple[int, int] | None) -> Path:
    """Two topics without a schema; the second says ``stamps``, and nothing where there is none."""
    with file.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start()
        left, right = (writer.register_channel(topic, "json", 0) for topic in ("/left", "/right"))
        for k, stamp in enumerate(stamps):
            own = {} if stamp is None else {"header": {"stamp": {"secs": stamp[0], "nsecs": stamp[1]}}}
            for channel, said in ((left, {"timestamp": {"sec": 5, "nsec": k}, "x": k}), (right, {**own, "y": 2 * k})):
                at = START_NS + k * MS + channel
                writer.add_message(channel, at, json.dumps(said).encode(), at, k)
        writer.finish()  # type: ignore[no-untyped-call]  # the package leaves it so
    return file


def test_messages_without_a_schema_tell_by_the_first_one_whether_they_have_stamps(bed: Bed) -> None:
    mapped = ("--map", "/left=10001", "--map", "/right=10002", "--time", "header")
    refused = joined(bed, "none", json_file(bed.folder / "none.mcap", None, None), *mapped)
    assert nothing_was_written(bed, "none", refused, 811, USAGE)["facts"]["topic"] == "/right"
    join = joined(bed, "some", json_file(bed.folder / "some.mcap", (5, 1), (0, 0), None, (5, 4)), *mapped)
    # A message without a time has none: it is not compared with the others by another clock.
    assert join.summary()["not_timed"] == 2
    assert [row["s1"]["timestamp_ns"] for row in read_rows(bed.journal("some"))] == [
        5_000_000_001,
        None,
        None,
        5_000_000_004,
    ]


def test_a_join_by_time_leaves_messages_without_a_time_out_and_says_why(bed: Bed) -> None:
    file = json_file(bed.folder / "some.mcap", (5, 0), (0, 0), (5, 2))
    inputs = {
        "left": {"stream": 10_001, "offset_ns": 0},
        "right": {"stream": 10_002, "offset_ns": 0, "tolerance_ns": 0},
    }
    config = bed.config("by-time", "timestamp", inputs, out=20_001, join={"drive": "input:left"})
    words = ("--map", "/left=10001", "--map", "/right=10002", "--time", "header", "--json")
    assert bed.run("join", "--config", config, "--from", file, *words).summary()["rows"] == 2
    assert seqs(bed.journal("by-time"), "left", "right") == [(0, 0), (2, 2)]
    causes = {(row["input"], row["seq"]): row["cause"] for row in read_unmatched(bed.journal("by-time"))}
    assert causes["right", 1] == "null_timestamp"


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "extra", "name"),
    [("rosbags", "ros", "in.bag"), ("rosbags", "ros", "in.mcap"), ("mcap_protobuf", "protobuf", "views.mcap")],
)
def test_a_library_that_is_not_installed_is_named_before_anything_is_written(
    bed: Bed, library: str, extra: str, name: str
) -> None:
    file = bed.folder / name
    if name == "in.bag":
        writers.by_rosbag1(file, ROS, types=STAMPED)
    elif name == "in.mcap":
        writers.ros1_by_mcap(file, ROS)
    else:
        writers.by_foxglove(file, VIEWS)
    mapped = ("--map", "/image=10001", "--map", "/jpeg=10002") if extra == "protobuf" else MAPPED
    # A module of its name that says what Python says of one that is not there.
    hiding = bed.folder / "hiding"
    hiding.mkdir()
    (hiding / f"{library}.py").write_text(f"raise ModuleNotFoundError('none', name={library!r})\n")
    bed.environment["PYTHONPATH"] = str(hiding)
    error = nothing_was_written(bed, "bare", joined(bed, "bare", file, *mapped), 810, ENVIRONMENT)
    assert "python -m pip install '" in error["hint"]
    assert {"ros": "'rosbags>=", "protobuf": "'protobuf>="}[extra] in error["hint"]
    replay = bed.run("replay", file, *mapped, "--json")
    assert (replay.ended(), replay.says(event="error")["code"]) == (ENVIRONMENT, 810)
    if name != "in.bag":
        # What is in a file can still be looked at.
        assert topics_of(bed, file)


def broken_bag(bed: Bed, what: str) -> Path:
    """A bag that cannot be opened."""
    file = bed.folder / {"no index": "in.bag", "cut off": "in.bag"}.get(
        what, "in.db3" if "database" in what else "folder"
    )
    if file.suffix == ".bag":
        writers.by_rosbag1(file, ROS, types=STAMPED)
        data = file.read_bytes()
        at = data.index(b"index_pos=") + 10
        cut = data[: len(data) // 2]
        file.write_bytes(cut if what == "cut off" else data[:at] + bytes(8) + data[at + 8 :])
    elif file.suffix == ".db3":
        writers.by_sqlite(file, traffic(9, imu=(3_000, 5.0)))
        data = file.read_bytes()
        at = len(data) // 2
        file.write_bytes(data[:2000] if what == "half a database" else data[:at] + b"\xff" * at)
    else:
        writers.by_rosbag2(file, ROS, types=STAMPED)
        if what == "a file is missing":
            next(file.glob("*.db3")).unlink()
        else:
            (file / "metadata.yaml").write_text("rosbag2_bagfile_information: [")
    return file


@pytest.mark.parametrize(
    "what", ["no index", "cut off", "half a database", "a database damaged within", "a file is missing", "no metadata"]
)
def test_a_bag_that_cannot_be_opened_is_refused_by_number(bed: Bed, what: str) -> None:
    file = broken_bag(bed, what)
    nothing_was_written(bed, "broken", joined(bed, "broken", file, *MAPPED), 803, 1)
    inspect = bed.run("inspect", file, "--json")
    assert (inspect.ended(), inspect.says(event="error")["code"]) == (1, 803)
    assert "Traceback" not in inspect.text


@pytest.mark.parametrize("packed", ["none", "message", "file"])
def test_a_folder_gives_every_message_whatever_its_metadata_say_besides(bed: Bed, packed: str) -> None:
    file = bed.folder / "folder"
    if packed == "none":
        writers.folder_by_sqlite(file, ROS, files=1)
    else:
        writers.by_rosbag2(file, ROS, types=STAMPED, packed=CompressionMode[packed.upper()])
    summary = joined(bed, "folder", file, *MAPPED).summary()
    assert (summary["frames"], summary["rows"], summary["damage"]) == (len(ROS), 20, None)


def test_a_folder_that_lacks_messages_of_its_metadata_says_so(bed: Bed) -> None:
    file = bed.folder / "folder"
    writers.folder_by_sqlite(file, ROS, files=1)
    said = file / "metadata.yaml"
    said.write_text(said.read_text().replace(f'"message_count": {len(ROS)}', f'"message_count": {len(ROS) + 5}'))
    summary = joined(bed, "lacking", file, *MAPPED).summary()
    assert str(len(ROS) + 5) in summary["damage"]
    assert [each["code"] for each in summary["problems"]] == [803]


@pytest.mark.parametrize("kind", ["bag", "rosbag2"])
def test_a_bag_is_replayed_like_a_recording(bed: Bed, kind: str) -> None:
    file = bed.folder / f"in.{kind}"
    write = writers.by_rosbag1 if kind == "bag" else writers.by_rosbag2
    write(file, ROS, types=STAMPED)
    assert joined(bed, "offline", file, *MAPPED, "--time", "header").summary()["rows"] == 20
    bed.driver()
    live = bed.join(bed.lockstep("live", [10_001, 10_002]), is_ready=False)
    words = ("--time", "header", "--speed", "max", "--wait-consumers", 1, "--end", "--check", bed.journal("live"))
    replay = bed.run("replay", file, *MAPPED, *words, "--json")
    live.summary()
    said = replay.summary()
    assert (said["frames"], said["check"]["first_difference"]) == (len(ROS), None)
    times = [[row["s1"]["timestamp_ns"] for row in read_rows(bed.journal(name))] for name in ("offline", "live")]
    assert times[0] == times[1] == [each.stamp_ns for each in of_topic(ROS, "/odom")]
