# SPDX-License-Identifier: Apache-2.0
"""Replays at full speed: they go no faster than who listens, and do not wait for who never will."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.outside.bed import Bed, apart, until
from tests.outside.recordings import MS, ticks, write_recording

SHAPE = "512x512"
"""Frames of which a ring holds 128."""


def recorded(bed: Bed, streams: list[int], frames: int) -> Path:
    """A recording of some frames of each stream."""
    path = bed.folder / f"recorded-{streams[0]}.mcap"
    listed = ",".join(map(str, streams))
    words = ("--streams", listed, "--payload", "--frames", frames * len(streams), "--json")
    recorder = bed.run("record", path, *words, is_ready=True)
    for producer in [bed.rate(stream, 100, frames, SHAPE) for stream in streams]:
        producer.summary()
    summary = recorder.summary()
    assert summary["complete"], summary
    return path


def test_a_replay_at_full_speed_loses_nothing_to_a_join_that_is_slower(bed: Bed) -> None:
    streams = bed.streams(2)
    path = recorded(bed, streams, 600)
    join = bed.join(bed.lockstep("replayed", streams))
    replay = bed.run("replay", path, "--speed", "max", "--wait-consumers", 1, "--end", "--json")
    assert replay.summary()["frames"] == 1200
    assert join.summary()["rows"] == 600


def test_a_join_that_stands_still_for_a_while_loses_nothing_of_a_replay(bed: Bed) -> None:
    """For longer than its leases last: the driver takes it for dead meanwhile. What mere consumers lose is counted."""
    streams = bed.streams(2)
    path = recorded(bed, streams, 300)
    listening = [
        bed.join(bed.lockstep("paused", streams)),
        *(bed.run("consume", "--stream", stream, "--json", is_ready=True) for stream in streams),
    ]
    replay = bed.run("replay", path, "--speed", "max", "--wait-consumers", 2, "--end", "--json", is_ready=True)
    for each in listening:
        each.stop()
    apart(7)
    for each in listening:
        each.go_on()
    assert replay.summary()["frames"] == 600
    join, *consumers = (each.summary() for each in listening)
    assert join["rows"] == 300
    for found in consumers:
        assert found["frames"] + found["gap_drops"] + found["late_drops"] == 300, found
    assert "waits for a consumer that fell silent" in replay.errors


def test_a_consumer_that_leaves_does_not_hold_a_replay_up(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    path = recorded(bed, [stream], 400)
    consumer = bed.run("consume", "--stream", stream, "--count", 50, "--json")
    replay = bed.run("replay", path, "--speed", "max", "--wait-consumers", 1, "--end", "--json")
    assert consumer.summary()["frames"] == 50
    assert replay.summary()["frames"] == 400
    assert "fell silent" not in replay.errors


def test_a_replay_does_not_wait_for_ever_for_a_consumer_that_sees_nothing(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    path = recorded(bed, [stream], 200)
    bed.deaf(stream)
    replay = bed.run("replay", path, "--speed", "max", "--wait-consumers", 1, "--json")
    assert replay.ended() == 1, replay
    assert replay.says(event="error")["code"] == 809
    assert "waits for its slowest consumer" in replay.errors


@pytest.mark.parametrize("command", ["replay", "produce"])
def test_who_waits_for_consumers_says_for_how_many_of_which_stream_and_ends_by_ctrl_c(bed: Bed, command: str) -> None:
    (stream,) = bed.streams(1)
    words: list[object] = ["--stream", stream, "--rate", 100]
    if command == "replay":
        words = [recorded(bed, [stream], 20)]
    waiting = bed.run(command, *words, "--wait-consumers", 4, "--json", is_ready=True)
    bed.run("consume", "--stream", stream, "--json", is_ready=True)
    # The recorder's lease may still be counted.
    said = re.compile(rf"stream {stream}: waits for its consumers: [1-3] of 4 are there")
    until(lambda: said.search(waiting.errors), "a word about the waiting")
    assert waiting.interrupted()["frames"] == 0


def test_a_stream_that_the_driver_does_not_serve_is_refused_with_one_that_it_does_and_a_join_of_the_file_says_so(
    bed: Bed,
) -> None:
    path = write_recording(bed.folder / "other.mcap", {"/x": ticks(20, 10 * MS)})
    refused = bed.run("replay", path, "--map", "/x=1", "--json")
    assert refused.ended() == 1
    assert refused.objects() == [refused.says(event="error")]
    message = refused.says(event="error")["message"]
    assert "10000-29999" in message
    assert "10001" in message
    config = bed.config("by-one", "union", {"x": {"stream": 1}})
    join = bed.run("join", "--config", config, "--from", path, "--map", "/x=1", "--json")
    assert join.summary()["rows"] == 20
    assert "/x=10001" in join.errors
    again = bed.config("by-another", "union", {"x": {"stream": 10001}})
    assert bed.run("join", "--config", again, "--from", path, "--map", "/x=10001", "--json").summary()["rows"] == 20
    assert bed.run("replay", path, "--map", "/x=10001", "--speed", "max", "--json").summary()["frames"] == 20
