# SPDX-License-Identifier: Apache-2.0
"""Journals that fill up, that are taken away, and that hold little."""

from __future__ import annotations

import shutil

from tests.outside.bed import ENVIRONMENT, Bed, apart, until
from tests.outside.rows import read_rows

SLOW_READER = """
import sys, time
import framegate as fg

for row in fg.journal(sys.argv[1]).rows("slow", follow=True):
    print("row", flush=True)
    time.sleep(3600)
"""


def test_a_full_journal_whose_reader_stands_still_waits_and_ends_in_good_order_when_told(bed: Bed) -> None:
    left, right = bed.streams()
    small = {"max_bytes": "8MiB", "segment_bytes": "2MiB", "seal_bytes": "1MiB", "when_full": "block"}
    config = bed.lockstep("full", [left, right], journal=small)
    join = bed.join(config)
    producers = [bed.rate(stream, 500, 1500, "64x128") for stream in (left, right)]
    until(lambda: len(read_rows(bed.journal("full"))) > 1, "rows")
    reader = bed.python(SLOW_READER, bed.journal("full"))
    until(lambda: "row" in reader.text, "a reader that holds rows")
    for each in producers:
        each.summary()
    # What waits lies in rings and copies: nothing of it is lost until the join is told to end.
    until(lambda: "the journal is full" in join.text, "a full journal")
    assert not join.has_ended
    summary = join.interrupted()
    assert all(frames > 0 for frames in summary["unmatched"].values())
    bed.audit("full", left, right)


def test_a_journal_that_is_deleted_ends_its_join(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("deleted", [left, right]))
    for stream in (left, right):
        bed.rate(stream, 200, 1_000_000)
    until(lambda: len(read_rows(bed.journal("deleted"))) > 50, "rows")
    shutil.rmtree(bed.journal("deleted"))
    assert join.ended(10) != 0
    assert "deleted" in join.text


def test_a_second_join_of_the_same_journal_is_refused(bed: Bed) -> None:
    left, right = bed.streams()
    config = bed.lockstep("locked", [left, right])
    first = bed.join(config)
    assert bed.join(config, is_ready=False).ended() == ENVIRONMENT
    first.interrupted()


def test_rows_that_retention_removed_are_still_in_the_books(bed: Bed) -> None:
    left, right = bed.streams()
    small = {"max_bytes": "8MiB", "segment_bytes": "2MiB", "seal_bytes": "1MiB"}
    join = bed.join(bed.lockstep("retained", [left, right], journal=small))
    for stream in (left, right):
        bed.rate(stream, 500, 1200, "64x128")
        apart(0.4)
    rows = join.summary()["rows"]
    there = read_rows(bed.journal("retained"))
    assert 0 < len(there) < rows
    assert bed.audit("retained", left, right)["inputs"]["s0"]["joined"] == rows
    verified = bed.run("journal", "verify", bed.journal("retained"))
    assert verified.ended() == 0
    [counts], [retention] = verified.lines, verified.errors.splitlines()
    assert counts.startswith(f"rows={len(there)} ")
    gone = f"{rows - len(there):,}"
    assert retention.startswith(f"retention removed {gone} rows before these")
    assert retention.endswith(f"s0 {gone}, s1 {gone}")
    listed = bed.run("journal", "ls", bed.journal("retained"))
    assert listed.ended() == 0
    assert f"retention removed the {gone} before them" in listed.text


def test_what_a_fast_input_has_more_than_the_slow_one_is_surplus(bed: Bed) -> None:
    camera, imu = bed.streams()
    inputs: dict[str, dict[str, object]] = {
        "camera": {"stream": camera, "offset_ns": 0},
        "imu": {"stream": imu, "offset_ns": 0, "pick": "nearest", "tolerance_ns": 20_000_000},
    }
    config = bed.config("fast", "timestamp", inputs)
    join = bed.run("join", "--config", config)
    bed.rate(camera, 30, 60, consumers=1)
    bed.rate(imu, 200, 400, consumers=1)
    assert join.ended() == 0
    [surplus] = [line for line in join.lines if "surplus" in line]
    assert "imu" in surplus
    assert "camera" not in surplus
    unmatched = bed.run("journal", "unmatched", bed.journal("fast"), "--json")
    assert unmatched.ended() == 0
    found = unmatched.says(event="summary")
    assert found["surplus"]["imu"] > 300
    assert found["surplus"]["camera"] == 0
    # The books call frames by their causes: surplus is a word for people, and takes nothing away from them.
    books = bed.audit("fast", camera, imu)["inputs"]["imu"]
    assert books["unmatched"]["no_match"] + books["unmatched"].get("superseded", 0) == found["surplus"]["imu"]


def test_a_journal_of_a_slow_camera_is_hardly_larger_than_its_frames(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("slow", [left, right]))
    for stream in (left, right):
        bed.rate(stream, 30, 90, "480x640")
    found = join.summary()
    assert found["journal"]["slack_bytes"] < 0.1 * 90 * 2 * 480 * 640


def test_a_stream_of_small_frames_takes_little_shared_memory(own_bed: Bed) -> None:
    own_bed.driver()
    [stream] = own_bed.streams(1)
    own_bed.rate(stream, 10, 1_000, "48", consumers=0, is_ready=True)
    pool = own_bed.folder / "pool"
    files = [path for path in pool.rglob("*") if path.is_file() and f"/{stream}/" in f"{path}/"]
    assert files
    assert sum(path.stat().st_size for path in files) < 4 << 20
