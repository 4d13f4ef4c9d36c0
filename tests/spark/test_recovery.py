# SPDX-License-Identifier: Apache-2.0
"""200 kills of agent, replay, coordinator, driver and query: all as without (`python -m tests.recovery`)."""

from __future__ import annotations

import pytest

from tests.recovery.kills import run
from tests.recovery.outcome import table
from tests.recovery.scenario import POLICIES, Scenario
from tests.recovery.spark_query import spark_query

KILLS = 200
SCENARIOS = [Scenario(policy, is_unaligned) for policy in POLICIES for is_unaligned in (False, True)]


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_two_hundred_kills_leave_journals_and_sinks_as_without_kills() -> None:
    outcomes = run(SCENARIOS, KILLS, seed=2, queries=spark_query, is_by_kind=True)
    print("\n".join(table(outcomes)))
    assert sum(each.kills.total() for each in outcomes) >= KILLS
    assert [problem for each in outcomes for problem in each.problems] == []
