# SPDX-License-Identifier: Apache-2.0
"""The examples that ship and those of the specification, by producers that start apart, end and leave."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.outside.bed import Bed, apart
from tests.outside.rows import read_rows, seqs

WORKED = Path(__file__).parents[1] / "joins"
BY_SEQUENCE = ["a31_lockstep_cameras", "a32_fixed_offset", "a33_sliding_window", "a34_diamond"]
BY_WINDOW = ["a42_camera_imu", "a43_sensor_fusion"]


def in_turn(names: list[str]) -> list[Any]:
    """Each example with one producer late, the first or the other in turn; the other way round in the long lane."""
    return [
        pytest.param(name, is_first_late, marks=() if is_first_late == bool(number % 2) else pytest.mark.long)
        for number, name in enumerate(names)
        for is_first_late in (False, True)
    ]


def schedule(path: Path) -> list[list[str]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [[row["at_ms"], row["seq"], row["timestamp_ns"]] for row in csv.DictReader(lines) if row["seq"]]


def expected(path: Path) -> list[tuple[int, ...]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [tuple(map(int, row[1:])) for row in list(csv.reader(lines))[1:]]


def worked(bed: Bed, name: str, folder: str) -> tuple[Path, dict[str, int]]:
    """The example's own join.toml with streams and a journal of this test's, and the stream of each input."""
    text = (WORKED / name / "join.toml").read_text()
    columns = [each["name"] for each in tomllib.loads(text)["input"]]
    [*streams, out] = bed.streams(len(columns) + 1)
    text = re.sub(r'journal = "[^"]*"', f'journal = "{folder}"', text)
    text = re.sub(r"out_stream = \d+", f"out_stream = {out + 10_000}", text)
    for number, stream in enumerate(streams):
        text = text.replace(f"stream = {10_001 + number}\n", f"stream = {stream}\n")
    config = bed.folder / f"{folder}.toml"
    config.write_text(text)
    return config, dict(zip(columns, streams, strict=True))


def one_after_another(bed: Bed, name: str, streams: dict[str, int], *words: object, is_first_late: bool) -> None:
    """Each producer plays its part to the end, and leaves, before the next one starts."""
    for column, stream in reversed(streams.items()) if is_first_late else streams.items():
        bed.play(stream, schedule(WORKED / name / f"{column}.csv"), words=words).summary()
        apart(0.3)


@pytest.mark.parametrize(("name", "is_first_late"), in_turn(BY_SEQUENCE))
def test_a_worked_join_gives_its_rows_whoever_starts_late(bed: Bed, name: str, is_first_late: bool) -> None:
    folder = f"{name}-{is_first_late}"
    config, streams = worked(bed, name, folder)
    join = bed.join(config)
    one_after_another(bed, name, streams, is_first_late=is_first_late)
    join.summary()
    assert seqs(bed.journal(folder), *streams) == expected(WORKED / name / "expected.csv")
    bed.audit(folder, *streams.values())


@pytest.mark.parametrize(("name", "is_first_late"), in_turn(BY_WINDOW))
def test_sensors_are_joined_within_their_windows_whoever_starts_late(bed: Bed, name: str, is_first_late: bool) -> None:
    """With a lateness, which frame of the window a row gets is a matter of what has come; and one that is longer than a
    window may leave rows without any, as the join says when it starts."""
    folder = f"{name}-{is_first_late}"
    config, streams = worked(bed, name, folder)
    windows = {each["name"]: each.get("window_ns", 0) for each in tomllib.loads(config.read_text())["input"]}
    join = bed.join(config)
    one_after_another(bed, name, streams, is_first_late=is_first_late)
    join.summary()
    rows = read_rows(bed.journal(folder))
    assert rows or "lateness" in join.text
    for row in rows:
        for column, window_ns in windows.items():
            assert 0 <= row["out_time_ns"] - row[column]["timestamp_ns"] <= window_ns
    bed.audit(folder, *streams.values())


@pytest.mark.parametrize("is_first_late", [False, True])
def test_sound_and_picture_of_the_wall_clock_are_joined_by_an_outer_clock(bed: Bed, is_first_late: bool) -> None:
    name = "a45_audio_video"
    folder = f"{name}-{is_first_late}"
    config, streams = worked(bed, name, folder)
    bed.environment["PYTHONPATH"] = str(WORKED / name)
    join = bed.join(config)
    one_after_another(bed, name, streams, "--clock", "realtime", is_first_late=is_first_late)
    wanted = expected(WORKED / name / "expected.csv")
    join.summary()
    found = seqs(bed.journal(folder), *streams)
    assert found[: len(wanted)] == wanted
    # The clock had gone on, by as many ticks as it was asked for at once, when both had ended.
    assert set(found[len(wanted) :]) <= {(5, 22)}
    bed.audit(folder, *streams.values())


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
