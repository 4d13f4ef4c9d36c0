# SPDX-License-Identifier: Apache-2.0
"""A replayed recording, joined while everything is killed again and again: rows as without kills (`tests/recovery`)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.recovery.kills import run
from tests.recovery.outcome import table
from tests.recovery.scenario import EXACT, Scenario
from tests.recovery.spoiling import NOT_RESTORING, drop_waiting_frames

KILLS = 10
CHAINED_KILLS = 4
SCENARIOS = [
    Scenario("sequence", is_unaligned=False),
    Scenario("timestamp", is_unaligned=True),
    Scenario("latest", is_unaligned=False),
    Scenario("union", is_unaligned=True),
]


@pytest.mark.timeout(300)
def test_ten_kills_leave_the_rows_of_a_run_without_kills() -> None:
    outcomes = run(SCENARIOS, KILLS, seed=1)
    print("\n".join(table(outcomes)))
    assert sum(each.kills.total() for each in outcomes) >= KILLS
    assert [problem for each in outcomes for problem in each.problems] == []
    assert sum(each.restores for each in outcomes) > 0


@pytest.mark.timeout(300)
def test_of_two_chained_agents_either_is_killed_and_both_journals_are_those_of_a_run_without_kills() -> None:
    """The second one reads what the first one publishes; whichever dies, both are restored from one cut."""
    (outcome,) = run([Scenario("sequence", is_unaligned=True, is_chained=True)], CHAINED_KILLS, seed=1)
    print("\n".join(table([outcome])))
    assert outcome.kills.total() >= CHAINED_KILLS
    assert outcome.problems == []
    assert outcome.restores > 0


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_two_chained_agents_killed_by_the_dozen_leave_the_rows_of_a_run_without_kills() -> None:
    scenarios = [Scenario(policy, way, is_chained=True) for policy in EXACT for way in (False, True)]
    outcomes = run(scenarios, 48, seed=4, is_by_kind=True)
    print("\n".join(table(outcomes)))
    assert [problem for each in outcomes for problem in each.problems] == []
    killed = sum((each.kills for each in outcomes), Counter[str]())
    assert killed["agent"] + killed["second"] >= 16


@pytest.mark.timeout(300)
def test_an_agent_that_is_not_restored_is_noticed() -> None:
    (outcome,) = run([Scenario("sequence", is_unaligned=False)], 2, seed=2, agent_words=NOT_RESTORING)
    assert not outcome.is_equal


@pytest.mark.long
@pytest.mark.timeout(300)
def test_frames_that_are_missing_from_a_state_are_noticed() -> None:
    (outcome,) = run([Scenario("sequence", is_unaligned=False)], 4, seed=3, spoil=drop_waiting_frames)
    assert not outcome.is_equal
