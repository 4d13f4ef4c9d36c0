# SPDX-License-Identifier: Apache-2.0
"""Kills at seeded moments, over joins of one recording; then what the journals and the sinks hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema.errors import DONE

from tests.recovery.outcome import MIXED, Outcome
from tests.recovery.scenario import JOINED, Scenario, Stage
from tests.recovery.supervisor import Home, Pipeline
from tests.recovery.verdict import Frames, Verdict, judge
from tests.system.journal_table import read_rows, row_count

TICKS: Final = 500
"""Of the recording; at its own speed three frames in 12 ms."""
SPARK: Final = "spark"
_LIFE_NS: Final = 1_500_000_000
"""A life lasts so long at most, from when all are there: several checkpoints."""
_BIRTH_NS: Final = 900_000_000
"""The same for one that is ended while it is being restored."""
_GRIEF_NS: Final = 200_000_000
"""For so long at most the others are without the one that was killed."""
_ATTEMPT_NS: Final = 60_000_000
"""So long after a checkpoint began its coordinator is killed at most."""
_BATCH_NS: Final = 400_000_000
"""So long after its first batch a query is killed at most."""
_SPARK_TICKS: Final = 4
"""How many times longer a recording is of which only the query is killed: it takes seconds to begin again."""


class Query(Protocol):
    """A query over a journal, into a sink."""

    def keep_running(self) -> None:
        """Begin it, if it does not run and there is a journal to read."""

    def kill(self, is_over: Callable[[], bool], pause_ns: int) -> None:
        """End it as the kernel does a moment after it is at work, or nothing more comes; and begin it again."""

    def finish(self, rows: int) -> Verdict:
        """Wait until the sink has so many rows; what is wrong with it."""


Spoil: TypeAlias = Callable[[CheckpointStore], None]
"""Does something to the newest checkpoint."""
Queries: TypeAlias = Callable[[Path], AbstractContextManager[Query | None]]
"""Begins one over a journal."""


def no_query(_journal: Path) -> AbstractContextManager[Query | None]:
    """Nobody reads."""
    return nullcontext(None)


def kinds_of(scenario: Scenario, *, has_query: bool) -> tuple[str, ...]:
    """What there is to kill. The coordinator lives in the driver: it is killed while a checkpoint is under way."""
    agents = (each.program for each in scenario.stages)
    return *agents, "replay", "driver", "coordinator", *((SPARK,) if has_query else ())


def shares(kills: int, places: int) -> list[int]:
    """How many each gets; the first ones get what is left over."""
    each, rest = divmod(kills, places)
    return [each + (index < rest) for index in range(places)]


def run(
    scenarios: Sequence[Scenario],
    kills: int,
    seed: int,
    *,
    ticks: int = TICKS,
    queries: Queries = no_query,
    is_by_kind: bool = False,
    agent_words: tuple[str, ...] = (),
    spoil: Spoil | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """So many kills over all scenarios. ``is_by_kind``: runs of which only one kind of program is killed, and then
    those of which any is; else these alone.

    ``agent_words``: what an agent is started with in place of restoring. ``spoil`` is given the store before each
    start. Both are for canaries.
    """
    has_query = queries is not no_query
    with Home(scenarios) as home:
        found = []
        for scenario, share in zip(scenarios, shares(kills, len(scenarios)), strict=True):
            kinds = kinds_of(scenario, has_query=has_query)
            groups = {MIXED: kinds} if not is_by_kind else {**{kind: (kind,) for kind in kinds}, MIXED: kinds}
            killing = _Killing(home, scenario, ticks, seed, queries, agent_words, spoil)
            for (victim, chosen), part in zip(groups.items(), shares(share, len(groups)), strict=True):
                found.append(killing.run(victim, chosen, part))
                if tell is not None:
                    tell(found[-1])
        return found


@dataclass
class _Killing:
    home: Home
    scenario: Scenario
    ticks: int
    seed: int
    queries: Queries
    agent_words: tuple[str, ...]
    spoil: Spoil | None
    chance: random.Random = field(init=False)
    references: dict[int, list[Path]] = field(default_factory=dict)
    """Of recordings by their length."""
    runs: int = 0

    def run(self, victim: str, kinds: Sequence[str], kills: int) -> Outcome:
        self.chance = random.Random(f"{self.seed} {self.scenario.name} {victim}")
        outcome = Outcome(self.scenario, victim)
        ticks = self.ticks * (_SPARK_TICKS if tuple(kinds) == (SPARK,) else 1)
        while outcome.kills.total() < kills and outcome.is_equal:
            # A join that has read all leaves nothing to kill: another one begins.
            outcome.runs += 1
            self.runs += 1
            references = self._references(ticks)
            pipeline = self._pipeline(f"killed-{self.runs}", ticks, self.agent_words)
            try:
                self._one_run(pipeline, kinds, kills, outcome)
            finally:
                pipeline.close()
            stages = zip(self.scenario.stages, pipeline.journals, references, strict=True)
            for stage, journal, reference in stages:
                frames = _frames_of(stage, pipeline.frames, references)
                outcome.verdict.add(judge(self.scenario, journal, reference, frames))
                outcome.verdict.problems += self._verified(journal)
            if outcome.problems:
                outcome.verdict.problems.append(f"what was said:\n{pipeline.story()}")
        return outcome

    def _pipeline(self, name: str, ticks: int, agent_words: tuple[str, ...] = ()) -> Pipeline:
        return Pipeline(self.home, self.scenario, name, ticks=ticks, seed=self.seed, agent_words=agent_words)

    def _references(self, ticks: int) -> list[Path]:
        """The same joins of the same recording, with checkpoints and without kills."""
        if ticks not in self.references:
            pipeline = self._pipeline(f"whole-{ticks}", ticks)
            try:
                pipeline.start(self._fastest)
                pipeline.finish()
            finally:
                pipeline.close()
            self.references[ticks] = pipeline.journals
        return self.references[ticks]

    @property
    def _fastest(self) -> str:
        """A replay waits for those that read it, and nobody waits for the second agent of two."""
        return "4" if self.scenario.is_chained else "max"

    def _one_run(self, pipeline: Pipeline, kinds: Sequence[str], kills: int, outcome: Outcome) -> None:
        with self.queries(pipeline.journals[-1]) as query:
            is_running = False
            while outcome.kills.total() < kills:
                if not is_running:
                    self._start(pipeline, self._fastest if self.chance.random() < 0.2 else "1")
                if self._has_ended_before_its_kill(pipeline):
                    break
                if query is not None:
                    query.keep_running()
                kind = self.chance.choice(kinds)
                is_running = kind == SPARK
                if kind == SPARK and query is not None:
                    query.kill(lambda: pipeline.has_ended, int(_BATCH_NS * self.chance.random()))
                    outcome.kills[kind] += 1
                    continue
                if kind == "coordinator":
                    pipeline.await_attempt()
                    pipeline.wait(int(_ATTEMPT_NS * self.chance.random()))
                was_alive = pipeline.kill(pipeline.victim(kind), _mostly_short(self.chance, _GRIEF_NS))
                # One that had done its work, while others had not, was not killed.
                outcome.kills[kind] += was_alive
            else:
                if not is_running:
                    self._start(pipeline, self._fastest)
            pipeline.await_running()
            pipeline.finish()
            if query is not None:
                outcome.sink = outcome.sink or Verdict()
                outcome.sink.add(query.finish(row_count(pipeline.journals[-1])))
        outcome.begun += pipeline.begun
        outcome.completed += len(pipeline.seen)
        outcome.restores += pipeline.restores

    def _start(self, pipeline: Pipeline, speed: str) -> None:
        """Some lives go as fast as they can, so that kills also come when much is under way."""
        if self.spoil is not None:
            self.spoil(pipeline.store)
        pipeline.start(speed)

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


def _frames_of(stage: Stage, recorded: Frames, references: Sequence[Path]) -> Frames:
    """Of each input of a stage: the recording's, or what the first stage publishes."""
    found = {name: recorded[name] for name in stage.rules if name in recorded}
    if JOINED in stage.rules:
        # The same rows as the run without kills made, so the same frames.
        rows = [(row.out_seq, row.inputs["a"].seq) for row in read_rows(references[0])]
        found[JOINED] = {out_seq: recorded["a"][seq] for out_seq, seq in rows if seq is not None}
    return found


def _mostly_short(chance: random.Random, most_ns: int) -> int:
    return int(most_ns * chance.random() ** 2)
