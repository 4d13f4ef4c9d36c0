# SPDX-License-Identifier: Apache-2.0
"""What `inspect --stats` measures is what was put in, and what `--suggest` makes of it is a join."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.schema.errors import DONE
from framegate.tools.inspect.seen import Seen
from framegate.tools.inspect.statistics import Statistics
from framegate.tools.inspect.suggest import suggest

from framegate.cli import run
from tests.unit.recording.recording_world import EPOCH, LEFT, RIGHT, Made, frame_seen, frames

MS = 1_000_000


def report_of(*seen: Seen) -> dict[str, Any]:
    statistics = Statistics()
    for each in seen:
        statistics.take(each)
    return statistics.report()


def regular(stream: int, count: int, period_ns: int, *, first_ns: int = 0, first_seq: int = 0) -> list[Seen]:
    return [frame_seen(stream, first_seq + index, first_ns + period_ns * index) for index in range(count)]


def loaded(text: str, folder: Path) -> JoinConfig:
    file = folder / "join.toml"
    file.write_text(text)
    return load_join_config(file, {})


def test_rates_gaps_and_intervals_are_those_of_the_frames() -> None:
    seen = [each for each in regular(LEFT, 1001, 2 * MS) if each.seq not in (10, 11, 500)]
    found = report_of(*seen)["streams"][LEFT]
    assert found["frames"] == 998
    assert (found["gaps"], found["missing"]) == (2, 3)
    assert found["rate_hz"] == pytest.approx(997 / 2.0)
    assert found["interval_ns"]["p50"] == 2 * MS
    assert found["jitter_ns"] == {"p50": 0, "p99": 0}
    assert found["time"] == "frame_descriptor"


def test_another_epoch_begins_where_it_likes_and_that_is_no_gap() -> None:
    again = [replace(each, epoch=EPOCH + 1) for each in regular(LEFT, 10, MS, first_seq=100)]
    found = report_of(*regular(LEFT, 10, MS), *again)["streams"][LEFT]
    assert (found["frames"], found["epochs"], found["gaps"], found["missing"]) == (20, 2, 0, 0)


def test_jitter_is_how_far_pauses_lie_from_the_usual_one() -> None:
    late = [frame_seen(LEFT, seq, seq * MS, seq * MS + (300_000 if seq % 2 else 0)) for seq in range(1000)]
    found = report_of(*late)["streams"][LEFT]["jitter_ns"]
    assert found["p99"] == 600_000


def test_sizes_and_the_slots_own_times_are_taken_where_they_are() -> None:
    seen = [
        frame_seen(LEFT, 0, 500),
        Seen(kind="SlotHeader", stream=LEFT, seq=0, timestamp_ns=70),
        Seen(kind="payload", stream=LEFT, seq=0, bytes=10),
        frame_seen(LEFT, 1, 900),
        Seen(kind="SlotHeader", stream=LEFT, seq=1, timestamp_ns=90),
        Seen(kind="payload", stream=LEFT, seq=1, bytes=30),
    ]
    found = report_of(*seen)["streams"][LEFT]
    assert found["payload_bytes"] == {"least": 10, "most": 30, "all": 40}
    assert (found["time"], found["interval_ns"]["p50"]) == ("slot_header", 20)


def test_two_streams_in_step_are_paired_by_their_offset() -> None:
    left, right = regular(LEFT, 500, MS), regular(RIGHT, 500, MS, first_ns=100_000, first_seq=2)
    (pair,) = report_of(*left, *right)["skew"]
    assert pair["streams"] == [LEFT, RIGHT]
    assert (pair["seq_offset"], pair["seq_offset_share"]) == (2, 1.0)
    assert pair["nearest_ns"] == {"p50": 100_000, "p99": 100_000}
    assert pair["same_seq_ns"]["p50"] == 2 * MS - 100_000


def test_frames_that_one_stream_has_before_and_after_the_other_do_not_make_them_far_apart(tmp_path: Path) -> None:
    slow, fast = regular(LEFT, 100, 33 * MS), regular(RIGHT, 400, 5 * MS, first_ns=500 * MS)
    (pair,) = report_of(*slow, *fast)["skew"]
    assert pair["nearest_ns"]["p99"] <= 3 * MS
    window = loaded(suggest(report_of(*slow, *fast)), tmp_path).input[1].window_ns
    assert window is not None
    assert 5 * MS <= window <= 20 * MS


def test_streams_in_step_are_suggested_a_join_by_number(tmp_path: Path) -> None:
    left, right = regular(LEFT, 500, MS), regular(RIGHT, 500, MS, first_ns=100_000, first_seq=2)
    config = loaded(suggest(report_of(*left, *right)), tmp_path)
    assert config.join.policy == "sequence"
    assert [(each.stream, each.offset) for each in config.input] == [(LEFT, 0), (RIGHT, 2)]


def test_streams_of_other_rates_are_suggested_a_join_by_time(tmp_path: Path) -> None:
    slow, fast = regular(LEFT, 100, 33 * MS), regular(RIGHT, 660, 5 * MS, first_ns=1 * MS)
    config = loaded(suggest(report_of(*slow, *fast)), tmp_path)
    assert config.join.policy == "timestamp"
    assert config.join.drive == "input:stream_10001"
    window = next(each.window_ns for each in config.input if each.stream == RIGHT)
    assert window is not None
    assert 5 * MS <= window <= 20 * MS
    assert config.merge_map(0) is not None


def test_a_suggestion_grants_no_lateness_however_far_apart_frames_arrive(tmp_path: Path) -> None:
    slow = regular(LEFT, 100, 33 * MS)
    late = [replace(each, log_time_ns=(each.log_time_ns or 0) + 150 * MS) for each in regular(RIGHT, 660, 5 * MS)]
    config = loaded(suggest(report_of(*slow, *late)), tmp_path)
    assert config.mergemap.lateness_ns == 0


def test_streams_of_one_rate_that_drift_are_paired_one_to_one_below_half_a_period(tmp_path: Path) -> None:
    period_ns = 10 * MS
    left = regular(LEFT, 1000, period_ns)
    right = regular(RIGHT, 1000, period_ns + 30_000, first_ns=3 * MS)
    config = loaded(suggest(report_of(*left, *right)), tmp_path)
    assert config.join.policy == "timestamp"
    (paired,) = [each for each in config.input if config.join.drive != f"input:{each.name}"]
    assert (paired.pick, paired.reuse) == ("nearest", False)
    assert paired.tolerance_ns is not None
    assert period_ns // 4 < paired.tolerance_ns < (period_ns + 30_000) // 2


def test_stamps_of_the_wall_clock_are_suggested_its_domain(tmp_path: Path) -> None:
    now_ns = 1_790_000_000_000_000_000
    slow, fast = regular(LEFT, 100, 33 * MS, first_ns=now_ns), regular(RIGHT, 660, 5 * MS, first_ns=now_ns)
    assert loaded(suggest(report_of(*slow, *fast)), tmp_path).mergemap.clock_domain == "realtime_synced"


def test_the_rate_is_that_of_the_stamps_and_not_of_a_burst() -> None:
    late = [replace(each, log_time_ns=max(each.log_time_ns or 0, 500 * MS)) for each in regular(LEFT, 101, 10 * MS)]
    assert report_of(*late)["streams"][LEFT]["rate_hz"] == pytest.approx(100)


def test_frames_that_were_there_at_the_first_moment_do_not_count_for_the_rate() -> None:
    queued = [replace(each, timestamp_ns=None, log_time_ns=500 * MS) for each in regular(LEFT, 50, 10 * MS)]
    later = [replace(each, timestamp_ns=None) for each in regular(LEFT, 50, 10 * MS, first_ns=510 * MS, first_seq=50)]
    assert report_of(*queued, *later)["streams"][LEFT]["rate_hz"] == pytest.approx(100, rel=1e-3)


def test_one_stream_is_suggested_a_join_of_one(tmp_path: Path) -> None:
    assert len(loaded(suggest(report_of(*regular(LEFT, 10, MS))), tmp_path).input) == 1


def test_nothing_recorded_suggests_nothing() -> None:
    assert suggest(report_of()) == ""


def test_the_command_prints_tables_and_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "in.mcap"
    file.write_bytes(Made(chunk_size=1 << 20).file([*frames(50), *frames(50, stream=RIGHT)]))
    assert run(["inspect", str(file), "--stats"]) == DONE
    assert "10001 10002" in capsys.readouterr().out
    assert run(["inspect", str(file), "--suggest"]) == DONE
    assert tomllib.loads(capsys.readouterr().out)["join"]["out_stream"] == 20_002
