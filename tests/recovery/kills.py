# SPDX-License-Identifier: Apache-2.0
"""Kills at seeded moments, over joins of one recording; then what the journals and the sinks hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema.errors import DONE

from tests.recovery.scenario import Scenario
from tests.recovery.supervisor import Home, Pipeline
from tests.recovery.verdict import problems
from tests.system.journal_table import row_count

TICKS: Final = 500
"""Of the recording; at its own speed three frames in 12 ms."""
KINDS: Final = ("agent", "replay", "driver")
_LIFE_NS: Final = 1_500_000_000
"""A life lasts so long at most, from when all are there: several checkpoints."""
_BIRTH_NS: Final = 900_000_000
"""The same for one that is ended while it is being restored."""
_GRIEF_NS: Final = 200_000_000
"""For so long at most the others are without the one that was killed."""


class Query(Protocol):
    """A query over a journal, into a sink."""

    def keep_running(self) -> None:
        """Begin it, if it does not run and there is a journal to read."""

    def kill(self, is_over: Callable[[], bool]) -> None:
        """End it as the kernel does once it is at work, or nothing more comes; and begin it again."""

    def finish(self, rows: int) -> Iterator[str]:
        """Wait until the sink has so many rows; what is wrong with it."""


Spoil: TypeAlias = Callable[[CheckpointStore], None]
"""Does something to the newest checkpoint."""
Queries: TypeAlias = Callable[[Path], AbstractContextManager[Query | None]]
"""Begins one over a journal."""


@dataclass
class Outcome:
    """What came of one scenario."""

    scenario: Scenario
    kills: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    begun: int = 0
    completed: int = 0
    restores: int = 0
    runs: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether everything is as promised."""
        return not self.problems


def no_query(_journal: Path) -> AbstractContextManager[Query | None]:
    """Nobody reads."""
    return nullcontext(None)


def shares(kills: int, scenarios: Sequence[Scenario]) -> Iterator[tuple[Scenario, int]]:
    """How many each gets; the first ones get what is left over."""
    each, rest = divmod(kills, len(scenarios))
    return ((scenario, each + (index < rest)) for index, scenario in enumerate(scenarios))


def run(
    scenarios: Sequence[Scenario],
    kills: int,
    seed: int,
    *,
    ticks: int = TICKS,
    queries: Queries = no_query,
    agent_words: tuple[str, ...] = (),
    spoil: Spoil | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """So many kills over all scenarios. ``agent_words``: what an agent is started with in place of restoring.

    ``spoil`` is given the store before each start. Both are for canaries.
    """
    with Home(scenarios) as home:
        found = []
        for scenario, share in shares(kills, scenarios):
            chance = random.Random(f"{seed} {scenario.name}")
            killing = _Killing(home, scenario, ticks, seed, chance, queries, agent_words, spoil)
            found.append(killing.run(share))
            if tell is not None:
                tell(found[-1])
        return found


@dataclass
class _Killing:
    home: Home
    scenario: Scenario
    ticks: int
    seed: int
    chance: random.Random
    queries: Queries
    agent_words: tuple[str, ...]
    spoil: Spoil | None

    def run(self, kills: int) -> Outcome:
        outcome = Outcome(self.scenario)
        reference = self._reference()
        while outcome.kills.total() < kills and outcome.is_equal:
            # A join that has read all leaves nothing to kill: another one begins.
            outcome.runs += 1
            pipeline = self._pipeline(f"killed-{outcome.runs}", self.agent_words)
            try:
                self._one_run(pipeline, kills, outcome)
            finally:
                pipeline.close()
            outcome.problems += problems(self.scenario, pipeline.journal, reference, pipeline.frames)
            outcome.problems += self._verified(pipeline.journal)
            if outcome.problems:
                outcome.problems.append(f"what was said:\n{pipeline.story()}")
        return outcome

    def _pipeline(self, name: str, agent_words: tuple[str, ...] = ()) -> Pipeline:
        return Pipeline(self.home, self.scenario, name, ticks=self.ticks, seed=self.seed, agent_words=agent_words)

    def _reference(self) -> Path:
        """The same join of the same recording, with checkpoints and without kills."""
        pipeline = self._pipeline("whole")
        try:
            pipeline.start("max")
            pipeline.finish()
        finally:
            pipeline.close()
        return pipeline.journal

    def _one_run(self, pipeline: Pipeline, kills: int, outcome: Outcome) -> None:
        with self.queries(pipeline.journal) as query:
            while outcome.kills.total() < kills:
                if self.spoil is not None:
                    self.spoil(pipeline.store)
                # Some lives go as fast as they can, so that kills also come when much is under way.
                pipeline.start("max" if self.chance.random() < 0.2 else "1")
                if self._has_ended_before_its_kill(pipeline):
                    break
                if query is not None:
                    query.keep_running()
                kind = self.chance.choice(KINDS if query is None else (*KINDS, "spark"))
                outcome.kills[kind] += 1
                if kind == "spark" and query is not None:
                    query.kill(lambda: pipeline.has_ended)
                    # A life ends here all the same: while the query began again it has gone on for long.
                    kind = "agent"
                    outcome.kills[kind] += 1
                victim = {"agent": pipeline.agent, "replay": pipeline.replay, "driver": self.home.driver}[kind]
                pipeline.kill(victim, _mostly_short(self.chance, _GRIEF_NS))
            else:
                if self.spoil is not None:
                    self.spoil(pipeline.store)
                pipeline.start("max")
            pipeline.await_running()
            pipeline.finish()
            rows = row_count(pipeline.journal)
            if query is not None:
                outcome.problems += query.finish(rows)
        outcome.rows += rows
        outcome.begun += pipeline.begun
        outcome.completed += len(pipeline.seen)
        outcome.restores += pipeline.restores

    def _has_ended_before_its_kill(self, pipeline: Pipeline) -> bool:
        """Let a life go on until its moment comes."""
        if self.chance.random() < 0.25:
            pipeline.wait(_mostly_short(self.chance, _BIRTH_NS))
        else:
            pipeline.await_running()
            pipeline.wait(int(_LIFE_NS * self.chance.random()))
        return pipeline.has_ended

    def _verified(self, journal: Path) -> Iterator[str]:
        """As anybody can look."""
        verified = self.home.program("verify", "journal", "verify", str(journal))
        verified.start()
        if verified.process.wait() != DONE:
            yield f"framegate journal verify: {verified.errors[-2:]} {verified.said}"


def _mostly_short(chance: random.Random, most_ns: int) -> int:
    return int(most_ns * chance.random() ** 2)


def table(outcomes: Iterable[Outcome], kinds: Sequence[str] = (*KINDS, "spark")) -> Iterator[str]:
    """For people: a line for each scenario."""
    line = "{:<10} {:<10} " + "{:>7} " * len(kinds) + "{:>5} {:>8} {:>11} {:>8} {:>9}  {}"
    yield line.format(
        "policy", "alignment", *kinds, "runs", "rows", "checkpoints", "aborted", "restores", "as promised"
    )
    for each in outcomes:
        alignment = "unaligned" if each.scenario.is_unaligned else "aligned"
        counts = (each.kills[kind] for kind in kinds)
        numbers = each.runs, each.rows, each.completed, each.begun - each.completed, each.restores
        yield line.format(each.scenario.policy, alignment, *counts, *numbers, "yes" if each.is_equal else "NO")
        yield from (f"    {problem}" for problem in each.problems)
