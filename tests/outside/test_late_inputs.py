# SPDX-License-Identifier: Apache-2.0
"""Inputs that are late, and stamps that step back: what it costs is said, and no more than that is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.outside.bed import Bed, until
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


def play_both(bed: Bed, left: int, right: int) -> None:
    bed.play(left, [(seq * 5, seq, 10**12 + seq * 5 * MS) for seq in range(100)])
    bed.play(right, stepping_back(100))


def says_why(text: str, right: int) -> None:
    """The frame, both stamps, the key, and what to do."""
    for part in ("[FG-424 INPUT_REJECTED]", f"input=right stream={right}", "seq=25", "source=slot_header"):
        assert part in text
    last_ns = 10**12 + 24 * 5 * MS
    assert f"last_ns={last_ns} found_ns={last_ns - 1} key=regressed" in text
    assert 'regressed = "drop"' in text


def test_a_stamp_that_steps_back_ends_the_join_with_the_frame_and_the_key(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.run("join", "--config", by_time(bed, "rejected", left, right))
    until(lambda: (bed.journal("rejected") / "journal.json").exists(), "a join that listens")
    play_both(bed, left, right)
    assert join.ended() == 1
    says_why(join.text, right)
    bed.audit("rejected", left, right)


def test_an_optional_input_whose_stamps_step_back_is_absent_and_said_once(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "optional", left, right, optional=True))
    play_both(bed, left, right)
    assert join.summary()["rows"] == 100
    says_why(join.errors, right)
    assert join.errors.count("INPUT_REJECTED") == 1
    assert {row["right"]["status"] for row in read_rows(bed.journal("optional"))[26:]} == {"not_joined"}
    bed.audit("optional", left, right)


def test_a_recording_of_stamps_that_step_back_says_so_or_is_joined_without_that_frame(bed: Bed) -> None:
    left, right = bed.streams()
    recording = bed.folder / "stepped.mcap"
    words = ("record", recording, "--streams", f"{left},{right}", "--payload", "--frames", 200, "--json")
    recorder = bed.run(*words, is_ready=True)
    play_both(bed, left, right)
    recorder.summary()
    join = bed.run("join", "--config", by_time(bed, "recorded", left, right), "--from", recording)
    assert join.ended() == 1
    says_why(join.text, right)
    dropping = by_time(bed, "recorded-again", left, right, regressed="drop")
    assert bed.run("join", "--config", dropping, "--from", recording, "--json").summary()["rows"] >= 99


def test_a_stamp_that_steps_back_costs_one_frame_where_the_file_says_drop(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "dropped", left, right, regressed="drop"))
    play_both(bed, left, right)
    join.summary()
    assert len(seqs(bed.journal("dropped"), "right")) >= 99
    assert [row["seq"] for row in read_unmatched(bed.journal("dropped")) if row["cause"] == "regressed"] == [25]
    bed.audit("dropped", left, right)
