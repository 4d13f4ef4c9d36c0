# SPDX-License-Identifier: Apache-2.0
"""What ``framegate mergemap check`` says of a configuration: its rules, an example, and inputs that come late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.commands.map_check import explained
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.config.late_inputs import late_input_warnings

EXAMPLES = sorted((Path(__file__).parents[3] / "joinbarrier" / "examples").glob("*.toml"))


def config(*inputs: dict[str, Any], mergemap: dict[str, Any] | None = None, **join: Any) -> JoinConfig:
    named = [{"name": f"i{index}", "stream": 10001 + index, **each} for index, each in enumerate(inputs)]
    return JoinConfig.model_validate({"join": join, "mergemap": mergemap or {}, "input": named})


def text(found: JoinConfig) -> str:
    return "\n".join(explained(found))


def test_a_join_by_number_is_told_by_the_frames_of_one_row() -> None:
    told = text(config({}, {"offset": -2}, {"window": 5}))
    assert "i1 (stream 10002): its frame n - 2" in told
    assert "Example: the row for n = 100 holds i0 #100, i1 #98, i2 the newest of #96 to #100." in told


def test_a_join_by_time_is_told_by_the_times_of_one_row() -> None:
    inputs: tuple[dict[str, Any], ...]
    inputs = ({}, {"window_ns": 10_000_000}, {"pick": "nearest", "tolerance_ns": 5_000_000, "offset_ns": 1_000_000})
    told = text(config(*inputs, policy="timestamp"))
    assert "i1 (stream 10002): its newest frame from t - 10 ms to t" in told
    assert "of i1 the newest frame from 0.99 s to 1 s, of i2 the nearest frame from 0.996 s to 1.006 s" in told


def test_a_sequence_and_a_latest_frame_beside_times_are_told_as_what_they_are() -> None:
    inputs = [{"name": "left", "stream": 1}, {"name": "right", "stream": 2, "offset": -2}]
    inputs.append({"name": "map", "stream": 3, "pick": "latest"})
    told = "\n".join(explained(JoinConfig.model_validate({"join": {"policy": "timestamp"}, "input": inputs})))
    assert "its frame n - 2, where n is the number of the frame that makes the row" in told
    assert "of right the frame n - 2" in told
    assert "its newest frame at or before t, of any age" in told
    assert "map is taken as it is: once it has a frame, no row waits for another" in told


def test_it_says_who_waits_for_whom_and_until_when() -> None:
    told = text(config({}, {"optional": True}, {"deadline_ms": 20}, mergemap={"stale_timeout_ms": 500}))
    assert "i0: a row waits for it; when it was silent for more than 500 ms, rows go without it (stale)" in told
    assert "i1 is optional: rows do not wait for it" in told
    assert "i2: a row waits for it for 20 ms and goes without it then (late)" in told


def test_nearest_without_a_tolerance_is_told() -> None:
    assert "even if it is seconds away" in text(config({}, {"pick": "nearest"}, policy="timestamp", drive="input:i0"))


@pytest.mark.parametrize(("drive", "tolerance_ns"), [("input:i0", 16_666_666), ("clock:100", 5_000_000)])
def test_one_to_one_without_a_tolerance_is_warned_of_at_the_start_with_one_to_set(
    drive: str, tolerance_ns: int
) -> None:
    once = {"pick": "nearest", "reuse": False}
    (warning,) = config({}, once, policy="timestamp", drive=drive).warnings()
    assert "a row can wait for 64 outputs" in warning
    assert f"tolerance_ns = {tolerance_ns}" in warning
    for bounded in ({"tolerance_ns": 5}, {"window_ns": 5}, {"optional": True}, {"reuse": True}):
        assert config({}, {**once, **bounded}, policy="timestamp", drive=drive).warnings() == []


def test_a_lateness_above_a_window_is_warned_of_at_the_start() -> None:
    late = config({}, {"window_ns": 10}, policy="timestamp", mergemap={"lateness_ns": 50})
    assert late.warnings() == late_input_warnings(late) != []


def test_a_map_of_another_authority_is_said_to_be_the_rule() -> None:
    assert "another authority" in text(config({}, mergemap={"serve": False}))


@pytest.mark.parametrize("key", ["window_ns", "tolerance_ns"])
def test_a_lateness_above_how_old_a_frame_may_be_is_warned_of(key: str) -> None:
    late = {"lateness_ns": 50_000_000}
    (warning,) = late_input_warnings(config({}, {key: 10_000_000}, policy="timestamp", mergemap=late))
    assert f"lateness_ns (50 ms) is above {key} of i1 (10 ms)" in warning
    for harmless in ({"lateness_ns": 10_000_000}, {**late, "late": "stall"}, {}):
        assert late_input_warnings(config({}, {key: 10_000_000}, policy="timestamp", mergemap=harmless)) == []
    assert late_input_warnings(config({}, {}, policy="timestamp", mergemap=late)) == []


@pytest.mark.parametrize("policy", ["sequence", "latest", "union"])
def test_what_waits_for_no_time_has_no_lateness_to_warn_of(policy: str) -> None:
    assert late_input_warnings(config({}, {}, policy=policy)) == []
    assert explained(config({}, {}, policy=policy))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_explained_and_warned_of_nothing(example: Path) -> None:
    found = load_join_config(example, {})
    assert all(each.name in text(found) for each in found.input) or found.join.policy == "union"
    assert late_input_warnings(found) == []
