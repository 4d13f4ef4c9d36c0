# SPDX-License-Identifier: Apache-2.0
"""Recordings by other programs' writers, joined offline: the rows are those that brute force finds.

Each recording is joined by ``sequence`` and by ``timestamp`` with every pick, by the log's times and by the messages'
own. ``python -m tests.outside.test_recordings_of_others`` joins all by both and prints the table of them.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from foxglove.mcap import MCAPCompression
from rosbags.rosbag1 import Writer as Bag1Writer
from rosbags.rosbag2 import StoragePlugin

from tests.outside import foreign_writers as writers
from tests.outside.bed import Bed, Process
from tests.outside.brute_force import Pairs, Times, best_pairs, in_step, nearest_within, newest_within
from tests.outside.rows import read_rows
from tests.outside.spoiling import cut_off, without_chunk, without_rest_of_bag
from tests.outside.traffic import MS, Written, by_topic, of_topic, read_back, shuffled, traffic

OTHERS = Path(__file__).parent / "others"
CLOCKS = ("log", "header")
WRITTEN = {
    "node-json-unsorted.mcap": "681f2cb0f80a9ad358c43a16eba7375119a01a9e1e9f7564f16805d9a0cb9ec9",
    "node-cdr-by-topic.mcap": "dc0fd618566ce0c4c967d8bde5230a4739f7f3245c73aef93282cf95d5f640fb",
}
"""What is checked in, by its digest."""

Maker = Callable[[Path], list[Written]]


@dataclass(frozen=True)
class Recorded:
    """A recording: what it is called, what is special about it, and how to make it; the maker says what it holds."""

    file: str
    about: str
    drive: str
    other: str
    make: Maker
    is_independent: bool = False
    """Whether its writer is nothing that framegate uses."""


def written(write: Callable[..., None], messages: Sequence[Written], **how: object) -> Maker:
    """A recording of these messages, whole."""

    def make(path: Path) -> list[Written]:
        write(path, messages, **how)
        return list(messages)

    return make


def spoilt(make: Maker, spoil: Callable[[Path, list[Written]], list[Written]]) -> Maker:
    """A recording that is damaged after it was written."""
    return lambda path: spoil(path, make(path))


def checked_in(path: Path) -> list[Written]:
    """A recording of this folder, and what its writer wrote down."""
    path.write_bytes((OTHERS / path.name).read_bytes())
    return read_back(OTHERS / f"{path.stem}.csv")


IMAGES = traffic(1, image=(90, 33.0), pose=(300, 10.0))
POINTS = traffic(2, points=(80, 50.0), jpeg=(130, 30.0))
VOLTS = traffic(3, left=(200, 20.0), right=(110, 37.0))
ROS = traffic(4, imu=(400, 5.0), odom=(100, 20.0))
SLOW = traffic(5, a=(120, 25.0), b=(170, 18.0))
SPEEDS = traffic(6, front=(150, 12.0), rear=(150, 12.0))
STAMPED = {"/imu": "sensor_msgs/msg/Imu", "/odom": "nav_msgs/msg/Odometry"}
VIEWED = {"/imu": "geometry_msgs/msg/PoseStamped", "/odom": "geometry_msgs/msg/PoseWithCovarianceStamped"}

RECORDINGS = [
    Recorded(
        "sdk.mcap", "protobuf, zstd", "/image", "/pose",
        written(writers.by_foxglove, IMAGES, compression=MCAPCompression.Zstd), is_independent=True,
    ),
    Recorded(
        "sdk-unsorted.mcap", "protobuf, unsorted", "/points", "/jpeg",
        written(writers.by_foxglove, shuffled(POINTS, 1)), is_independent=True,
    ),
    Recorded(
        "sdk-json.mcap", "JSON, topic after topic", "/right", "/left",
        written(writers.json_by_foxglove, by_topic(VOLTS)), is_independent=True,
    ),
    Recorded("node-json-unsorted.mcap", "JSON, unsorted", "/battery", "/pose", checked_in, is_independent=True),
    Recorded("node-cdr-by-topic.mcap", "CDR, topic after topic", "/tick", "/twist", checked_in, is_independent=True),
    Recorded(
        "node-cdr-by-topic.mcap", "the same, a chunk damaged", "/tick", "/twist",
        spoilt(checked_in, partial(without_chunk, index=2)), is_independent=True,
    ),
    Recorded(
        "sqlite.db3", "CDR without definitions, unsorted", "/a", "/b",
        written(writers.by_sqlite, shuffled(SLOW, 2)), is_independent=True,
    ),
    Recorded(
        "split", "rosbag2 of two files, topic after topic", "/a", "/b",
        written(writers.folder_by_sqlite, by_topic(SLOW)), is_independent=True,
    ),
    Recorded("rosbag2", "rosbag2, db3", "/odom", "/imu", written(writers.by_rosbag2, ROS, types=STAMPED)),
    Recorded(
        "rosbag2-mcap", "rosbag2, MCAP, unsorted", "/odom", "/imu",
        written(writers.by_rosbag2, shuffled(ROS, 3), types=VIEWED, storage=StoragePlugin.MCAP),
    ),
    Recorded(
        "ros1.bag", "ROS 1, lz4", "/odom", "/imu",
        written(writers.by_rosbag1, ROS, types=STAMPED, compression=Bag1Writer.CompressionFormat.LZ4),
    ),
    Recorded(
        "ros1-unsorted.bag", "ROS 1, bz2, unsorted", "/odom", "/imu",
        written(writers.by_rosbag1, shuffled(ROS, 4), types=VIEWED, compression=Bag1Writer.CompressionFormat.BZ2),
    ),
    Recorded(
        "ros1-damaged.bag", "ROS 1, a message damaged", "/odom", "/imu",
        spoilt(written(writers.by_rosbag1, ROS, types=STAMPED), partial(without_rest_of_bag, number=350)),
    ),
    Recorded(
        "ros1.mcap", "ROS 1 in MCAP, cut off", "/a", "/b",
        spoilt(written(writers.ros1_by_mcap, SLOW, is_finished=False), cut_off),
    ),
    Recorded("speed.mcap", "CDR of an own type", "/front", "/rear", written(writers.by_mcap_ros2, SPEEDS)),
    Recorded(
        "poses.mcap", "protobuf, a chunk damaged", "/image", "/pose",
        spoilt(written(writers.by_mcap_protobuf, IMAGES), partial(without_chunk, index=3)),
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """How two inputs are joined: the keys of the second one, and the rows that brute force finds."""

    name: str
    policy: str
    keys: dict[str, object]
    expected: Callable[[Times, Times], Pairs]


RULES = [
    Rule("in step", "sequence", {}, in_step),
    Rule(
        "newest", "timestamp", {"offset_ns": 0, "tolerance_ns": 9 * MS}, partial(newest_within, tolerance_ns=9 * MS)
    ),
    Rule("window", "timestamp", {"window_ns": 14 * MS}, partial(newest_within, tolerance_ns=14 * MS)),
    Rule(
        "nearest", "timestamp", {"offset_ns": 0, "tolerance_ns": 7 * MS, "pick": "nearest"},
        partial(nearest_within, tolerance_ns=7 * MS),
    ),
    Rule(
        "pairs", "timestamp", {"offset_ns": 0, "tolerance_ns": 7 * MS, "pick": "nearest", "reuse": False},
        partial(best_pairs, tolerance_ns=7 * MS),
    ),
]  # fmt: skip

Row = tuple[int, int, int, int]
"""Sequence and time of the driving input's frame, then those of the other one's."""


@dataclass(frozen=True)
class Joined:
    """A join of a recording, started."""

    rule: Rule
    journal: Path
    expected: list[Row]
    process: Process

    def rows(self) -> list[Row]:
        """What it made, when it has ended."""
        self.process.summary()
        return [
            tuple(row[name][key] for name in ("drive", "other") for key in ("seq", "timestamp_ns"))
            for row in read_rows(self.journal)
        ]


def started(bed: Bed, recorded: Recorded, file: Path, messages: list[Written], rule: Rule, clock: str) -> Joined:
    """Begin a join; what it must give is known before."""
    drive, other = of_topic(messages, recorded.drive), of_topic(messages, recorded.other)
    times = [[each.log_ns if clock == "log" else each.stamp_ns for each in topic] for topic in (drive, other)]
    expected = [(k, times[0][k], n, times[1][n]) for k, n in rule.expected(*times)]
    name = f"{rule.name.replace(' ', '-')}-{clock}"
    inputs: dict[str, dict[str, object]] = {"drive": {"stream": 10_001}, "other": {"stream": 10_002, **rule.keys}}
    by_time = {"offset_ns": 0} if rule.policy == "timestamp" else {}
    inputs["drive"] |= by_time
    join = {"drive": "input:drive"} if rule.policy == "timestamp" else {}
    config = bed.config(name, rule.policy, inputs, out=20_001, join=join)
    mapped = ("--map", f"{recorded.drive}=10001", "--map", f"{recorded.other}=10002")
    process = bed.run("join", "--config", config, "--from", file, *mapped, "--time", clock, "--json")
    return Joined(rule, bed.journal(name), expected, process)


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A bed without a driver: nobody is asked."""
    with Bed() as bed:
        yield bed


