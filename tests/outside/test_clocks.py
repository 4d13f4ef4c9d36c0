# SPDX-License-Identifier: Apache-2.0
"""Stamps of two clocks are told apart, by name; those of one clock are joined, whichever it is."""

from __future__ import annotations

from pathlib import Path

from tests.outside.bed import Bed, Process, until
from tests.outside.rows import read_rows

REALTIME_CAMERA = """
import sys, time
import framegate as fg
import numpy as np

with fg.connect() as client, client.producer(int(sys.argv[1]), shape=(8, 8), dtype="uint8") as camera:
    camera.wait_consumers(1)
    for number in range(200):
        camera.publish(np.full((8, 8), number, np.uint8), timestamp_ns=time.time_ns())
        time.sleep(0.005)
    camera.end()
"""


def by_time(bed: Bed, name: str, left: int, right: int, **maps: object) -> Path:
    inputs = {"left": {"stream": left, "offset_ns": 0}, "right": {"stream": right, "offset_ns": 0}}
    return bed.config(name, "timestamp", inputs, mergemap={"serve": True, **maps})


def realtime(bed: Bed, stream: int) -> Process:
    words = ("--rate", 200, "--count", 600, "--shape", "8x8")
    return bed.produce(stream, *words, "--clock", "realtime")


def test_one_camera_stamped_by_the_wall_clock_is_called_that(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "mixed", left, right))
    camera = bed.python(REALTIME_CAMERA, left)
    bed.rate(right, 200, 200)
    assert camera.ended() == 0, camera
    join.ended()
    assert "realtime" in join.text
    assert "slots" not in join.text


def test_two_inputs_declared_realtime_are_joined_by_a_realtime_map(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "realtime", left, right, clock_domain="realtime_synced"))
    producers = [realtime(bed, stream) for stream in (left, right)]
    for each in producers:
        each.summary()
    assert join.summary()["rows"] >= 150
    bed.audit("realtime", left, right)


def test_a_realtime_map_over_monotonic_frames_is_rejected_by_name(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "undeclared", left, right, clock_domain="realtime_synced"))
    for stream in (left, right):
        bed.rate(stream, 200, 100)
    assert join.ended() == 1
    assert "left" in join.text
    assert "monotonic" in join.text.lower()
    assert "realtime" in join.text.lower()


def test_a_mixed_join_is_rejected_by_the_name_of_its_input(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(by_time(bed, "declared-mixed", left, right))
    realtime(bed, left)
    bed.rate(right, 200, 100)
    assert join.ended() == 1
    assert "left" in join.text
    assert "realtime" in join.text.lower()


def test_an_optional_input_of_another_clock_is_left_out_and_named(bed: Bed) -> None:
    left, right = bed.streams()
    inputs = {
        "left": {"stream": left, "offset_ns": 0},
        "right": {"stream": right, "window_ns": 1_000_000_000, "optional": True},
    }
    join = bed.join(bed.config("without", "timestamp", inputs, join={"drive": "input:left"}, mergemap={"serve": True}))
    realtime(bed, right)
    until(lambda: "right" in join.text and "another clock" in join.text, "right is named")
    bed.rate(left, 200, 100)
    join.summary()
    rows = read_rows(bed.journal("without"))
    assert len(rows) == 100
    assert {row["right"]["seq"] for row in rows} == {None}
    bed.audit("without", left, right)


def test_a_replay_declares_the_clock_that_stamped_what_was_recorded(bed: Bed) -> None:
    left, right = bed.streams()
    recording = bed.folder / "realtime.mcap"
    words = ("record", recording, "--streams", f"{left},{right}", "--payload", "--frames", 400, "--json")
    recorder = bed.run(*words, is_ready=True)
    for stream in (left, right):
        bed.produce(stream, "--rate", 200, "--count", 200, "--shape", "8x8", "--clock", "realtime")
    recorder.summary()
    join = bed.join(by_time(bed, "again", left, right, clock_domain="realtime_synced"))
    assert bed.run("replay", recording, "--wait-consumers", 1, "--end", "--json").summary()["frames"] == 400
    assert join.summary()["rows"] >= 100


def test_what_a_join_of_realtime_frames_publishes_is_joined_by_a_realtime_map(bed: Bed) -> None:
    left, right, other = bed.streams(3)
    [out] = bed.streams(1)
    inputs = {"left": {"stream": left, "offset_ns": 0}, "right": {"stream": right, "window_ns": 1_000_000_000}}
    clock = {"serve": True, "clock_domain": "realtime_synced"}
    first = bed.config(
        "first", "timestamp", inputs, out=out, join={"publish": "left", "wait_consumers": 1}, mergemap=clock
    )
    second = by_time(bed, "second", out, other, clock_domain="realtime_synced")
    joins = [bed.join(first, is_ready=False), bed.join(second, is_ready=False)]
    for stream in (left, right, other):
        realtime(bed, stream)
    assert [join.summary()["rows"] > 100 for join in joins] == [True, True]
