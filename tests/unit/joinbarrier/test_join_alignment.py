# SPDX-License-Identifier: Apache-2.0
"""Where a join cuts its streams: the engine alone, fed frame by frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.checkpoint import UnalignedCheckpointer
from framegate.joinbarrier.checkpoint.inflight import inflight_file, read_records
from framegate.joinbarrier.checkpoint.operator.state import decode_state, encode_head
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import ArrowFiles, Content, LocalFiles
from framegate.joinbarrier.journal.checksum import crc32c
from framegate.schema.wire import FrameDescriptor, SlotHeader

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT, CutBench, payload_of, rest_of, state_of

DESCRIPTOR_BYTES = 48
HEAD_BYTES = 312


def frames_of(records: tuple[bytes, ...] | list[bytes]) -> list[tuple[int, int, bytes]]:
    """Stream, sequence and payload of each record of a frame."""
    found = []
    for record in records:
        descriptor = FrameDescriptor.decode(record[:DESCRIPTOR_BYTES])
        slot = SlotHeader.decode(record[DESCRIPTOR_BYTES:HEAD_BYTES])
        payload = record[HEAD_BYTES:]
        assert slot.values_len_bytes == len(payload)
        assert slot.timestamp_ns == descriptor.seq * 1_000_000
        found.append((descriptor.stream_id, descriptor.seq, payload))
    return found


def captured(news: dict[str, Any]) -> dict[int, list[bytes]]:
    """The records of each late input, read as its file will be."""
    found: dict[int, list[bytes]] = {}
    for input_id, records, _ in news["inflight"]:
        read_id, found[input_id] = read_records(bytes(inflight_file(input_id, records)))
        assert read_id == input_id
    return found


def test_a_file_from_an_engines_memory_is_the_same_in_every_store_and_its_sum_is_taken_on_the_way(
    tmp_path: Path, bench: CutBench
) -> None:
    from pyarrow import fs

    bench.frames(LEFT, *range(40))
    bench.barrier(LEFT, 1)
    bench.barrier(RIGHT, 1)
    [taken] = bench.told("snapshot")
    snapshot = taken["snapshot"]
    whole = state_of(taken)
    assert len(decode_state(whole).frames) == len(snapshot.records) == 40
    for files in (LocalFiles(tmp_path / "disk"), ArrowFiles(fs.LocalFileSystem(), str(tmp_path / "objects"))):
        store = CheckpointStore(tmp_path, files)
        stored = store.write_state(1, "join", Content(encode_head(snapshot.head()), snapshot.records))
        assert files.read("1/operators/join/state.bin") == whole
        assert (stored.bytes, stored.crc32c) == (len(whole), crc32c(whole, 0))


@pytest.fixture
def bench(tmp_path: Path) -> CutBench:
    return CutBench(tmp_path / "journal")


def test_rows_before_the_barrier_carry_the_old_checkpoint_and_rows_behind_it_the_new_one(bench: CutBench) -> None:
    bench.frames(LEFT, 0, 1, 2)
    bench.barrier(LEFT, 5)
    bench.frames(LEFT, 3, 4, 5)
    bench.frames(RIGHT, 0, 1, 2)
    assert bench.counters()["checkpoints"]["current_buffered"] == 3
    bench.barrier(RIGHT, 5)
    bench.frames(RIGHT, 3, 4, 5)
    counted = bench.finish()
    assert bench.checkpoints_of_rows() == {0: 0, 1: 0, 2: 0, 3: 5, 4: 5, 5: 5}
    assert bench.kinds() == [("snapshot", 5), ("forward", 5), ("complete", 5)]
    assert counted["checkpoints"]["alignments_completed"] == 1
    assert counted["checkpoints"]["total_events_buffered"] == 3
    assert counted["unmatched"] == {"left": 0, "right": 0}


def test_an_agent_counts_whatever_a_checkpointer_does(bench: CutBench) -> None:
    """By the same names, and those of the source texts among them."""
    counted = bench.finish()["checkpoints"]
    assert set(UnalignedCheckpointer(2).metrics()) <= set(counted)
    assert set(counted) >= {
        *("alignments_completed", "total_events_buffered", "max_alignment_duration", "current_buffered", "is_aligning"),
        *("unaligned_count", "threshold_switches", "total_inflight_bytes", "is_in_unaligned_mode"),
    }


def test_a_snapshot_comes_with_every_row_before_it_sealed(bench: CutBench) -> None:
    bench.frames(LEFT, 0, 1)
    bench.frames(RIGHT, 0, 1)
    bench.barrier(LEFT, 1)
    bench.barrier(RIGHT, 1)
    [news] = bench.told("snapshot")
    head = news["snapshot"].head()
    assert head["next_row"] == 2
    assert bench.counters()["journal"]["next_row"] == 2
    assert bench.told("forward")[0]["row"] == 2
    bench.finish()


def test_a_snapshot_holds_what_was_seen_and_not_joined_with_its_payload(bench: CutBench) -> None:
    bench.frames(LEFT, 0, 1, 2, 3)
    bench.frames(RIGHT, 0, 1)
    bench.barrier(LEFT, 1)
    bench.frames(LEFT, 4)
    bench.barrier(RIGHT, 1)
    [news] = bench.told("snapshot")
    image = decode_state(state_of(news))
    # The last joined ones may be asked for once more; frame 4 is behind the barrier.
    waiting = [(LEFT, 1), (LEFT, 2), (LEFT, 3), (RIGHT, 1)]
    assert frames_of(image.frames) == [(stream, seq, payload_of(stream, seq)) for stream, seq in waiting]
    assert json.loads(image.head["state"])["inputs"] == [[7, 1, 1, 0], [7, 1, 1, 0]]
    bench.finish()


def test_a_watermark_behind_a_barrier_is_none_of_the_snapshots(bench: CutBench) -> None:
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0)
        bench.watermark(stream, 10)
    bench.barrier(LEFT, 1)
    bench.watermark(LEFT, 20)
    bench.watermark(RIGHT, 15)
    bench.barrier(RIGHT, 1)
    [news] = bench.told("snapshot")
    rest = rest_of(news)
    assert (rest[LEFT]["watermark_ms"], rest[RIGHT]["watermark_ms"]) == (10, 15)
    bench.finish()


def test_an_end_behind_a_barrier_ends_nothing_before_it_is_drained(bench: CutBench) -> None:
    bench.frames(LEFT, 0, 1)
    bench.barrier(LEFT, 1)
    bench.frames(LEFT, 2)
    bench.end(LEFT, 2)
    bench.frames(RIGHT, 0, 1)
    assert bench.told("snapshot") == []
    bench.barrier(RIGHT, 1)
    [news] = bench.told("snapshot")
    assert not rest_of(news)[LEFT]["is_ended"]
    bench.frames(RIGHT, 2)
    # It has ended, so it owes the next barrier no more.
    bench.barrier(RIGHT, 2)
    assert bench.kinds()[3:] == [("snapshot", 2), ("forward", 2), ("complete", 2)]
    assert rest_of(bench.told("snapshot")[1])[LEFT]["is_ended"]
    bench.finish()
    assert bench.checkpoints_of_rows() == {0: 0, 1: 0, 2: 1}


def test_an_input_that_ends_while_its_barrier_is_owed_completes_the_alignment(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 1)
    bench.frames(RIGHT, 0)
    bench.end(RIGHT, 0)
    assert bench.kinds() == [("snapshot", 1), ("forward", 1), ("complete", 1)]
    bench.finish()


def test_a_late_input_is_overtaken_at_the_threshold_and_what_it_brings_is_in_flight(bench: CutBench) -> None:
    bench.frames(LEFT, 0, 1)
    bench.frames(RIGHT, 0)
    bench.barrier(LEFT, 3)
    bench.frames(LEFT, 2)
    bench.wait(1000)
    assert bench.news == []
    bench.wait(1)
    assert bench.kinds() == [("snapshot", 3), ("forward", 3)]
    head = bench.news[0]["snapshot"].head()
    assert (head["why"], head["late_inputs"], head["is_unaligned"]) == ("threshold", [1], True)
    bench.frames(RIGHT, 1)
    bench.watermark(RIGHT, 70)
    bench.frames(RIGHT, 2)
    bench.barrier(RIGHT, 3)
    bench.frames(RIGHT, 3)
    bench.frames(LEFT, 3)
    [complete] = bench.told("complete")
    assert complete["is_unaligned"]
    [*records] = captured(complete)[1]
    assert len(records) == 3
    assert frames_of([records[0], records[2]]) == [(RIGHT, seq, payload_of(RIGHT, seq)) for seq in (1, 2)]
    counted = bench.finish()
    # Left's frame behind the barrier is joined behind the snapshot, with what right still brought before its own.
    assert bench.checkpoints_of_rows() == {0: 0, 1: 3, 2: 3, 3: 3}
    assert counted["checkpoints"]["threshold_switches"] == 1
    assert counted["checkpoints"]["total_inflight_bytes"] > 0


def test_a_late_barrier_that_stays_out_aborts_the_checkpoint_and_names_the_input(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", checkpoint={"late_barrier_timeout_ms": 500})
    bench.frames(LEFT, 0)
    bench.frames(RIGHT, 0)
    bench.barrier(LEFT, 3)
    bench.wait(1001)
    bench.frames(RIGHT, 1)
    bench.wait(501)
    [aborted] = bench.told("aborted")
    assert (aborted["cause"], aborted["input"]) == ("LATE_BARRIER_TIMEOUT", RIGHT)
    # The next one, when the input is back, is whole again; the late barrier of the old one means nothing.
    bench.barrier(RIGHT, 3)
    for stream in (LEFT, RIGHT):
        bench.barrier(stream, 4)
    assert bench.kinds()[-3:] == [("snapshot", 4), ("forward", 4), ("complete", 4)]
    assert bench.finish()["checkpoints"]["ignored_aborted"] == 1


def test_without_leave_to_overtake_an_alignment_is_given_up_in_time(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", checkpoint={"unaligned": False})
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 3)
    bench.frames(LEFT, 1)
    bench.wait(1000)
    assert bench.engine.checkpoint_under_way() == 3
    bench.wait(1)
    bench.frames(RIGHT, 0, 1)
    [aborted] = bench.news
    assert (aborted["cause"], aborted["pending"], aborted["buffered"]) == ("TIMEOUT", [RIGHT], 1)
    bench.finish()
    assert bench.checkpoints_of_rows() == {0: 0, 1: 0}


def test_a_coordinator_gives_an_alignment_up(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 3)
    bench.frames(LEFT, 1)
    bench.engine.abort_checkpoint(3)
    assert bench.engine.checkpoint_under_way() is None
    bench.frames(RIGHT, 0, 1)
    assert bench.kinds() == [("aborted", 3)]
    bench.finish()
    assert bench.checkpoints_of_rows() == {0: 0, 1: 0}


def test_a_barrier_that_is_unaligned_overtakes_at_once(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 2, unaligned=True)
    assert bench.kinds() == [("snapshot", 2), ("forward", 2)]
    assert bench.news[0]["snapshot"].head()["why"] == "requested"
    bench.finish()


def test_a_higher_barrier_gives_the_lower_one_up(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 1)
    bench.frames(LEFT, 1)
    bench.barrier(RIGHT, 2)
    bench.frames(RIGHT, 0)
    bench.barrier(LEFT, 2)
    assert bench.kinds() == [("aborted", 1), ("snapshot", 2), ("forward", 2), ("complete", 2)]
    assert bench.news[0]["cause"] == "HIGHER_BARRIER"
    bench.finish()


def test_a_hold_that_is_full_ends_the_wait_and_no_frame_is_lost(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", checkpoint={"max_buffer_memory_bytes": 4096})
    large = bytes(600)
    bench.frame(LEFT, 0)
    bench.barrier(LEFT, 1)
    for seq in range(1, 9):
        bench.frame(LEFT, seq, large)
        if bench.news:
            break
    assert bench.kinds() == [("snapshot", 1), ("forward", 1)]
    assert bench.news[0]["snapshot"].head()["why"] == "limit"
    bench.finish()


def test_many_frames_that_waited_are_joined_however_small_the_ring_was(bench: CutBench) -> None:
    count = 5000
    bench.frames(LEFT, 0)
    bench.frames(RIGHT, 0)
    bench.barrier(LEFT, 1)
    bench.frames(LEFT, *range(1, count))
    bench.barrier(RIGHT, 1)
    bench.frames(RIGHT, *range(1, count))
    counted = bench.finish()
    assert counted["rows"] == count
    assert counted["overwritten"] == {"left": 0, "right": 0}
    rows = bench.rows()
    assert bytes(rows[-1].inputs["left"].array) == payload_of(LEFT, count - 1)


@pytest.mark.parametrize("policy", ["latest", "union"])
def test_every_policy_cuts_between_what_came_before_and_behind(tmp_path: Path, policy: str) -> None:
    bench = CutBench(tmp_path / "journal", join={"policy": policy})
    for seq in range(3):
        bench.frame(LEFT, seq)
        bench.frame(RIGHT, seq)
    bench.barrier(LEFT, 9)
    bench.frames(LEFT, 3, 4)
    bench.frames(RIGHT, 3)
    bench.barrier(RIGHT, 9)
    bench.frames(RIGHT, 4)
    bench.finish()
    for row in bench.rows():
        seqs = {name: row.inputs[name].seq for name in ("left", "right") if row.inputs[name].status == "present"}
        is_behind = seqs.get("left", 0) > 2 or seqs.get("right", 0) > 3
        assert (row.checkpoint_id == 9) == is_behind, seqs


def test_a_timestamp_join_cuts_by_arrival(tmp_path: Path) -> None:
    bench = CutBench(
        tmp_path / "journal",
        join={"policy": "timestamp"},
        input=[
            {"name": "left", "stream": LEFT, "offset_ns": 0},
            {"name": "right", "stream": RIGHT, "offset_ns": 0, "tolerance_ns": 0},
        ],
    )
    bench.frames(LEFT, 0, 1)
    bench.barrier(LEFT, 2)
    bench.frames(LEFT, 2, 3)
    bench.frames(RIGHT, 0, 1)
    bench.barrier(RIGHT, 2)
    bench.frames(RIGHT, 2, 3)
    bench.finish()
    assert {row.inputs["left"].seq: row.checkpoint_id for row in bench.rows()} == {0: 0, 1: 0, 2: 2, 3: 2}


def test_what_waits_when_the_join_ends_is_written_down(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 1)
    bench.frames(LEFT, 1, 2)
    counted = bench.finish()
    assert counted["causes"]["left"] == {"pending_at_end": 3}


def test_an_agent_that_starts_again_goes_on_with_the_last_checkpoint_in_its_rows(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal")
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0)
        bench.barrier(stream, 6)
    bench.frames(LEFT, 1)
    bench.frames(RIGHT, 1)
    bench.finish()
    again = CutBench(tmp_path / "journal")
    again.frames(LEFT, 2)
    again.frames(RIGHT, 2)
    again.finish()
    assert again.checkpoints_of_rows() == {0: 0, 1: 6, 2: 6}


def test_barriers_out_of_range_are_refused(bench: CutBench) -> None:
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0)
        for checkpoint_id in (0, 1 << 63):
            bench.barrier(stream, checkpoint_id)
    assert bench.news == []
    assert bench.finish()["checkpoints"]["barriers_refused"] == 4


def test_a_signal_of_every_upstream_is_aligned_once(bench: CutBench) -> None:
    bench.sync_test(LEFT, 4)
    bench.sync_test(LEFT, 4)
    bench.sync_test(RIGHT, 4)
    counted = bench.finish()["checkpoints"]
    assert (counted["signals_aligned"], counted["signals_refused"]) == (1, 1)
