# SPDX-License-Identifier: Apache-2.0
"""Replays at full speed: they go no faster than who listens, and do not wait for who never will."""

from __future__ import annotations

from pathlib import Path

from tests.outside.bed import Bed, apart

SHAPE = "512x512"
"""Frames of which a ring holds 128."""
DEAF = """
import sys, time
import framegate as fg

with fg.connect() as client:
    consumer = client.consumer(int(sys.argv[1]))
    print('{"event": "ready"}', flush=True)
    time.sleep(600)
"""


def recorded(bed: Bed, streams: list[int], frames: int) -> Path:
    """A recording of some frames of each stream."""
    path = bed.folder / f"recorded-{streams[0]}.mcap"
    listed = ",".join(map(str, streams))
    words = ("--streams", listed, "--payload", "--frames", frames * len(streams), "--json")
    recorder = bed.run("record", path, *words, is_ready=True)
    for producer in [bed.rate(stream, 200, frames, SHAPE) for stream in streams]:
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
    bed.python(DEAF, stream).says(event="ready")
    replay = bed.run("replay", path, "--speed", "max", "--wait-consumers", 1, "--json")
    assert replay.ended() == 1, replay
    assert replay.says(event="error")["code"] == 809
    assert "waits for its slowest consumer" in replay.errors
