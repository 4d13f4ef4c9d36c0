# SPDX-License-Identifier: Apache-2.0
"""The examples that ship and those of the specification, by producers that start apart, end and leave."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import pytest

from tests.outside.bed import Bed, apart
from tests.outside.rows import read_rows, seqs

WORKED = Path(__file__).parents[1] / "joins"
BY_SEQUENCE = ["a31_lockstep_cameras", "a32_fixed_offset", "a33_sliding_window", "a34_diamond"]


def schedule(path: Path) -> list[list[str]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [[row["at_ms"], row["seq"], row["timestamp_ns"]] for row in csv.DictReader(lines) if row["seq"]]


def expected(path: Path) -> list[tuple[int, ...]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [tuple(map(int, row[1:])) for row in list(csv.reader(lines))[1:]]


@pytest.mark.parametrize("is_first_late", [False, True])
@pytest.mark.parametrize("name", BY_SEQUENCE)
def test_a_worked_join_gives_its_rows_whoever_starts_late(bed: Bed, name: str, is_first_late: bool) -> None:
    folder = f"{name}-{is_first_late}"
    text = (WORKED / name / "join.toml").read_text()
    columns = [each["name"] for each in tomllib.loads(text)["input"]]
    [*streams, out] = bed.streams(len(columns) + 1)
    text = re.sub(r'journal = "[^"]*"', f'journal = "{folder}"', text)
    text = re.sub(r"out_stream = \d+", f"out_stream = {out + 10_000}", text)
    for number, stream in enumerate(streams):
        text = text.replace(f"stream = {10_001 + number}\n", f"stream = {stream}\n")
    config = bed.folder / f"{folder}.toml"
    config.write_text(text)
    join = bed.join(config)
    players = list(zip(columns, streams, strict=True))
    for column, stream in reversed(players) if is_first_late else players:
        bed.play(stream, schedule(WORKED / name / f"{column}.csv")).summary()
        apart(0.3)
    join.summary()
    assert seqs(bed.journal(folder), *columns) == expected(WORKED / name / "expected.csv")
    bed.audit(folder, *streams)


def test_the_camera_and_its_sensor_are_joined_as_the_example_says(own_bed: Bed) -> None:
    own_bed.driver()
    assert own_bed.run("join", "--example", "camera-imu").ended() == 0
    join = own_bed.join(own_bed.folder / "camera-imu.toml")
    own_bed.rate(10_012, 200, 600, 6, end=True)
    apart(0.3)
    own_bed.rate(10_011, 30, 60)
    join.summary()
    rows = read_rows(own_bed.journal("out/camera-imu"))
    assert rows
    assert all(0 <= row["out_time_ns"] - row["imu"]["timestamp_ns"] <= 10_000_000 for row in rows if row["imu"]["seq"])
    own_bed.audit("out/camera-imu", 10_011, 10_012)


def test_fast_data_keeps_the_configuration_of_a_producer_that_left(own_bed: Bed) -> None:
    own_bed.driver()
    assert own_bed.run("join", "--example", "fast-slow").ended() == 0
    join = own_bed.join(own_bed.folder / "fast-slow.toml")
    own_bed.rate(10_022, 2, 2, 16).summary()
    own_bed.rate(10_021, 1000, 1000, "64x64")
    assert join.summary()["rows"] == 1000
    assert {row["config"]["seq"] for row in read_rows(own_bed.journal("out/fast-slow"))} == {1}
    own_bed.audit("out/fast-slow", 10_021, 10_022)
