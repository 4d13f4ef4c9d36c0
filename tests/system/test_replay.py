# SPDX-License-Identifier: Apache-2.0
"""`framegate replay` and `framegate join --from`: one recording gives the same rows, whichever way it is joined."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.journal import Journal
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE

from tests.system.conftest import Program, System
from tests.system.join_bed import LEFT, PAIR, RIGHT, JoinBed, assert_payloads_are_the_frames, summary_of
from tests.system.journal_table import read_rows

SHAPE = "16x32"
FRAMES = 300


class ReplayBed:
    """A driver, a recording of two streams, and the joins of it."""

    def __init__(self, system: System, shm: Path) -> None:
        self.system = system
        self.joins = JoinBed(system, shm)
        self.file = shm / "joins" / "out.mcap"

    def record(self, *words: str) -> Program:
        told = ("record", str(self.file), "--streams", f"{LEFT},{RIGHT}", "--payload", "--json", *words)
        recorder = self.system.framegate(*told, *self.joins.pool.places)
        recorder.says(event="ready")
        return recorder

    def produce(self, stream: int, consumers: int, *words: str, frames: int = FRAMES) -> Program:
        fixed = ("--count", str(frames), "--shape", SHAPE, "--end", "--wait-consumers", str(consumers), "--json")
        pace = () if "--rate" in words else ("--rate", "1000")
        return self.joins.pool.produce(*fixed, *pace, *words, stream=stream)

    def recorded_live(self, config: Path) -> dict[str, Any]:
        """Two streams, recorded and joined at once; the join's summary."""
        self.joins.start_driver()
        recorder, agent = self.record(), self.joins.join(config)
        producers = [self.produce(stream, 2) for stream in (LEFT, RIGHT)]
        assert [producer.wait() for producer in producers] == [DONE, DONE]
        assert summary_of(recorder)["complete"]
        return summary_of(agent)

    def replay(self, *words: str) -> Program:
        return self.system.framegate("replay", str(self.file), *self.joins.pool.places, "--json", *words)

    def replayed(self, config: Path, *words: str) -> dict[str, Any]:
        """Replay to a join until both have ended; the replay's summary."""
        agent = self.joins.join(config)
        replay = self.replay("--wait-consumers", "1", "--end", *words)
        summary = summary_of(replay)
        assert sum(summary_of(agent)["overwritten"].values()) == 0
        return summary

    def joined_from(self, config: Path, *words: str) -> dict[str, Any]:
        """Join the file itself; the join's summary."""
        return summary_of(
            self.system.framegate("join", "--config", str(config), "--from", str(self.file), "--json", *words)
        )

    def journal(self, name: str) -> Journal:
        return Journal(self.joins.journal(name))


@pytest.fixture
def bed(system: System, shm: Path) -> ReplayBed:
    return ReplayBed(system, shm)


def assert_same(*journals: Journal) -> None:
    first = journals[0]
    for other in journals[1:]:
        found = diff(first, other)
        assert found.is_empty, (first.path, other.path, found.lost[:3], found.gained[:3], found.changed[:3])


def test_a_recording_gives_the_rows_of_the_live_run_replayed_at_full_speed_and_joined_from_the_file(
    bed: ReplayBed,
) -> None:
    # The producers do not begin at one moment: the frames of the first must outlast its lease.
    live = bed.recorded_live(bed.joins.lockstep("live", keys={"pending": "copy"}))
    assert (live["rows"], sum(live["overwritten"].values())) == (FRAMES, 0)
    check = str(bed.joins.journal("live"))
    replayed = bed.replayed(bed.joins.lockstep("first"), "--speed", "max", "--check", check)
    assert (replayed["frames"], replayed["left_out"], replayed["damage"]) == (2 * FRAMES, {}, None)
    assert (replayed["check"]["is_same"], replayed["check"]["cells"]) == (True, 2 * FRAMES)
    assert (replayed["check"]["not_joined"], replayed["check"]["unchecked"]) == (0, 0)
    joined = bed.joined_from(bed.joins.lockstep("offline"))
    assert (joined["rows"], joined["frames"], joined["left_out"]) == (FRAMES, 2 * FRAMES, {})
    assert_payloads_are_the_frames(bed.joins.journal("offline"), PAIR)
    assert_same(*(bed.journal(name) for name in ("live", "first", "offline")))


def by_time(bed: ReplayBed, name: str) -> Path:
    """Every left frame with the nearest right one before it."""
    text = (
        '[join]\nout_stream = 20001\npolicy = "timestamp"\ndrive = "input:left"\njournal = JOURNAL\npending = "copy"\n'
    )
    text += f'\n[[input]]\nname = "left"\nstream = {LEFT}\noffset_ns = 0\n'
    text += f'\n[[input]]\nname = "right"\nstream = {RIGHT}\noffset_ns = 0\n'
    return bed.joins.configure(text, name)


