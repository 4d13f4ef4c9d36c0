# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.recovery [KILLS] [SEED] [--aligned | --unaligned] [--policy NAME] [--spark | --from]``.

Prints a table; exit status 1 when a journal or a sink is not what was promised.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.recovery.driverless import run_driverless
from tests.recovery.kills import Outcome, Queries, no_query, run, table
from tests.recovery.scenario import POLICIES, Scenario


def main(arguments: Sequence[str]) -> int:
    """Run and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.recovery", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=10)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--aligned", action="store_true", help="aligned checkpoints only")
    parser.add_argument("--unaligned", action="store_true", help="unaligned checkpoints only")
    parser.add_argument("--policy", choices=POLICIES, action="append", help="of these policies only")
    parser.add_argument("--spark", action="store_true", help="a query in Spark reads each journal, and is killed too")
    parser.add_argument("--from", dest="is_from", action="store_true", help="the join reads the recording itself")
    given = parser.parse_args(arguments)
    ways = [is_unaligned for is_unaligned in (False, True) if not (given.aligned and is_unaligned)]
    ways = [is_unaligned for is_unaligned in ways if is_unaligned or not given.unaligned]
    scenarios = [Scenario(policy, way) for policy in given.policy or POLICIES for way in ways]
    queries: Queries = no_query
    if given.spark:
        from tests.recovery.spark_query import spark_query

        queries = spark_query
    if given.is_from:
        outcomes = run_driverless(
            [Scenario(policy, is_unaligned=False) for policy in given.policy or POLICIES], given.kills, given.seed
        )
        return _told(outcomes)
    print(f"{given.kills} kills, seed {given.seed}", flush=True)
    outcomes = run(scenarios, given.kills, given.seed, queries=queries, tell=_tell)
    return _told(outcomes)


def _told(outcomes: list[Outcome]) -> int:
    print("\n".join(table(outcomes)))
    return 0 if all(each.is_equal for each in outcomes) else 1


def _tell(outcome: Outcome) -> None:
    print(f"{outcome.scenario.name}: {dict(outcome.kills)}, {'good' if outcome.is_equal else 'BAD'}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
