# SPDX-License-Identifier: Apache-2.0
"""What is shown while the demo runs: objects for programs, lines for logs, a changing line on a terminal."""

from __future__ import annotations

import io
import json
import sys
from typing import Any, cast

import pytest
from framegate.tools.demo.shown import print_summary, progress
from framegate.tools.demo.verdict import Verdict

import framegate as fg
from tests.unit.tools.demo.test_verdict import verdict


class Played:
    """As much of a join as is shown."""

    def __len__(self) -> int:
        return 490

    def unmatched(self) -> dict[str, dict[str, int]]:
        return {"camera1": {}, "camera2": {"no_partner": 5, "before_first": 2}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(found: Verdict, *, as_json: bool = False) -> None:
    with progress(as_json=as_json) as shown:
        assert shown.tell(cast("fg.Joined", Played()), found) is False
        assert shown.tell(cast("fg.Joined", Played()), found, is_last=True)


def test_a_pipe_gets_a_line_with_rows_lag_and_drops(capsys: pytest.CaptureFixture[str]) -> None:
    told(verdict(100))
    (line,) = capsys.readouterr().out.splitlines()
    assert "joined 490 (" in line
    assert line.endswith("not joined 7  computed 100, 3.0 ms after capture")


def test_before_the_first_result_there_is_no_lag(capsys: pytest.CaptureFixture[str]) -> None:
    told(verdict())
    assert "computed 0, no result yet" in capsys.readouterr().out


def test_a_program_gets_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    told(verdict(100), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["event"], found["rows"], found["computed"], found["lag_ms"]) == ("progress", 490, 100, 3.0)
    assert found["not_joined"] == {"camera1": 0, "camera2": 7}


def test_a_terminal_gets_the_same_line_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    told(verdict(12))
    for word in ("joined", "490", "computed", "12", "ms after"):
        assert word in out.getvalue()


def test_the_summary_says_every_measure_and_cause(capsys: pytest.CaptureFixture[str]) -> None:
    camera = {"name": "camera1", "frames": 12, "joined": 10, "not_joined": {"no_partner": 2}}
    summary: dict[str, Any] = {
        "rows": 10,
        "frames": 24,
        "unexplained": 0,
        "rows_per_s": 200.5,
        "gb_per_s": 0.125,
        "join_lag_ms": {"p50": 0.2, "p99": 1.25},
        "result_lag_ms": {"p50": 210.0, "p99": 480.5},
        "mean_difference": 5.31,
        "motion": {"rows": 2, "columns": 5, "recovered_sets": 10},
        "lag_frames": 2,
        "spark": True,
        "flight": {"rows": 10, "bytes": 999, "streams": 3},
        "cameras": [camera, {**camera, "name": "camera2", "not_joined": {}}],
        "files": {"pictures": "/here/x.png"},
    }
    print_summary(summary)
    told = capsys.readouterr().out
    for words in (
        "200.5 rows/s, 0.12 GB/s",
        "p50 0.20 ms, p99 1.25 ms",
        "p50 210.00 ms, p99 480.50 ms",
        "Spark's result",
        "recovered in 10 of 10 sets",
        "by 5.3 of 255",
        "24 frames, 0 unexplained",
        "999 bytes",
        "2 no_partner",
        "/here/x.png",
    ):
        assert words in told