@pytest.mark.long
@pytest.mark.parametrize("policy", ["sequence", "timestamp"])
def test_replayed_again_and_again_a_recording_gives_the_same_rows(bed: ReplayBed, policy: str) -> None:
    config = by_time if policy == "timestamp" else lambda bed, name: bed.joins.lockstep(name, keys={"pending": "copy"})
    live = bed.recorded_live(config(bed, "live"))
    assert live["rows"] > FRAMES // 2
    for name, speed in (("once", "1"), ("fast", "4"), ("max", "max"), ("again", "max")):
        bed.replayed(config(bed, name), "--speed", speed)
    bed.joined_from(config(bed, "offline"))
    names = ["once", "fast", "max", "again", "offline"]
    if sum(live["overwritten"].values()) == 0:
        names.insert(0, "live")
    assert_same(*(bed.journal(name) for name in names))


def test_a_stream_that_has_a_producer_refuses_the_replay_plainly(bed: ReplayBed) -> None:
    bed.joins.start_driver()
    recorder = bed.record()
    producers = [bed.produce(stream, 1, frames=10) for stream in (LEFT, RIGHT)]
    assert [producer.wait() for producer in producers] == [DONE, DONE]
    summary_of(recorder)
    living = bed.joins.pool.produce("--rate", "10", "--shape", SHAPE, "--json", stream=RIGHT)
    living.says(event="ready")
    replay = bed.replay()
    assert replay.wait() == FAILED, replay
    error = replay.says(event="error")
    assert error["name"] == "ATTACH_REFUSED"
    assert f"stream {RIGHT} has a producer" in error["message"]
    assert living.children() == []
    living.send(signal.SIGINT)
    assert living.wait() == DONE


def test_a_replay_goes_on_at_the_position_that_another_printed_and_loops_are_epochs(bed: ReplayBed) -> None:
    bed.joins.start_driver()
    recorder = bed.record()
    producers = [bed.produce(stream, 1, frames=40) for stream in (LEFT, RIGHT)]
    assert [producer.wait() for producer in producers] == [DONE, DONE]
    summary_of(recorder)
    # A position in the middle: what the file's reader counts up to the tenth frame.
    whole = summary_of(bed.replay("--speed", "max"))
    assert whole["frames"] == 80
    half = whole["position"] // 2
    rest = summary_of(bed.replay("--speed", "max", "--from-position", str(half)))
    assert 0 < rest["frames"] < 80
    assert rest["position"] == whole["position"]
    agent = bed.joins.join(bed.joins.lockstep("looped"))
    looped = summary_of(bed.replay("--speed", "max", "--loop", "2", "--wait-consumers", "1", "--end"))
    assert (looped["frames"], looped["loops"]) == (160, 2)
    joined = summary_of(agent)
    assert joined["rows"] == 80, joined
    rows = read_rows(bed.joins.journal("looped"))
    assert [row.out_seq for row in rows] == [*range(40), *range(40)]
    assert sorted({row.out_epoch for row in rows}) == sorted({rows[0].out_epoch, rows[-1].out_epoch})
    assert rows[0].out_epoch != rows[-1].out_epoch


def test_frames_that_another_program_recorded_are_published_and_joined(bed: ReplayBed) -> None:
    from tests.unit.recording.foreign_world import camera_file

    images = [np.full((4, 6, 3), index, np.uint8) for index in range(20)]
    bed.file.write_bytes(camera_file(images))
    config = bed.joins.lockstep("camera", inputs={"camera": LEFT})
    joined = bed.joined_from(config, "--map", f"/camera/image={LEFT}")
    assert (joined["rows"], joined["not_images"]) == (20, 0)
    rows = list(Journal(bed.joins.journal("camera")).rows())
    assert all(np.array_equal(row["camera"], image) for row, image in zip(rows, images, strict=True))
    bed.joins.start_driver()
    replayed = bed.replayed(bed.joins.lockstep("live", inputs={"camera": LEFT}), "--map", f"/camera/image={LEFT}")
    assert replayed["frames"] == 20
    assert_same(bed.journal("camera"), bed.journal("live"))


def test_a_start_at_two_places_is_wrong_usage(bed: ReplayBed) -> None:
    program = bed.system.framegate("replay", "none.mcap", "--from-ns", "5", "--from-position", "5")
    assert program.wait() == WRONG_USAGE
