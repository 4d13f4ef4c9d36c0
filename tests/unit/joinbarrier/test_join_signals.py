# SPDX-License-Identifier: Apache-2.0
"""Signals and watermarks through a join's engine: aligned, in their place, and when they end it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framegate.schema.control import SignalKind

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT, CutBench

SYNC = int(SignalKind.SYNC_TEST)


@pytest.fixture
def bench(tmp_path: Path) -> CutBench:
    return CutBench(tmp_path / "journal")


@pytest.fixture
def publishing(tmp_path: Path) -> CutBench:
    return CutBench(tmp_path / "journal", computes=True)


def passed(bench: CutBench) -> list[Any]:
    """What goes on and behind which row, oldest first."""
    return [(each.get("watermark_ms", each.get("signal")), each["row"]) for each in bench.told("pass")]


def test_a_signal_goes_on_once_behind_the_rows_of_what_came_before_it(publishing: CutBench) -> None:
    publishing.frames(LEFT, 0, 1)
    publishing.sync_test(LEFT, 4)
    publishing.frames(LEFT, 2)
    publishing.frames(RIGHT, 0, 1)
    assert passed(publishing) == []
    publishing.sync_test(RIGHT, 4)
    publishing.frames(RIGHT, 2)
    assert passed(publishing) == [((True, SYNC, 4), 2)]
    counted = publishing.finish()["checkpoints"]
    assert (counted["signals_aligned"], counted["signals_refused"]) == (1, 0)


def test_an_instant_signal_passes_while_another_one_is_waited_for(publishing: CutBench) -> None:
    publishing.sync_test(LEFT, 4)
    publishing.probe(RIGHT)
    publishing.sync_test(RIGHT, 4)
    assert [what for what, _ in passed(publishing)] == [(False, SYNC, 0), (True, SYNC, 4)]
    assert publishing.finish()["checkpoints"]["signals_instant"] == 1


def test_a_signal_is_told_with_the_rows_before_it_sealed(publishing: CutBench) -> None:
    publishing.frames(LEFT, 0)
    publishing.frames(RIGHT, 0)
    publishing.probe(LEFT)
    assert passed(publishing) == [((False, SYNC, 0), 1)]
    assert publishing.counters()["journal"]["next_row"] == 1
    publishing.finish()


def test_an_ended_input_owes_no_signal(publishing: CutBench) -> None:
    publishing.frames(RIGHT, 0)
    publishing.end(RIGHT, 0)
    publishing.sync_test(LEFT, 4)
    assert [what for what, _ in passed(publishing)] == [(True, SYNC, 4)]
    publishing.finish()


def test_a_join_ends_by_the_end_that_all_inputs_carried(bench: CutBench) -> None:
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0)
    bench.end(LEFT, 0, 9)
    assert not bench.outcome["is_finished"]
    bench.end(RIGHT, 0, 9)
    assert (bench.outcome["is_finished"], bench.outcome["end"]) == (True, (True, 9))
    counted = bench.finish()["checkpoints"]
    assert (counted["signals_aligned"], counted["signals_refused"]) == (1, 0)


def test_ends_of_independent_producers_carry_no_id_and_overlap_nothing(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.sync_test(LEFT, 4)
    bench.frames(RIGHT, 0)
    bench.end(RIGHT, 0)
    bench.end(LEFT, 0)
    assert (bench.outcome["is_finished"], bench.outcome["end"]) == (True, None)
    counted = bench.finish()["checkpoints"]
    assert (counted["signals_aligned"], counted["signals_refused"]) == (1, 0)


def test_an_instant_end_ends_the_join_whatever_its_other_inputs_still_bring(bench: CutBench) -> None:
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 0, 1)
    bench.end(LEFT, 1, instant=True)
    assert (bench.outcome["is_finished"], bench.outcome["end"]) == (True, (False, 0))
    bench.finish()
    assert len(bench.rows()) == 2


def test_p5_an_end_behind_a_barrier_does_not_end_a_join_that_still_buffers(bench: CutBench) -> None:
    bench.frames(LEFT, 0)
    bench.barrier(LEFT, 1)
    bench.frames(LEFT, 1)
    bench.end(LEFT, 1, instant=True)
    bench.frames(RIGHT, 0)
    assert not bench.outcome["is_finished"]
    assert bench.counters()["checkpoints"]["current_buffered"] == 2
    bench.barrier(RIGHT, 1)
    assert bench.outcome["is_finished"]
    bench.finish()
    assert bench.checkpoints_of_rows() == {0: 0}


def test_a_signal_of_a_join_that_waits_for_nothing_is_not_captured_twice(bench: CutBench) -> None:
    """In flight a signal is a record of its stream; it still counts where it stands."""
    bench.barrier(LEFT, 3, unaligned=True)
    bench.sync_test(RIGHT, 7)
    bench.barrier(RIGHT, 3)
    bench.sync_test(LEFT, 7)
    [complete] = bench.told("complete")
    [(input_id, records, _)] = complete["inflight"]
    assert (input_id, len(records)) == (1, 1)
    assert bench.finish()["checkpoints"]["signals_aligned"] == 1


# --- watermarks ------------------------------------------------------------------------------------------


def test_the_lowest_watermark_goes_on_behind_the_frames_that_came_before_it(publishing: CutBench) -> None:
    publishing.frames(LEFT, 0, 1)
    publishing.watermark(LEFT, 2)
    publishing.frames(RIGHT, 0)
    publishing.watermark(RIGHT, 5)
    # Frame 1 is older, and may still become a row.
    assert passed(publishing) == []
    publishing.frames(RIGHT, 1)
    assert passed(publishing) == [(2, 2)]
    publishing.watermark(LEFT, 9)
    assert [what for what, _ in passed(publishing)] == [2, 5]
    assert publishing.finish()["checkpoints"]["watermarks_forwarded"] == 2


def test_p4_the_watermark_from_before_the_barriers_goes_on_before_the_barrier(publishing: CutBench) -> None:
    for stream in (LEFT, RIGHT):
        publishing.frames(stream, 0)
        publishing.watermark(stream, 10)
    publishing.barrier(LEFT, 1)
    publishing.watermark(LEFT, 30)
    publishing.watermark(RIGHT, 20)
    publishing.barrier(RIGHT, 1)
    publishing.watermark(RIGHT, 30)
    told = [each.get("watermark_ms", each["kind"]) for each in publishing.news]
    # Left said 30 behind its barrier: before it, the lowest was 10.
    assert told == [10, "snapshot", "forward", 20, "complete", 30]
    publishing.finish()


def test_where_a_frame_may_be_joined_again_its_time_bounds_the_watermark(tmp_path: Path) -> None:
    bench = CutBench(tmp_path / "journal", computes=True, join={"policy": "latest"})
    for stream in (LEFT, RIGHT):
        bench.frames(stream, 3)
        bench.watermark(stream, 10)
    assert [what for what, _ in passed(bench)] == [3]
    bench.finish()