def names() -> list[str]:
    return [f"{each.file}, {each.about}" for each in RECORDINGS]


@pytest.mark.parametrize("number", range(len(RECORDINGS)), ids=names())
def test_the_rows_are_those_of_brute_force(bed: Bed, number: int) -> None:
    # Two of the rules for each recording: every rule meets both clocks among them.
    check(bed, number, [(RULES[(number + k) % len(RULES)], clock) for k, clock in enumerate(CLOCKS)])


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(RECORDINGS)), ids=names())
def test_the_rows_are_those_of_brute_force_by_every_rule_and_both_clocks(bed: Bed, number: int) -> None:
    check(bed, number, [(rule, clock) for clock in CLOCKS for rule in RULES])


def check(bed: Bed, number: int, wanted: Sequence[tuple[Rule, str]]) -> None:
    """Join a recording in some ways at a time, and compare."""
    recorded = RECORDINGS[number]
    file = bed.folder / recorded.file
    messages = recorded.make(file)
    for join in [started(bed, recorded, file, messages, rule, clock) for rule, clock in wanted]:
        assert join.expected, join.rule
        assert join.rows() == join.expected, join.rule


def test_six_recordings_are_by_writers_that_framegate_does_not_use() -> None:
    assert len(RECORDINGS) >= 10
    assert sum(each.is_independent for each in RECORDINGS) >= 6


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_checked_in_is_what_was_written(name: str) -> None:
    assert hashlib.sha256((OTHERS / name).read_bytes()).hexdigest() == WRITTEN[name]


def main() -> int:
    """Join every recording by every rule and both clocks, and print what came of it."""
    is_wrong = False
    print(f"{'recording':<25} {'what it is':<41} {'rule':<8} {'clock':<6} {'messages':>8} {'expected':>8} {'rows':>6}")
    for recorded in RECORDINGS:
        with Bed() as bed:
            file = bed.folder / recorded.file
            messages = recorded.make(file)
            for clock in CLOCKS:
                for join in [started(bed, recorded, file, messages, rule, clock) for rule in RULES]:
                    rows = join.rows()
                    is_wrong |= rows != join.expected
                    counts = f"{len(messages):>8} {len(join.expected):>8} {len(rows):>6}"
                    is_same = "" if rows == join.expected else "  WRONG"
                    print(f"{recorded.file:<25} {recorded.about:<41} {join.rule.name:<8} {clock:<6} {counts}{is_same}")
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
