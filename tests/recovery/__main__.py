# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.recovery [KILLS] [SEED] [options]``, and ``python -m tests.recovery --table FILE..``.

Prints a table; exit status 1 when a journal or a sink is not what was promised.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.recovery.driverless import run_driverless
from tests.recovery.kills import Queries, no_query, run
from tests.recovery.outcome import Outcome, save, saved, table
from tests.recovery.scenario import EXACT, POLICIES, Scenario


def main(arguments: Sequence[str]) -> int:
    """Run and print what came of it."""
    given = _parser().parse_args(arguments)
    if given.table:
        return _told(saved(given.table))
    ways = [is_unaligned for is_unaligned in (False, True) if not (given.aligned and is_unaligned)]
    ways = [is_unaligned for is_unaligned in ways if is_unaligned or not given.unaligned]
    policies = given.policy or (EXACT if given.chained else POLICIES)
    scenarios = [Scenario(policy, way, given.chained) for policy in policies for way in ways]
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

    def tell(outcome: Outcome) -> None:
        judged = "good" if outcome.is_equal else "BAD"
        print(f"{outcome.scenario.name}, {outcome.victim}: {dict(outcome.kills)}, {judged}", flush=True)
        if given.save is not None:
            save(given.save, outcome)

    return _told(run(scenarios, given.kills, given.seed, queries=queries, is_by_kind=given.by_kind, tell=tell))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.recovery", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=10)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--aligned", action="store_true", help="aligned checkpoints only")
    parser.add_argument("--unaligned", action="store_true", help="unaligned checkpoints only")
    parser.add_argument("--policy", choices=POLICIES, action="append", help="of these policies only")
    parser.add_argument("--chained", action="store_true", help="a second agent reads what the first one publishes")
    parser.add_argument("--by-kind", action="store_true", help="runs of which only one kind of program is killed, too")
    parser.add_argument("--spark", action="store_true", help="a query in Spark reads each journal, and is killed too")
    parser.add_argument("--from", dest="is_from", action="store_true", help="the join reads the recording itself")
    parser.add_argument("--save", type=Path, metavar="FILE", help="append what came of it, for a table of many runs")
    parser.add_argument("--table", type=Path, metavar="FILE", nargs="+", help="only print the table of saved runs")
    return parser


def _told(outcomes: list[Outcome]) -> int:
    print("\n".join(table(outcomes)))
    return 0 if all(each.is_equal for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
