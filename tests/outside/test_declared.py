# SPDX-License-Identifier: Apache-2.0
"""What replays and joins declare of the frames that they publish: regions that fit them, and their clock."""

from __future__ import annotations

from tests.outside.bed import Bed, Object, until
from tests.outside.rows import newest_row

MIB = 1 << 20
REALTIME = {"clock_domain": "realtime_synced"}
MIXED = """
import sys
import numpy as np
import framegate as fg

with fg.connect() as client, client.producer(int(sys.argv[1]), frame_bytes_max=3 << 20) as camera:
    assert camera.wait_consumers(1, 60)
    for seq in range(20):
        camera.publish(np.full(3 << 20 if seq == 15 else 48, seq, np.uint8))
    camera.end()
    assert camera.wait_seen(19, 60)
"""


def region_bytes(bed: Bed, ready: Object) -> int:
    """Of the epochs in which a program publishes."""
    folders = [f"{stream}/{epoch}" for stream, epoch in ready["epochs"].items()]
    files = [path for path in (bed.folder / "pool").rglob("*.*") if path.suffix in {".ring", ".pool"}]
    return sum(path.stat().st_size for path in files if str(path.parent).endswith(tuple(folders)))


def test_a_replay_takes_the_memory_that_its_frames_need(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    path = bed.folder / "small.mcap"
    recorder = bed.run("record", path, "--streams", stream, "--payload", "--json", is_ready=True)
    bed.rate(stream, 200, 100, "48").summary()
    assert recorder.summary()["complete"]
    replay = bed.run("replay", path, "--wait-consumers", 1, "--end", "--json", is_ready=True)
    assert 0 < region_bytes(bed, replay.says(event="ready")) < 1.3 * MIB
    consumer = bed.run("consume", "--stream", stream, "--verify", "--json")
    assert replay.summary()["frames"] == 100
    assert (consumer.summary()["frames"], consumer.summary()["verify_errors"]) == (100, 0)


def test_a_replay_of_frames_that_vary_has_room_for_the_largest(bed: Bed) -> None:
    (stream,) = bed.streams(1)
    path = bed.folder / "mixed.mcap"
    recorder = bed.run("record", path, "--streams", stream, "--payload", "--json", is_ready=True)
    assert bed.python(MIXED, stream).ended() == 0
    assert recorder.summary()["frames"] == 20
    replay = bed.run("replay", path, "--speed", "max", "--json")
    found = replay.summary()
    assert (found["frames"], found["left_out"]) == (20, {})


def test_a_join_that_comes_later_hears_by_which_clock_the_frames_of_a_published_stream_are_stamped(bed: Bed) -> None:
    left, right, out = bed.streams(3)
    first = bed.join(bed.lockstep("heard", [left, right], out=out, join={"publish": "s0"}))
    cameras = [
        bed.produce(stream, "--clock", "realtime", "--rate", 100, "--shape", "48", end=False)
        for stream in (left, right)
    ]
    until(lambda: newest_row(bed.journal("heard")) >= 0, "rows of the first join")
    inputs = {"left": {"stream": out}, "right": {"stream": right, "tolerance_ns": 10_000_000_000}}
    second = bed.join(bed.config("after", "timestamp", inputs, join={"drive": "input:left"}, mergemap=REALTIME))
    until(lambda: newest_row(bed.journal("after")) >= 0, "rows of the second join")
    for each in (second, *cameras, first):
        each.interrupted()


def test_a_join_by_sequence_passes_on_the_clock_and_the_size_of_the_frames_that_it_publishes(bed: Bed) -> None:
    """A join by time that follows takes its output for what it is."""
    left, right, camera, out = bed.streams(4)
    middle = bed.lockstep(
        "middle", [left, right], out=out, join={"publish": "s0", "wait_consumers": 1}, mergemap=REALTIME
    )
    last = bed.config(
        "last",
        "timestamp",
        {"middle": {"stream": out}, "camera": {"stream": camera, "tolerance_ns": 10_000_000_000}},
        join={"drive": "input:middle"},
        mergemap=REALTIME,
    )
    first, second = bed.join(middle), bed.join(last)
    words = ("--clock", "realtime", "--rate", 100, "--count", 100, "--shape", "1536x1024")
    for stream in (left, right):
        bed.produce(stream, *words)
    bed.produce(camera, "--clock", "realtime", "--rate", 100, "--count", 150, "--shape", "48")
    assert first.summary()["rows"] == 100
    assert second.summary()["rows"] > 50
    bed.audit("middle", left, right)
