# SPDX-License-Identifier: Apache-2.0
"""What came of a scenario, and the table of many of them: by what was killed, policy and alignment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tests.recovery.scenario import Scenario
from tests.recovery.verdict import Verdict

MIXED: Final = "any"
"""What was killed was chosen anew each time."""


@dataclass
class Outcome:
    """What came of one scenario, and of killing one kind of program in it."""

    scenario: Scenario
    victim: str = MIXED
    kills: Counter[str] = field(default_factory=Counter)
    begun: int = 0
    completed: int = 0
    restores: int = 0
    runs: int = 0
    verdict: Verdict = field(default_factory=Verdict)
    """Of the journals of all runs."""
    sink: Verdict | None = None
    """Of their sinks; None: no query read them."""

    @property
    def problems(self) -> list[str]:
        """Everything that is not as promised."""
        return [*self.verdict.problems, *(f"sink: {each}" for each in (self.sink.problems if self.sink else ()))]

    @property
    def is_equal(self) -> bool:
        """Whether everything is as promised."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """To be kept until a table is made of many."""
        # A counter is not copied as a dataclass's fields are.
        return {**asdict(replace(self, kills=Counter())), "kills": dict(self.kills)}

    @classmethod
    def of(cls, found: dict[str, Any]) -> Outcome:
        """What ``as_json`` gave."""
        sink = found["sink"]
        return cls(
            **{
                **found,
                "scenario": Scenario(**found["scenario"]),
                "kills": Counter(found["kills"]),
                "verdict": Verdict(**found["verdict"]),
                "sink": None if sink is None else Verdict(**sink),
            }
        )

    def add(self, other: Outcome) -> None:
        """Another run of the same."""
        self.kills += other.kills
        for name in ("begun", "completed", "restores", "runs"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.verdict.add(other.verdict)
        if other.sink is not None:
            self.sink = self.sink or Verdict()
            self.sink.add(other.sink)


def save(path: Path, outcome: Outcome) -> None:
    """Append it to a file of lines."""
    with path.open("a") as lines:
        lines.write(json.dumps(outcome.as_json()) + "\n")


def saved(paths: Iterable[Path]) -> list[Outcome]:
    """What was appended, the same of all runs taken together, in the order of the table."""
    found: dict[tuple[Scenario, str], Outcome] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            outcome = Outcome.of(json.loads(line))
            key = outcome.scenario, outcome.victim
            if key in found:
                found[key].add(outcome)
            else:
                found[key] = outcome
    return sorted(found.values(), key=lambda each: (each.scenario.is_chained, each.victim == MIXED, each.victim))


_COLUMNS: Final = "{:<12} {:<20} {:<10} {:>5} {:>4} {:>8} {:>8} {:>7} {:>7} {:>6} {:>6} {:>8} {:>8} {:>9} {:>22}  {}"


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """For people. ``caused`` and ``uncaused``: gaps, in frames; of a sink rows, missing, doubled and wrong ones."""
    yield _COLUMNS.format(
        *("killed", "policy", "alignment", "kills", "runs", "expected", "rows", "missing", "doubled", "wrong"),
        *("caused", "uncaused", "restores", "stored", "sink: rows/mis/dbl/wr", "as promised"),
    )
    total = Counter[str]()
    for each in outcomes:
        total += each.kills
        yield from _lines(each)
    yield f"{total.total()} kills: {', '.join(f'{kind} {count}' for kind, count in sorted(total.items()))}"


def _lines(each: Outcome) -> Iterator[str]:
    found, sink = each.verdict, each.sink
    policy = f"{each.scenario.policy}{', chained' if each.scenario.is_chained else ''}"
    yield _COLUMNS.format(
        each.victim,
        policy,
        "unaligned" if each.scenario.is_unaligned else "aligned",
        each.kills.total(),
        each.runs,
        "-" if found.expected is None else found.expected,
        *(found.rows, found.missing, found.doubled, found.wrong, found.gaps_caused, found.gaps_uncaused),
        each.restores,
        f"{each.completed}/{each.begun}",
        "-" if sink is None else f"{sink.rows}/{sink.missing}/{sink.doubled}/{sink.wrong}",
        "yes" if each.is_equal else "NO",
    )
    if each.victim == MIXED:
        yield f"    {', '.join(f'{kind} {count}' for kind, count in sorted(each.kills.items()))}"
    yield from (f"    {problem}" for problem in each.problems)
