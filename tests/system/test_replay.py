# SPDX-License-Identifier: Apache-2.0
"""`framegate replay` and `framegate join --from`: one recording gives the same rows, whichever way it is joined."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.readers import NamedReader
from framegate.recording.frames import FrameOfRecording, Passage
from framegate.recording.reader import Recording
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE
from framegate.shmpool.layout.region_numbers import SLOT_BYTES, SUPERBLOCK_BYTES
from framegate.tools.replay.check import FirstDifference, check_journal

from tests.system.conftest import System
from tests.system.join_bed import (
    LEFT,
    PAIR,
    RIGHT,
    SLOTS,
    assert_payloads_are_the_frames,
    summary_of,
)
from tests.system.journal_table import read_rows
from tests.system.replay_bed import FRAMES, SHAPE, ReplayBed, assert_same
from tests.unit.recording.foreign_world import camera_file
from tests.unit.recording.recording_world import START_NS, Made
from tests.unit.recording.replay_frames import frame, numbered


@pytest.fixture
def bed(system: System, shm: Path) -> ReplayBed:
    return ReplayBed(system, shm)


def test_a_recording_gives_the_rows_of_the_live_run_replayed_at_full_speed_and_joined_from_the_file(
    bed: ReplayBed,
) -> None:
    live = bed.recorded_live(bed.joins.lockstep("live"))
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
    text = '[join]\nout_stream = 20001\npolicy = "timestamp"\ndrive = "input:left"\njournal = JOURNAL\n'
    text += f'\n[[input]]\nname = "left"\nstream = {LEFT}\noffset_ns = 0\n'
    text += f'\n[[input]]\nname = "right"\nstream = {RIGHT}\noffset_ns = 0\n'
    return bed.joins.configure(text, name)


@pytest.mark.long
@pytest.mark.parametrize("policy", ["sequence", "timestamp"])
def test_replayed_again_and_again_a_recording_gives_the_same_rows(bed: ReplayBed, policy: str) -> None:
    config = by_time if policy == "timestamp" else lambda bed, name: bed.joins.lockstep(name)
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
    written(bed, 10)
    bed.joins.start_driver()
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


def written(bed: ReplayBed, frames: int, array: Callable[[int], npt.NDArray[np.uint16]] = numbered) -> None:
    """A recording of two streams that take turns; ``array``: of a sequence."""
    messages = [
        message
        for seq in range(frames)
        for stream in (LEFT, RIGHT)
        for message in frame(seq, array(seq), stream=stream)
    ]
    bed.file.write_bytes(Made(is_one_time_a_frame=True).file(messages))


def frames_of(file: Path) -> list[tuple[object, ...]]:
    """What the frames of a recording are, by stream and sequence."""
    with Recording.open(file) as recording:
        items = [item for item in Passage(recording) if isinstance(item, FrameOfRecording)]
    items.sort(key=lambda item: (item.stream, item.seq))
    names = ("stream", "seq", "timestamp_ns", "descriptor_timestamp_ns", "trace_id", "tensor", "strides", "payload")
    return [tuple(getattr(item, name) for name in names) for item in items]


def test_a_recording_of_a_replay_has_the_frames_of_the_recording(bed: ReplayBed) -> None:
    # When a frame was taken, and when it was announced, are two times.
    messages = [
        message
        for seq in range(30)
        for stream in (LEFT, RIGHT)
        for message in frame(seq, numbered(seq), stream=stream, timestamp_ns=7_000_000 + seq)
    ]
    bed.file.write_bytes(Made(is_one_time_a_frame=True).file(messages))
    bed.joins.start_driver()
    again = bed.file.with_name("again.mcap")
    words = ("--streams", f"{LEFT},{RIGHT}", "--payload", "--json", *bed.joins.pool.places)
    recorder = bed.system.framegate("record", str(again), *words)
    recorder.says(event="ready")
    assert summary_of(bed.replay("--speed", "max", "--wait-consumers", "1", "--end"))["frames"] == 60
    assert summary_of(recorder)["complete"]
    wanted = frames_of(bed.file)
    assert [each[3] for each in wanted[:3]] == [0, 1_000, 2_000]
    assert frames_of(again) == wanted


def test_loops_are_epochs(bed: ReplayBed) -> None:
    # More than both rings hold: the agent cannot have missed a whole loop when it hears that one began.
    frames = 3 * SLOTS
    written(bed, frames)
    bed.joins.start_driver()
    agent = bed.joins.join(bed.joins.lockstep("looped"))
    looped = summary_of(bed.replay("--speed", "max", "--loop", "2", "--wait-consumers", "1", "--end"))
    assert (looped["frames"], looped["loops"]) == (4 * frames, 2)
    # The right stream begins anew a moment after the left one, which waits for it.
    assert summary_of(agent)["causes"] == {"left": {}, "right": {}}
    rows = read_rows(bed.joins.journal("looped"))
    assert [row.out_seq for row in rows] == [*range(frames), *range(frames)]
    assert rows[0].out_epoch < rows[-1].out_epoch


def test_a_replay_begins_at_the_position_that_another_printed_or_at_a_log_time(bed: ReplayBed) -> None:
    written(bed, 40)
    bed.joins.start_driver()
    whole = bed.replayed(bed.joins.lockstep("whole"), "--speed", "max")
    assert (whole["frames"], whole["position"]) == (80, 240)
    rest = bed.replayed(bed.joins.lockstep("rest"), "--speed", "max", "--from-position", "120")
    assert (rest["frames"], rest["position"]) == (40, 240)
    assert [row.out_seq for row in read_rows(bed.joins.journal("rest"))] == [*range(20, 40)]
    assert [row.inputs["left"].payload for row in read_rows(bed.joins.journal("rest"), payloads=True)] == [
        numbered(seq).tobytes() for seq in range(20, 40)
    ]
    # A frame's three messages have one time, a microsecond for each of them before the next frame's.
    timed = bed.replayed(bed.joins.lockstep("timed"), "--speed", "max", "--from-ns", str(START_NS + 60 * 3_000 - 1))
    assert (timed["frames"], timed["position"]) == (20, 240)
    assert [row.out_seq for row in read_rows(bed.joins.journal("timed"))] == [*range(30, 40)]


LOOKS = 20


def newest_published(shm: Path, stream: int) -> int:
    """The newest sequence in any ring of the stream."""
    rings = [path.read_bytes() for path in shm.rglob(f"{stream}/*/header.ring")]
    words = [ring[at : at + 8] for ring in rings for at in range(SUPERBLOCK_BYTES, len(ring), SLOT_BYTES)]
    return max((int.from_bytes(word, "little") >> 1 for word in words), default=-1)


def test_at_full_speed_a_replay_waits_for_a_join_whose_journal_is_full(system: System, shm: Path) -> None:
    """The agent goes on hearing, for the sake of living cameras; what it heard is not read before there is room."""
    bed = ReplayBed(system, shm, slots=64)
    written(bed, 1500, lambda seq: np.full((16, 32), seq, np.uint16))
    bed.joins.start_driver()
    sizes = {"max_bytes": "1MiB", "segment_bytes": "256KiB", "seal_bytes": "64KiB", "when_full": "block"}
    agent = bed.joins.join(bed.joins.lockstep("full", journal=sizes))
    journal = bed.joins.journal("full")
    reader = NamedReader.claim(journal, "slow", journal_epoch=agent.says(event="ready")["journal_epoch"])
    replay = bed.replay("--speed", "max", "--wait-consumers", "1", "--end")
    agent.until(lambda: "the journal is full" in agent.stderr, "full")
    looks: deque[int] = deque(maxlen=LOOKS)

    def served() -> bool:
        # Only when the replay stands still: a reader that is quick would hide that it did not wait.
        looks.append(newest_published(shm, LEFT))
        if len(looks) == LOOKS and len(set(looks)) == 1:
            looks.clear()
            reader.commit(Journal(journal).sealed_row)
        return any(each["event"] == "summary" for each in agent.objects())

    agent.until(served, "served to its end")
    said = summary_of(replay)
    assert sum(each["paused"] for each in said["streams"]) > 0
    joined = summary_of(agent)
    assert (joined["rows"], sum(joined["overwritten"].values())) == (1500, 0)


def test_frames_that_another_program_recorded_are_joined(bed: ReplayBed) -> None:
    images = [np.full((4, 6, 3), index, np.uint8) for index in range(20)]
    bed.file.write_bytes(camera_file(images))
    config = bed.joins.lockstep("camera", inputs={"camera": LEFT})
    joined = bed.joined_from(config, "--map", f"/camera/image={LEFT}")
    assert (joined["rows"], joined["not_images"]) == (20, 0)
    rows = list(Journal(bed.joins.journal("camera")).rows())
    assert all(np.array_equal(row["camera"], image) for row, image in zip(rows, images, strict=True))


@pytest.mark.long
def test_a_live_replay_of_another_programs_frames_gives_the_same_rows(bed: ReplayBed) -> None:
    bed.file.write_bytes(camera_file([np.full((4, 6, 3), index, np.uint8) for index in range(20)]))
    bed.joined_from(bed.joins.lockstep("camera", inputs={"camera": LEFT}), "--map", f"/camera/image={LEFT}")
    bed.joins.start_driver()
    replayed = bed.replayed(bed.joins.lockstep("live", inputs={"camera": LEFT}), "--map", f"/camera/image={LEFT}")
    assert replayed["frames"] == 20
    assert_same(bed.journal("camera"), bed.journal("live"))


def test_a_journal_that_is_not_of_the_recording_is_told_by_its_first_difference(bed: ReplayBed) -> None:
    written(bed, 10)
    assert bed.joined_from(bed.joins.lockstep("joined"))["rows"] == 10
    journal = bed.joins.journal("joined")
    assert check_journal(journal, bed.file, {}).is_same
    lefts = [each for seq in range(10) for each in frame(seq, numbered(seq + (seq == 5)), stream=LEFT)]
    rights = [each for seq in range(10) for each in frame(seq, numbered(seq), stream=RIGHT)]
    bed.file.write_bytes(Made(is_one_time_a_frame=True).file(lefts + rights))
    found = check_journal(journal, bed.file, {})
    assert found.first_difference == FirstDifference(5, 5, "left", 5, "payload differs")
    assert (found.cells, found.not_joined) == (19, 0)
    bed.file.write_bytes(Made(is_one_time_a_frame=True).file(lefts))
    missing = check_journal(journal, bed.file, {}).first_difference
    assert missing == FirstDifference(0, 0, "right", 0, "the recording has no such frame")


def test_a_start_at_two_places_is_wrong_usage(bed: ReplayBed) -> None:
    program = bed.system.framegate("replay", "none.mcap", "--from-ns", "5", "--from-position", "5")
    assert program.wait() == WRONG_USAGE
