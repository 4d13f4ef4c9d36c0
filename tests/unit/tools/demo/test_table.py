# SPDX-License-Identifier: Apache-2.0
"""What is shown while the demo runs: objects for programs, lines for logs, a table on a terminal."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from framegate.joinbarrier.journal.schema import UNMATCHED_SCHEMA
from framegate.tools.demo.summary import print_summary
from framegate.tools.demo.table import CameraNow, Now, table
from framegate.tools.demo.watch import causes, not_joined_by_camera

NOW = Now(
    seconds=2.5,
    cameras=[
        CameraNow(name="camera1", frames=500, frames_per_s=199.6, behind=3, not_joined=0),
        CameraNow(name="camera2", frames=498, frames_per_s=200.2, behind=1, not_joined=7),
    ],
    rows=490,
    rows_per_s=198.4,
    gb_per_s=0.123,
    computed=450,
    computed_per_s=180.0,
    lag_ms=210.04,
    moved=(20, 50),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_a_line_with_rates_lag_and_drops() -> None:
    out = io.StringIO()
    with table(as_json=False, stream=out) as shown:
        was_due = shown.is_due
        shown.show(NOW)
        assert (was_due, shown.is_due) == (True, False)
    assert out.getvalue() == (
        "  2.5 s  camera1 500 (200/s, 3 behind)  camera2 498 (200/s, 1 behind)"
        "  joined 490 (198/s, 0.12 GB/s)  not joined 7  computed 450 (180/s), 210.0 ms after capture\n"
    )


def test_a_program_gets_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    with table(as_json=True) as shown:
        shown.show(NOW)
    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["rows"], told["lag_ms"], told["moved"]) == ("progress", 490, 210.04, [20, 50])
    assert [camera["not_joined"] for camera in told["cameras"]] == [0, 7]


def test_a_terminal_gets_a_table_with_every_number() -> None:
    out = Terminal()
    with table(as_json=False, stream=out) as shown:
        shown.show(NOW)
    drawn = out.getvalue()
    for word in (
        "camera1",
        "camera2",
        "500",
        "200",
        "joined",
        "490",
        "0.12 GB/s",
        "computed",
        "210.0 ms",
        "the scene has gone",
    ):
        assert word in drawn


def unmatched(*lines: tuple[str, int, int | None, str]) -> pa.Table:
    rows = [{"input": name, "seq": seq, "seq_last": last, "cause": cause} for name, seq, last, cause in lines]
    return pa.Table.from_pylist(rows, schema=UNMATCHED_SCHEMA)


def test_ranges_of_what_was_not_joined_are_counted_whole() -> None:
    found = unmatched(("a", 1, None, "no_partner"), ("a", 5, 9, "overwritten"), ("b", 0, 0, "before_first"))
    assert not_joined_by_camera(found) == {"a": 6, "b": 1}
    assert causes(found, "a") == {"no_partner": 1, "overwritten": 5}
    assert causes(found, "c") == {}


def test_the_summary_says_every_measure_and_cause(capsys: pytest.CaptureFixture[str]) -> None:
    camera = {"name": "camera1", "frames": 12, "joined": 10, "not_joined": {"no_partner": 2}}
    print_summary(
        {
            "rows": 10,
            "rows_per_s": 200.5,
            "gb_per_s": 0.125,
            "join_lag_ms": {"p50": 0.2, "p99": 1.25},
            "result_lag_ms": {"p50": 210.0, "p99": 480.5},
            "mean_difference": 5.31,
            "motion": {"rows": 2, "columns": 5, "recovered_sets": 10},
            "lag_frames": 2,
            "spark": True,
            "cameras": [camera, {**camera, "name": "camera2", "not_joined": {}}],
            "files": {"pictures": "/here/x.png"},
        }
    )
    told = capsys.readouterr().out
    for words in (
        "200.5 rows/s, 0.12 GB/s",
        "p50 0.20 ms, p99 1.25 ms",
        "p50 210.00 ms, p99 480.50 ms",
        "Spark's result",
        "10 of 10 sets",
        "by 5.3 of 255",
        "2 no_partner",
        "/here/x.png",
    ):
        assert words in told
