# SPDX-License-Identifier: Apache-2.0
"""Kills of agent, replay, coordinator, driver and query: all as without (`python -m tests.recovery`)."""

from __future__ import annotations

import pytest

from tests.recovery.kills import SPARK, TICKS, run
from tests.recovery.outcome import table
from tests.recovery.scenario import POLICIES, Scenario
from tests.recovery.spark_query import spark_query

FEW, KILLS = 3, 200
SEED_WITH_SPARK = 23
"""With it the few are an agent, the query and the driver."""
SCENARIOS = [Scenario(policy, is_unaligned) for policy in POLICIES for is_unaligned in (False, True)]


@pytest.mark.timeout(600)
def test_a_few_kills_of_a_pipeline_and_its_query_leave_journal_and_sink_as_without_kills() -> None:
    # Long enough that it is not over while the query begins again.
    ticks = 3 * TICKS
    scenarios = [Scenario("sequence", is_unaligned=True)]
    (outcome,) = run(scenarios, FEW, seed=SEED_WITH_SPARK, ticks=ticks, queries=spark_query)
    print("\n".join(table([outcome])))
    assert outcome.kills.total() >= FEW
    assert 0 < outcome.kills[SPARK] < FEW
    assert outcome.sink is not None
    assert outcome.problems == []


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_two_hundred_kills_leave_journals_and_sinks_as_without_kills() -> None:
    outcomes = run(SCENARIOS, KILLS, seed=2, queries=spark_query, is_by_kind=True)
    print("\n".join(table(outcomes)))
    assert sum(each.kills.total() for each in outcomes) >= KILLS
    assert [problem for each in outcomes for problem in each.problems] == []
