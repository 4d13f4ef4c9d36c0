# SPDX-License-Identifier: Apache-2.0
"""What the demo takes, before it starts anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framegate.schema.errors import WrongUsage
from framegate.tools.demo.options import DemoOptions
from framegate.tools.demo.plan import LAG, Plan, check


def plan(folder: Path, **options: Any) -> Plan:
    return Plan(DemoOptions(**options), folder, folder)


def option(words: list[object], name: str) -> object:
    return words[words.index(name) + 1]


@pytest.mark.parametrize("inputs", [2, 3, 16])
@pytest.mark.parametrize("shape", [(16, 16), (480, 640), (2160, 3840)])
@pytest.mark.parametrize("rate", [0.1, 200.0, 100_000.0])
def test_the_journal_has_room_for_several_rows(
    tmp_path: Path, inputs: int, shape: tuple[int, int], rate: float
) -> None:
    made = plan(tmp_path, inputs=inputs, shape=shape, rate=rate)
    assert made.journal_bytes >= 32 * made.row_bytes
    assert made.memory_bytes > made.journal_bytes


def test_only_the_last_camera_lags(tmp_path: Path) -> None:
    made = plan(tmp_path, inputs=3)
    assert [option(made.camera(name), "--lag") for name in made.cameras] == [0, 0, LAG]


def test_cameras_wait_for_a_recorder_too(tmp_path: Path) -> None:
    words = [plan(tmp_path, record=file).camera("camera1") for file in (None, "x.mcap")]
    assert [option(each, "--wait-consumers") for each in words] == [2, 3]


def test_a_server_and_a_recorder_run_where_they_are_wanted(tmp_path: Path) -> None:
    assert dict(plan(tmp_path).helpers()) == {}
    assert list(dict(plan(tmp_path, has_cluster=True, record="x.mcap").helpers())) == ["server", "recorder"]


def test_what_is_kept_elsewhere_takes_no_shared_memory(tmp_path: Path) -> None:
    kept = Plan(DemoOptions(), tmp_path, tmp_path / "kept")
    assert plan(tmp_path).memory_bytes - kept.memory_bytes == kept.journal_bytes


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": 1},
        {"inputs": 17},
        {"shape": (480,)},
        {"shape": (15, 640)},
        {"shape": (3, 480, 640)},
        {"seconds": 0.0},
        {"has_cluster": True, "has_spark": False},
        {"seconds": 1e6, "rate": 1e6},
    ],
    ids=str,
)
def test_what_cannot_be_shown_is_wrong_usage(options: dict[str, Any]) -> None:
    with pytest.raises(WrongUsage, match="--"):
        check(DemoOptions(**options))
