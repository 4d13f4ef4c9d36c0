# SPDX-License-Identifier: Apache-2.0
"""The measurements of the Spark source, in their short form: they run through, join every row, and leave nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dev.bench.__main__ import QUICK
from dev.bench.spark_join import End, Rows, _best

SHM = Path("/dev/shm")  # noqa: S108 - where the measurements keep what they need
LEAVINGS = "framegate-bench-*"
RESULTS = {
    "spark_value": 1,
    "spark_reference": 2,
    "spark_join": 4,
    "spark_latency": 1,
    "spark_offsets": 3,
    "spark_flight": 2,
}


def test_every_measurement_of_spark_has_a_short_form() -> None:
    assert {name for name in QUICK if name.startswith("spark")} == set(RESULTS)


@pytest.mark.parametrize(
    ("rates", "best"), [({8: 1.0, 4: 3.0, 2: 2.0, 1: 9.0}, 4), ({8: 3.0, 4: 2.0}, 8), ({8: 1.0, 4: 2.0, 2: 3.0}, 2)]
)
def test_smaller_micro_batches_are_tried_while_they_are_faster(rates: dict[int, float], best: int) -> None:
    tried = list[int]()

    def rate(_end: object, rows: int) -> float:
        tried.append(rows)
        return rates[rows]

    stream: Any = None
    ends: Any = SimpleNamespace(rate=rate)
    assert _best(ends, End(Rows(8, tuple(rates)), stream)) == best
    assert tried == [8, 8, 4, 2][: len(tried)]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", RESULTS)
def test_the_short_measurement_gives_a_figure_for_every_question(name: str) -> None:
    before = set(SHM.glob(LEAVINGS))
    words = [sys.executable, "-m", "dev.bench", name, "--quick", "--json"]
    bench = subprocess.run(words, capture_output=True, text=True, check=False)
    assert bench.returncode == 0, bench.stderr
    lines = [json.loads(line) for line in bench.stdout.splitlines()]
    results = [line for line in lines if line["event"] == "result"]
    assert len(results) == RESULTS[name], bench.stdout
    assert all(line["measured"] > 0 and line["target"] for line in results), bench.stdout
    assert not set(SHM.glob(LEAVINGS)) - before
