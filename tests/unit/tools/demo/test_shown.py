# SPDX-License-Identifier: Apache-2.0
"""What is shown of the demo: objects for programs while it runs, and the end in words."""

from __future__ import annotations

from typing import Any, cast

import pytest
from framegate.tools.demo.shown import print_summary, so_far

import framegate as fg
from tests.unit.tools.demo.test_verdict import verdict


class Played:
    """As much of a join as is shown."""

    def __len__(self) -> int:
        return 490

    def unmatched(self) -> dict[str, dict[str, int]]:
        return {"camera1": {}, "camera2": {"no_partner": 5, "before_first": 2}}


def test_a_program_is_told_rows_lag_and_what_was_not_joined() -> None:
    found = so_far(cast("fg.Joined", Played()), verdict(100), 4.9)
    assert (found["event"], found["rows"], found["computed"], found["lag_ms"]) == ("progress", 490, 100, 3.0)
    assert (found["not_joined"], found["rows_per_s"]) == ({"camera1": 0, "camera2": 7}, 100.0)


def test_before_the_first_result_there_is_no_lag() -> None:
    found = so_far(cast("fg.Joined", Played()), verdict(), 1.0)
    assert (found["computed"], found["lag_ms"]) == (0, None)


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
