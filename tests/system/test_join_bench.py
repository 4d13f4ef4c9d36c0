# SPDX-License-Identifier: Apache-2.0
"""The measurements of joins and recordings, in their short form: they run through, lose nothing of a slow pace, and
leave nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.system.conftest import System

ROOT = Path(__file__).parents[2]
LEAVINGS = "framegate-bench-*"
JOINS = {
    "join": {"pairs/s", "x"},
    "join_ages": {"us", "x"},
    "joins_by_hand": {"pairs/s", "x"},
    "open_loop": {"of all", "x"},
}


def measured(system: System, shm: Path, *names: str) -> list[dict[str, Any]]:
    before = set(shm.parent.glob(LEAVINGS))
    words = ("-m", "dev.bench", *names, "--quick", "--json")
    bench = system.start(sys.executable, *words, PYTHONPATH=str(ROOT))
    assert bench.wait() == 0, bench
    assert not set(shm.parent.glob(LEAVINGS)) - before
    return [line for line in bench.objects() if line["event"] == "result"]


@pytest.mark.parametrize(
    ("name", "units"),
    [pytest.param(*each, marks=() if each[0] == "join" else pytest.mark.long, id=each[0]) for each in JOINS.items()],
)
def test_the_short_measurement_of_joins_gives_a_figure_for_every_question(
    name: str, units: set[str], system: System, shm: Path
) -> None:
    results = measured(system, shm, name)
    assert {line["unit"] for line in results} == units
    assert all(line["measured"] > 0 for line in results), results
    held = [line for line in results if "producers held back, over" in line["question"]]
    assert len(held) == (name == "join"), results
    assert all(line["how"].endswith("; 0 pairs lost") for line in held), held


@pytest.mark.long
def test_the_short_measurement_of_recordings_gives_a_figure_for_every_question(system: System, shm: Path) -> None:
    results = measured(system, shm, "record")
    assert {line["unit"] for line in results} == {"frames", "s", "x"}
    assert all(line["measured"] > 0 for line in results if line["unit"] != "frames"), results


@pytest.mark.long
def test_the_short_measurement_of_replays_loses_nothing_beside_a_slow_consumer(system: System, shm: Path) -> None:
    results = measured(system, shm, "replay")
    assert [line["unit"] for line in results] == ["us", "frames/s", "GB/s", "frames"]
    assert all(line["measured"] > 0 for line in results[:3]), results
    assert all(" 0 lost" in line["how"] for line in results[:3]), results
    assert results[3]["measured"] == 0, results
    assert "; 0 frames not read, " in results[3]["how"], results
