# SPDX-License-Identifier: Apache-2.0
"""Recordings joined without a driver: again, behind one another, and by other rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.bed import USAGE, Bed, Process
from tests.outside.recordings import MS, START_NS, nearest_before, ticks, write_recording
from tests.outside.rows import read_rows, seqs

FRAMES = 400
TOPICS = ("--map", "/cam=10001", "--map", "/imu=10002")
HOUR_NS = 3_600_000_000_000


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A bed without a driver: nobody is asked."""
    with Bed() as bed:
        yield bed


def recording(bed: Bed, name: str, *, first_ns: int = START_NS, frames: int = FRAMES) -> Path:
    """Two topics in step."""
    topics = {topic: ticks(frames, 10 * MS, first_ns=first_ns) for topic in ("/cam", "/imu")}
    return write_recording(bed.folder / name, topics)


def joined(bed: Bed, config: Path, file: Path, *words: object, topics: tuple[str, ...] = TOPICS) -> Process:
    join = bed.run("join", "--config", config, "--from", file, *topics, "--json", *words)
    join.ended()
    return join


def as_of(bed: Bed, name: str, tolerance_ns: int) -> Path:
    inputs = {
        "cam": {"stream": 10_001},
        "imu": {"stream": 10_002, "tolerance_ns": tolerance_ns},
    }
    return bed.config(name, "timestamp", inputs, out=20_001)


def test_a_recording_that_is_joined_again_is_done_and_says_so(bed: Bed) -> None:
    file, config = recording(bed, "a.mcap"), bed.lockstep("again", [10_001, 10_002])
    assert joined(bed, config, file).summary()["rows"] == FRAMES
    again = joined(bed, config, file).summary()
    assert (again["rows"], again["rows_before"]) == (0, FRAMES)
    # Also under another name, and in words for people.
    file.rename(bed.folder / "moved.mcap")
    told = bed.run("join", "--config", config, "--from", bed.folder / "moved.mcap", *TOPICS)
    assert told.ended() == 0
    assert f"{FRAMES} rows were there already" in told.text
    assert len(read_rows(bed.journal("again"))) == FRAMES


@pytest.mark.parametrize("later_ns", [HOUR_NS, -HOUR_NS], ids=["newer", "older"])
def test_another_recording_is_refused_and_joined_behind_the_rows_when_told(bed: Bed, later_ns: int) -> None:
    first, second = recording(bed, "a.mcap"), recording(bed, "b.mcap", first_ns=START_NS + later_ns)
    config = bed.lockstep("two", [10_001, 10_002])
    assert joined(bed, config, first).summary()["rows"] == FRAMES
    before = (bed.journal("two") / "journal.json").read_bytes()
    refused = joined(bed, config, second)
    assert refused.ended() == USAGE
    for word in ("421", "a.mcap", "b.mcap", "--append", "--new-epoch"):
        assert word in refused.text
    assert (bed.journal("two") / "journal.json").read_bytes() == before
    assert joined(bed, config, second, "--append").summary()["rows"] == FRAMES
    rows = read_rows(bed.journal("two"))
    assert [row["row"] for row in rows] == list(range(2 * FRAMES))
    in_step = [(seq, seq) for seq in range(FRAMES)]
    assert seqs(bed.journal("two"), "s0", "s1") == in_step + in_step
    times = [row["s0"]["timestamp_ns"] for row in rows]
    assert times[FRAMES] - times[0] == later_ns
    keys = {(row["s0"]["epoch"], row["s0"]["seq"]) for row in rows}
    assert len(keys) == 2 * FRAMES
    # Each of them once more: both are there.
    for file in (first, second):
        again = joined(bed, config, file, "--append").summary()
        assert (again["rows"], again["rows_before"]) == (0, FRAMES)
    assert bed.run("journal", "verify", bed.journal("two")).ended() == 0
    # In a new epoch the other one stands alone.
    assert joined(bed, config, first, "--new-epoch").summary()["rows"] == FRAMES
    assert len(read_rows(bed.journal("two"))) == FRAMES


def test_other_rules_are_refused_by_name_and_make_a_new_epoch_when_told(bed: Bed) -> None:
    cam, imu = ticks(FRAMES, 10 * MS), ticks(FRAMES // 3, 33 * MS, first_ns=START_NS + 3 * MS)
    file = write_recording(bed.folder / "a.mcap", {"/cam": cam, "/imu": imu})
    assert joined(bed, as_of(bed, "rules", 12 * MS), file).summary()["rows"] == len(nearest_before(cam, imu, 12 * MS))
    moved = joined(bed, as_of(bed, "rules", 12 * MS), file, topics=("--map", "/cam=10002", "--map", "/imu=10001"))
    assert moved.ended() == USAGE
    assert "/cam" in moved.text
    changed = as_of(bed, "rules", 30 * MS)
    refused = joined(bed, changed, file)
    assert refused.ended() == USAGE
    for word in ("imu.tolerance_ns", str(12 * MS), str(30 * MS), "--new-epoch"):
        assert word in refused.text
    assert joined(bed, changed, file, "--new-epoch").summary()["rows"] == len(nearest_before(cam, imu, 30 * MS))
    assert seqs(bed.journal("rules"), "cam", "imu") == nearest_before(cam, imu, 30 * MS)


def test_a_journal_that_does_not_know_its_recording_is_accepted_and_learns_it(bed: Bed) -> None:
    file, config = recording(bed, "a.mcap"), bed.lockstep("old", [10_001, 10_002])
    joined(bed, config, file).summary()
    path = bed.journal("old") / "journal.json"
    said = json.loads(path.read_text())
    del said["recordings"]
    path.write_text(json.dumps(said))
    assert joined(bed, config, file).summary()["rows_before"] == FRAMES
    assert joined(bed, config, recording(bed, "b.mcap", first_ns=START_NS + 1)).ended() == USAGE
