# SPDX-License-Identifier: Apache-2.0
"""200 kills of agent, replay, driver and query: journals and sinks as without kills (`python -m tests.recovery`)."""

from __future__ import annotations

import pytest

from tests.recovery.kills import run, table
from tests.recovery.scenario import POLICIES, Scenario
from tests.recovery.spark_query import spark_query

KILLS = 200
SCENARIOS = [Scenario(policy, is_unaligned) for policy in POLICIES for is_unaligned in (False, True)]


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_two_hundred_kills_leave_journals_and_sinks_as_without_kills() -> None:
    outcomes = run(SCENARIOS, KILLS, seed=2, queries=spark_query)
    print("\n".join(table(outcomes)))
    assert sum(each.kills.total() for each in outcomes) >= KILLS
    assert [problem for each in outcomes for problem in each.problems] == []
