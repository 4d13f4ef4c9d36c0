# SPDX-License-Identifier: Apache-2.0
"""What a whole pipeline must keep, shown on a join's engine: each rule by its number. tests/checkpoint_rules.toml says
where the others are."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.checkpoint.inflight import inflight_file, read_records
from framegate.schema.control import ControlSignal, Watermark

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT, CutBench, payload_of, rest_of

HEAD_BYTES = 312


@pytest.fixture
def bench(tmp_path: Path) -> CutBench:
    return CutBench(tmp_path / "journal")


def test_p3_an_input_that_is_blocked_is_never_stale(tmp_path: Path) -> None:
    """Its frames wait behind a barrier, and feed the staleness clock as they come."""
    join, mergemap = {"policy": "latest"}, {"stale_timeout_ms": 300}
    bench = CutBench(tmp_path / "journal", join=join, mergemap=mergemap, checkpoint={"alignment_timeout_ms": 60_000})
    bench.frame(LEFT, 0)
    bench.frame(RIGHT, 0)
    bench.barrier(LEFT, 1)
    for seq in range(1, 6):
        bench.wait(200)
        bench.frame(LEFT, seq)
        bench.frame(RIGHT, seq)
    assert bench.counters()["checkpoints"]["current_buffered"] == 5
    bench.barrier(RIGHT, 1)
    bench.finish()
    assert {row.inputs["left"].status for row in bench.rows()} == {"present"}


def test_p4_a_snapshot_stores_the_watermarks_from_before_the_barriers_and_captures_late_ones_in_place(
    bench: CutBench,
) -> None:
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0)
        bench.watermark(stream, 10)
    bench.barrier(LEFT, 1)
    bench.watermark(LEFT, 99)
    bench.wait(1001)
    bench.frames(RIGHT, 1)
    bench.watermark(RIGHT, 20)
    bench.sync_test(RIGHT, 5)
    bench.frames(RIGHT, 2)
    bench.barrier(RIGHT, 1)
    [taken] = bench.told("snapshot")
    assert {stream: each["watermark_ms"] for stream, each in rest_of(taken).items()} == {LEFT: 10, RIGHT: 10}
    [complete] = bench.told("complete")
    [(input_id, records, _)] = complete["inflight"]
    _, found = read_records(bytes(inflight_file(input_id, records)))
    # Whole messages, each frame with its payload behind it, in the order of the stream.
    assert [len(each) > HEAD_BYTES for each in found] == [True, False, False, True]
    assert Watermark.decode(found[1]).timestamp_ms == 20
    assert ControlSignal.decode(found[2]).barrier_id == 5
    bench.finish()


def test_p6_a_payload_in_flight_is_copied_when_it_comes(bench: CutBench) -> None:
    """What the stream does afterwards changes nothing of it. The tombstones are in tests/system."""
    bench.frames(RIGHT, 0)
    bench.barrier(LEFT, 3, unaligned=True)
    bench.frames(RIGHT, 1, 2)
    bench.barrier(RIGHT, 3)
    bench.frames(RIGHT, *range(3, 200))
    [complete] = bench.told("complete")
    [(_, records, lost)] = complete["inflight"]
    assert (len(records), lost) == (2, [])
    assert all(payload_of(RIGHT, seq) in bytes(records) for seq in (1, 2))
    bench.finish()


def test_p9_rows_carry_the_last_barrier_that_was_snapshotted_also_one_that_was_aborted_later(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", checkpoint={"late_barrier_timeout_ms": 500})
    bench.frames(LEFT, 0)
    bench.frames(RIGHT, 0)
    bench.barrier(LEFT, 3)
    bench.wait(1001)
    bench.frames(LEFT, 1)
    bench.frames(RIGHT, 1)
    bench.wait(501)
    assert bench.told("aborted")[0]["cause"] == "LATE_BARRIER_TIMEOUT"
    bench.frames(LEFT, 2)
    bench.frames(RIGHT, 2)
    bench.finish()
    assert bench.checkpoints_of_rows() == {0: 0, 1: 3, 2: 3}


def test_p10_an_agent_cuts_at_its_present_place_where_a_producer_cannot_inject(bench: CutBench) -> None:
    bench.frames(LEFT, 0, 1)
    bench.frames(RIGHT, 0, 1, 2)
    bench.engine.inject(RIGHT, 4, 1, False)
    bench.frames(RIGHT, 3)
    bench.barrier(LEFT, 4)
    bench.watermark(LEFT, 0)
    [taken] = bench.told("snapshot")
    places = {stream: (each["epoch"], each["last_seq"]) for stream, each in rest_of(taken).items()}
    assert places == {LEFT: (7, 1), RIGHT: (7, 2)}
    bench.finish()


def test_p11_a_checkpoint_that_switched_goes_on_with_its_flag_set(bench: CutBench) -> None:
    bench.barrier(LEFT, 3)
    bench.wait(1001)
    [forward] = bench.told("forward")
    assert forward["is_unaligned"]
    bench.finish()


def test_p12_the_threshold_is_a_second_and_memory_comes_before_it(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", checkpoint={"max_buffer_memory_bytes": 1 << 20})
    assert bench.config.checkpoint.alignment_timeout_ms == 1000
    bench.frame(LEFT, 0)
    bench.barrier(LEFT, 1)
    large = bytes(256 << 10)
    for seq in range(1, 9):
        bench.frame(LEFT, seq, large)
        if bench.news:
            break
    # No time has passed: the buffer was full.
    assert bench.news[0]["snapshot"].head()["why"] == "limit"
    assert bench.counters()["checkpoints"]["limit_switches"] == 1
    bench.finish()


def test_p14_after_a_restart_a_join_ignores_what_it_has_snapshotted(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal")
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0)
        bench.barrier(stream, 6)
    bench.frames(LEFT, 1)
    bench.frames(RIGHT, 1)
    bench.finish()
    again = CutBench(tmp_path / "journal")
    again.barrier(LEFT, 6)
    assert again.engine.checkpoint_under_way() is None
    again.barrier(LEFT, 7)
    assert again.engine.checkpoint_under_way() == 7
    again.finish()


def test_p15_who_owes_a_barrier_that_stays_out_is_named(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", checkpoint={"late_barrier_timeout_ms": 500})
    bench.barrier(LEFT, 3, unaligned=True)
    bench.wait(501)
    [aborted] = bench.told("aborted")
    assert (aborted["cause"], aborted["input"], aborted["pending"]) == ("LATE_BARRIER_TIMEOUT", RIGHT, [RIGHT])
    bench.finish()


# --- A checkpoint that fails is followed by one that is aligned, and five in a row are a sign -------------------


def test_b24_in_the_engine_after_a_failure_the_next_attempt_is_aligned(bench: CutBench) -> None:
    bench.barrier(LEFT, 1, unaligned=True)
    bench.engine.fail_checkpoint(1)
    bench.barrier(LEFT, 2, unaligned=True)
    assert [each["checkpoint_id"] for each in bench.told("snapshot")] == [1]
    bench.barrier(RIGHT, 2)
    assert [each["snapshot"].head()["why"] for each in bench.told("snapshot")] == ["requested", None]
    bench.finish()
