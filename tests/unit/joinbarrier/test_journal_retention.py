# SPDX-License-Identifier: Apache-2.0
"""A journal is bounded: its oldest segments go, their files are used again, and no reader sees that happen."""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path
from typing import Final

from tests.unit.joinbarrier.journal_writing import (
    SEGMENT_BYTES,
    WAIT_S,
    append,
    batches,
    cell,
    files,
    rows,
    small_writer,
)

_FRAME: Final = 5000
_ROWS: Final = 120


def _payload(seq: int) -> bytes:
    return bytes([seq % 251]) * _FRAME


def size_of(entry: os.DirEntry[str]) -> int:
    """Of a segment; files are renamed behind the writer's back."""
    try:
        return 0 if entry.name.startswith("retired") else entry.stat().st_size
    except FileNotFoundError:
        return 0


def test_the_newest_rows_stay_and_the_files_stay_within_the_bound(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    for seq in range(_ROWS):
        append(writer, {"a": cell(_payload(seq), seq)}, out_seq=seq)
        with os.scandir(folder / "segments") as entries:
            held = sum(map(size_of, entries))
        assert held <= 4 * SEGMENT_BYTES
    writer.close()
    found = rows(folder)
    assert found[0]["row"] > 0
    assert [row["row"] for row in found] == list(range(found[0]["row"], _ROWS))
    assert all(row["a"]["payload"] == _payload(row["row"]) for row in found)


def test_a_recycled_file_never_shows_a_batch_of_its_earlier_use(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    generations = set()
    for seq in range(_ROWS):
        append(writer, {"a": cell(_payload(seq), seq)}, out_seq=seq)
        writer.seal()
        (open_one,) = (path for path in files(folder) if path.suffix == ".open")
        found = batches(open_one)
        assert [row["row"] for sealed in found for row in sealed.batch.to_pylist()][-1] == seq
        generations |= {sealed.numbers["generation"] for sealed in found}
        assert len({sealed.numbers["generation"] for sealed in found}) == 1
    assert max(generations) > 2
    assert writer.counters()["segments_recycled"] > 3


def test_a_file_that_an_earlier_writer_left_gets_a_higher_generation_when_it_is_used_again(folder: Path) -> None:
    """A file is known by its inode, whatever it is called; its generation is in its header and in every batch."""
    writer = small_writer(folder, ["a"])
    for seq in range(_ROWS):
        append(writer, {"a": cell(_payload(seq), seq)})
    writer.close()
    left = {path.stat().st_ino: batches(path)[0].numbers["generation"] for path in files(folder)}
    assert max(left.values()) > 2
    writer = small_writer(folder, ["a"])
    used: dict[int, int] = {}
    for seq in range(_ROWS, 2 * _ROWS):
        append(writer, {"a": cell(_payload(seq), seq)})
        writer.seal()
        (open_one,) = (path for path in files(folder) if path.suffix == ".open")
        used.setdefault(open_one.stat().st_ino, batches(open_one)[0].numbers["generation"])
    again = left.keys() & used.keys()
    assert again
    assert all(used[inode] > left[inode] for inode in again), (left, used)


def test_a_segment_that_a_reader_holds_is_dropped_and_not_written_again(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    seq = 0
    while not (finished := [path for path in files(folder) if path.suffix == ".arrow"]):
        append(writer, {"a": cell(_payload(seq), seq)})
        seq += 1
    with finished[0].open("rb") as held, mmap.mmap(held.fileno(), 0, access=mmap.ACCESS_READ) as view:
        fcntl.flock(held, fcntl.LOCK_SH)
        before = bytes(view)
        for _ in range(_ROWS):
            append(writer, {"a": cell(_payload(seq), seq)})
            seq += 1
        assert not finished[0].exists()
        assert bytes(view) == before
    assert writer.counters()["segments_held"] == 1


def test_a_blocked_writer_goes_on_when_the_reader_has_read_on(folder: Path) -> None:
    writer = small_writer(folder, ["a"], when_full="block")
    writer.set_floor(0)
    seq = 0
    while (outcome := writer.append({"a": cell(_payload(seq), seq)})) != "full" or writer.wait_for_segment(WAIT_S):
        if outcome == "seal_first":
            writer.seal()
        seq += outcome == "ready"
    assert writer.counters()["first_row"] == 0
    assert writer.counters()["blocked"] > 0
    last_of_the_first = batches(files(folder)[0])[-1]
    behind = last_of_the_first.numbers["first_row"] + last_of_the_first.numbers["rows"]
    writer.set_floor(behind - 1)
    assert not writer.wait_for_segment(WAIT_S)
    writer.set_floor(behind)
    assert writer.wait_for_segment(WAIT_S)
    assert writer.append({"a": cell(_payload(seq), seq)}) == "ready"
    assert writer.counters()["first_row"] == behind


def test_without_a_named_reader_a_blocking_journal_keeps_what_fits(folder: Path) -> None:
    writer = small_writer(folder, ["a"], when_full="block")
    for seq in range(_ROWS):
        append(writer, {"a": cell(_payload(seq), seq)})
    assert writer.counters()["first_row"] > 0


def test_an_old_segment_ends_and_a_short_one_gives_its_room_back(folder: Path) -> None:
    writer = small_writer(folder, ["a"], segment_ns=1000)
    append(writer, {"a": cell(b"x")})
    writer.seal(now_ns=1000)
    assert writer.wait_for_segment(WAIT_S, now_ns=1000)
    writer.heartbeat(now_ns=1999)
    assert len(files(folder)) == 1
    writer.heartbeat(now_ns=2000)
    finished, _ = files(folder)
    assert finished.suffix == ".arrow"
    assert finished.stat().st_size < SEGMENT_BYTES // 2
    assert [row["a"]["payload"] for row in rows(folder)] == [b"x"]


def test_every_segment_is_made_before_the_first_row_where_that_was_asked_for(folder: Path) -> None:
    writer = small_writer(folder, ["a"], prefault_all=True)
    assert writer.counters()["segments_made"] == 4
    for seq in range(_ROWS):
        append(writer, {"a": cell(_payload(seq), seq)})
    assert writer.counters()["segments_made"] == 4
    # Files are renamed behind the writer's back until it is closed.
    writer.close()
    assert rows(folder)[-1]["row"] >= _ROWS - 13


def test_a_reader_gets_the_lock_of_the_open_segment(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    append(writer, {"a": cell(b"x")})
    for path in [*files(folder), *files(folder, "unmatched")]:
        with path.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    writer.close()


def test_the_last_state_stays_until_the_next_segment_has_one(folder: Path) -> None:
    writer = small_writer(folder, ["a"], max_bytes=2 * SEGMENT_BYTES, segment_ns=1)
    append(writer, {"a": cell(bytes(SEGMENT_BYTES * 2 // 3))})
    writer.seal(b'{"n":1}', now_ns=1)
    assert writer.wait_for_segment(WAIT_S, now_ns=1)
    writer.heartbeat(now_ns=2)
    assert [path.suffix for path in files(folder)] == [".arrow", ".open"]
    writer.heartbeat(now_ns=3)
    writer.drop_open()
    again = small_writer(folder, ["a"], max_bytes=2 * SEGMENT_BYTES)
    assert (again.recovered["state"], again.recovered["next_row"]) == (b'{"n":1}', 1)


def test_to_be_opened_again_and_again_costs_a_journal_no_row(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    for seq in range(_ROWS):
        append(writer, {"a": cell(_payload(seq), seq)})
    writer.close()
    kept = [row["row"] for row in rows(folder)]
    for _ in range(3):
        writer = small_writer(folder, ["a"])
        writer.heartbeat(now_ns=1)
        writer.seal(b'{"n":1}', now_ns=2)
        writer.heartbeat(now_ns=3)
        writer.close()
        assert [row["row"] for row in rows(folder)] == kept
