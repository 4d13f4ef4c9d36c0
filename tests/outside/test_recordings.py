# SPDX-License-Identifier: Apache-2.0
"""Recordings joined without a driver: again, behind one another, and by other rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcap.writer import CompressionType

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


LARGE = 32 << 10
"""Bytes of a payload, so that a journal is soon full."""
SMALL_JOURNAL = {"segment_bytes": "2MiB", "seal_bytes": "512KiB"}
MANY = 1200


def long_recording(bed: Bed) -> Path:
    topics = {topic: ticks(MANY, 10 * MS, payload_bytes=LARGE) for topic in ("/cam", "/imu")}
    return write_recording(bed.folder / "long.mcap", topics, chunk_bytes=1 << 20)


@pytest.mark.parametrize("when_full", ["drop_oldest", "block"])
def test_a_journal_without_a_bound_keeps_every_row(bed: Bed, when_full: str) -> None:
    # More than a live join keeps by default.
    frames, payload_bytes = 580, 1 << 20
    topics = {topic: ticks(frames, 10 * MS, payload_bytes=payload_bytes) for topic in ("/cam", "/imu")}
    file = write_recording(bed.folder / "long.mcap", topics, compression=CompressionType.ZSTD)
    join = joined(bed, bed.lockstep("all", [10_001, 10_002], journal={"when_full": when_full}), file)
    assert join.summary()["rows"] == frames
    assert seqs(bed.journal("all"), "s0", "s1") == [(seq, seq) for seq in range(frames)]
    assert "drops its oldest" not in join.text


@pytest.mark.parametrize("when_full", ["drop_oldest", "block"])
@pytest.mark.parametrize("policy", ["sequence", "timestamp"])
def test_a_full_journal_ends_the_join_with_every_row_so_far_and_a_larger_one_goes_on(
    bed: Bed, when_full: str, policy: str
) -> None:
    file = long_recording(bed)

    def config(max_bytes: str) -> Path:
        bound = {**SMALL_JOURNAL, "when_full": when_full, "max_bytes": max_bytes}
        inputs = {name: {"stream": 10_001 + k} for k, name in enumerate(("s0", "s1"))}
        return bed.config("bounded", policy, inputs, out=20_001, journal=bound)

    full = joined(bed, config("16MiB"), file)
    assert full.ended() == 1
    error = full.says(event="error", code=427)
    there = seqs(bed.journal("bounded"), "s0", "s1")
    assert 100 < len(there) < MANY
    assert there == [(seq, seq) for seq in range(len(there))]
    position = full.says(event="summary")["position"]
    assert f"position {position}" in error["message"]
    assert 2 * len(there) <= position < 2 * MANY
    assert bed.run("journal", "verify", bed.journal("bounded")).ended() == 0
    # Once more with the same bound: it is full soon, and drops nothing.
    assert joined(bed, config("16MiB"), file).ended() == 1
    there = seqs(bed.journal("bounded"), "s0", "s1")
    assert there == [(seq, seq) for seq in range(len(there))]
    again = joined(bed, config("1GiB"), file).summary()
    assert (again["rows"], again["rows_before"]) == (MANY - len(there), len(there))
    assert seqs(bed.journal("bounded"), "s0", "s1") == [(seq, seq) for seq in range(MANY)]


def untouched(bed: Bed, name: str) -> dict[str, bytes]:
    """Every file of a journal."""
    return {str(path): path.read_bytes() for path in bed.journal(name).rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", ["another kind", "a log of a drone", "streams of a lab", "nothing", "missing"])
def test_a_file_that_is_no_recording_is_refused_before_anything_is_touched(bed: Bed, what: str) -> None:
    config = bed.lockstep("kept", [10_001, 10_002])
    joined(bed, config, recording(bed, "a.mcap")).summary()
    before = untouched(bed, "kept")
    content = {
        "another kind": bytes(range(256)) * 40,
        "a log of a drone": b"ULog\x01\x12\x35\x01" + bytes(range(256)) * 9,
        "streams of a lab": b'XDF:\x01\x54\x01\x00<?xml version="1.0"?><info></info>' + bytes(500),
        "nothing": b"",
    }
    file = bed.folder / "other"
    if what in content:
        file.write_bytes(content[what])
    refused = joined(bed, config, file, "--new-epoch")
    error = refused.says(event="error")
    if what in ("nothing", "missing"):
        assert (refused.ended(), error["code"]) in [(1, 802), (1, 803)]
    else:
        assert (refused.ended(), error["code"]) == (USAGE, 807)
    assert "topic" not in refused.text
    assert untouched(bed, "kept") == before


@pytest.mark.parametrize(
    ("topics", "wrong"),
    [(("--map", "/cam=10001", "--map", "/gyro=10002"), "/gyro"), ((), "10001"), (("--map", "/cam=10001"), "10002")],
    ids=["a wrong topic", "no map", "half a map"],
)
def test_what_the_recording_lacks_is_refused_with_the_topics_that_it_has(
    bed: Bed, topics: tuple[str, ...], wrong: str
) -> None:
    config = bed.lockstep("lacking", [10_001, 10_002])
    refused = joined(bed, config, recording(bed, "a.mcap"), topics=topics)
    assert refused.ended() == USAGE
    error = refused.says(event="error", code=808)
    assert wrong in str(error["facts"])
    assert "/cam" in error["hint"]
    assert "/imu" in error["hint"]
    assert not bed.journal("lacking").exists()


def test_a_replay_is_refused_what_the_recording_lacks_as_a_join_is(bed: Bed) -> None:
    bed.driver()
    refused = bed.run("replay", recording(bed, "a.mcap"), "--map", "/gyro=10001", "--json")
    assert refused.ended() == USAGE
    assert "/imu" in refused.says(event="error", code=808)["hint"]


def test_no_row_from_inputs_with_frames_is_a_failure_that_names_the_likeliest_cause(bed: Bed) -> None:
    topics = {"/cam": ticks(50, 10 * MS), "/imu": ticks(50, 10 * MS, first_ns=START_NS + HOUR_NS)}
    file = write_recording(bed.folder / "apart.mcap", topics)
    config = as_of(bed, "apart", 5 * MS)
    failed = joined(bed, config, file)
    assert failed.ended() == 1
    assert failed.says(event="summary")["rows"] == 0
    assert "the timestamps of cam" in failed.says(event="error", code=425)["message"]
    lenient = joined(bed, config, file, "--no-strict", "--new-epoch")
    assert lenient.ended() == 0
    assert "the timestamps of cam" in lenient.text


def test_a_live_join_without_rows_warns_and_fails_where_it_is_strict(bed: Bed) -> None:
    bed.driver()
    for words, code in (((), 0), (("--strict",), 1)):
        left, right = bed.streams()
        join = bed.join(bed.lockstep(f"live{code}", [left, right]), *words)
        bed.rate(left, 200, 50)
        bed.play(right, [(5 * k, 1000 + k, k) for k in range(50)])
        assert join.ended() == code
        assert "there is no row" in join.text


@pytest.mark.parametrize("policy", ["sequence", "timestamp", "union"])
def test_a_join_that_was_told_to_stop_goes_on_without_a_gap(bed: Bed, policy: str) -> None:
    inputs = {name: {"stream": 10_001 + k} for k, name in enumerate(("s0", "s1"))}
    file = recording(bed, "a.mcap")
    for outputs in (100, 33):
        stopped = joined(bed, bed.config("parts", policy, inputs, out=20_001), file, "--outputs", outputs).summary()
        assert stopped["rows"] == outputs
    rest = joined(bed, bed.config("parts", policy, inputs, out=20_001), file).summary()
    assert rest["rows_before"] == 133
    joined(bed, bed.config("whole", policy, inputs, out=20_001), file).summary()
    parts, whole = (seqs(bed.journal(name), "s0", "s1") for name in ("parts", "whole"))
    assert parts == whole


def test_the_summary_lists_what_could_not_be_done_by_number(bed: Bed) -> None:
    config, file = bed.lockstep("numbers", [10_001, 10_002]), recording(bed, "a.mcap")
    assert joined(bed, config, file).summary()["problems"] == []
    apart = {"/cam": ticks(5, MS), "/imu": []}
    write_recording(bed.folder / "silent.mcap", apart)
    silent = joined(bed, config, bed.folder / "silent.mcap", "--new-epoch", "--no-strict")
    [problem] = silent.summary()["problems"]
    assert (problem["code"], problem["name"]) == (425, "NO_ROWS")
    assert "s1 had no frame" in problem["message"]


def test_a_recording_that_was_moved_is_restored_and_another_of_its_name_is_not(bed: Bed) -> None:
    long = {topic: ticks(20 * FRAMES, 10 * MS) for topic in ("/cam", "/imu")}
    file = write_recording(bed.folder / "a.mcap", long)
    config = bed.lockstep("restored", [10_001, 10_002], checkpoint={"interval_ms": 1})
    words = ("--checkpoints", "kept")
    stopped = joined(bed, config, file, *words, "--outputs", 10 * FRAMES).summary()
    assert stopped["checkpoints_taken"] > 0
    (bed.folder / "elsewhere").mkdir()
    moved = file.rename(bed.folder / "elsewhere" / "b.mcap")
    other = recording(bed, "a.mcap", first_ns=START_NS + HOUR_NS)
    assert joined(bed, config, other, *words, "--restore", "latest").ended() == USAGE
    rest = joined(bed, config, moved, *words, "--restore", "latest").summary()
    assert rest["restored_from"] is not None
    assert seqs(bed.journal("restored"), "s0", "s1") == [(seq, seq) for seq in range(20 * FRAMES)]
