# SPDX-License-Identifier: Apache-2.0
"""Inputs that are late, and stamps that step back: what it costs is said, and no more than that is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.bed import Bed
from tests.outside.rows import read_rows, read_unmatched, seqs

MS = 1_000_000


def steps(count: int, every_ms: int, *, begin_ms: int = 0, late_ms: int = 0) -> Iterator[tuple[int, int, int]]:
    """Frames stamped every few milliseconds from a common beginning on, published later than they are stamped."""
    for seq in range(count):
        at = begin_ms + seq * every_ms
        yield at + late_ms, seq, 10**12 + at * MS


def camera_and_imu(bed: Bed, name: str, camera: int, imu: int, lateness_ms: int) -> Path:
    inputs = {"camera": {"stream": camera, "offset_ns": 0}, "imu": {"stream": imu, "window_ns": 10 * MS}}
    rules = {"serve": True, "lateness_ns": lateness_ms * MS}
    return bed.config(name, "timestamp", inputs, join={"drive": "input:camera"}, mergemap=rules)


def test_a_lateness_above_a_window_is_warned_of_with_an_example(bed: Bed) -> None:
    camera, imu = bed.streams()
    join = bed.join(camera_and_imu(bed, "warned", camera, imu, lateness_ms=50))
    bed.play(camera, steps(20, 33, begin_ms=60))
    bed.play(imu, steps(160, 5, late_ms=22))
    join.summary()
    assert "lateness" in join.errors
    assert "imu" in join.errors
    bed.audit("warned", camera, imu)


def test_a_sensor_that_is_late_is_in_every_row_where_no_lateness_was_granted(bed: Bed) -> None:
    camera, imu = bed.streams()
    join = bed.join(camera_and_imu(bed, "waited", camera, imu, lateness_ms=0))
    bed.play(camera, steps(20, 33, begin_ms=60))
    bed.play(imu, steps(160, 5, late_ms=22))
    assert join.summary()["rows"] == 20
    assert all(row["imu"]["timestamp_ns"] > row["out_time_ns"] - 10 * MS for row in read_rows(bed.journal("waited")))
    bed.audit("waited", camera, imu)


def stepping_back(count: int) -> list[tuple[int, int, int]]:
    """One stamp in the middle is a nanosecond before the one that precedes it."""
    found = [(seq * 5, seq, 10**12 + seq * 5 * MS) for seq in range(count)]
    at_ms, seq, _ = found[count // 4]
    found[count // 4] = (at_ms, seq, found[count // 4 - 1][2] - 1)
    return found


def by_time(bed: Bed, name: str, left: int, right: int, **right_keys: object) -> Path:
    inputs: dict[str, dict[str, object]] = {
        "left": {"stream": left, "offset_ns": 0},
        "right": {"stream": right, "offset_ns": 0, **right_keys},
    }
    return bed.config(name, "timestamp", inputs)


@pytest.mark.xfail(strict=True, reason="the join waits for the end and loses the input, without a reason in the text")
def test_a_stamp_that_steps_back_ends_the_join_with_the_frame_and_the_key(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "rejected", left, right))
    bed.play(left, [(seq * 5, seq, 10**12 + seq * 5 * MS) for seq in range(100)])
    bed.play(right, stepping_back(100))
    assert join.ended() == 1
    assert "right" in join.text
    assert "regressed" in join.text
    assert "25" in join.text


@pytest.mark.xfail(strict=True, reason="there is no key regressed")
def test_a_stamp_that_steps_back_costs_one_frame_where_the_file_says_drop(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "dropped", left, right, regressed="drop"))
    bed.play(left, [(seq * 5, seq, 10**12 + seq * 5 * MS) for seq in range(100)])
    bed.play(right, stepping_back(100))
    join.summary()
    assert len(seqs(bed.journal("dropped"), "right")) >= 99
    assert [row["seq"] for row in read_unmatched(bed.journal("dropped")) if row["cause"] == "regressed"] == [25]
    bed.audit("dropped", left, right)
