# SPDX-License-Identifier: Apache-2.0
"""The worked joins and the examples that ship: each loads, says what it means, and its rows follow from the rules."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from framegate.joinbarrier import examples
from framegate.joinbarrier.config.configuration import load_join_config
from framegate.schema.errors import WrongUsage

from tests.joins.oracle import outcome
from tests.joins.scenario import Scenario, scenarios

ALL = scenarios()
SCHEDULED = [each for each in ALL if not each.is_by_the_clock]
BY_THE_CLOCK = [each for each in ALL if each.is_by_the_clock]


def test_every_example_of_the_appendix_is_there() -> None:
    wanted = [*(f"a3{n}" for n in range(1, 5)), *(f"a4{n}" for n in range(1, 7)), *(f"a5{n}" for n in range(1, 4))]
    assert [each.name.partition("_")[0] for each in ALL] == wanted


@pytest.mark.parametrize("scenario", SCHEDULED, ids=lambda each: each.name)
def test_the_rows_follow_from_the_rules(scenario: Scenario) -> None:
    assert scenario.rows()
    assert outcome(scenario).rows == scenario.rows()


@pytest.mark.parametrize("scenario", SCHEDULED, ids=lambda each: each.name)
def test_what_is_in_no_row_has_the_cause_that_follows(scenario: Scenario) -> None:
    assert outcome(scenario).unmatched == sorted(scenario.unmatched())


@pytest.mark.parametrize("scenario", SCHEDULED, ids=lambda each: each.name)
def test_every_frame_is_in_a_row_or_unmatched(scenario: Scenario) -> None:
    for index, each in enumerate(scenario.config.input):
        sent = {step.seq for step in scenario.schedules()[each.name] if step.seq is not None}
        joined = {row.inputs[index] for row in scenario.rows()} & sent
        left = {
            seq
            for part in scenario.unmatched()
            if part.input == each.name
            for seq in sent
            if part.seq <= seq <= part.seq_last
        }
        assert (joined | left, joined & left) == (sent, set())


@pytest.mark.parametrize("scenario", BY_THE_CLOCK, ids=lambda each: each.name)
def test_what_the_clock_makes_has_a_predicate_for_every_input(scenario: Scenario) -> None:
    said = tomllib.loads((scenario.folder / "expected.toml").read_text())
    names = {each.name for each in scenario.config.input}
    assert set(said["produce"]) == set(said["newest"]) == names
    assert said["rows"]["at_least"] > 0
    assert said["rows"]["step_ns"] == scenario.config.drive.period_ns
    assert said["newest"] == {each.name: each.offset_ns for each in scenario.config.input}


def test_there_are_three_examples_and_each_is_a_join(tmp_path: Path) -> None:
    assert examples.names() == ("camera-imu", "fast-slow", "lockstep")
    policies = set()
    for name in examples.names():
        file = tmp_path / f"{name}.toml"
        file.write_text(examples.text(name))
        config = load_join_config(file, {})
        policies.add(config.join.policy)
        assert config.join.journal == f"out/{name}"
        assert config.merge_map(0) is not None
        # The commands that it gives are those of its own streams.
        commanded = re.findall(r"produce --stream (\d+)", examples.text(name))
        assert sorted(map(int, commanded)) == sorted(each.stream for each in config.input)
        assert f"framegate join --config {name}.toml" in examples.text(name)
    assert policies == {"sequence", "timestamp", "latest"}


def test_an_example_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(WrongUsage, match="camera-imu, fast-slow, lockstep"):
        examples.text("../lockstep")
