# SPDX-License-Identifier: Apache-2.0
"""Kills of a join that reads the recording itself (`join --from`): no driver, no replay, and checkpoints of its own."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from tests.chaos.world import Broken, Program, until
from tests.recovery.kills import shares
from tests.recovery.made_recording import INPUTS, frames_of, write_recording
from tests.recovery.outcome import Outcome
from tests.recovery.scenario import Scenario
from tests.recovery.verdict import judge

STREAMS: Final = (10_001, 10_002, 10_003)
TICKS: Final = 6_000
_LIFE_NS: Final = 1_200_000_000
"""From the first row or the restart on, until it is killed."""
_INTERVAL_MS: Final = 50
_LOOK_NS: Final = 5_000_000


def run_driverless(scenarios: Sequence[Scenario], kills: int, seed: int, *, ticks: int = TICKS) -> list[Outcome]:
    """So many kills over all scenarios. From a file every policy gives the same rows."""
    folder = Path(tempfile.mkdtemp(prefix="framegate-recovery-", dir="/dev/shm"))
    try:
        recording = folder / "in.mcap"
        write_recording(recording, ticks, seed, STREAMS)
        parts = zip(scenarios, shares(kills, len(scenarios)), strict=True)
        return [_killed(folder, recording, scenario, share, seed) for scenario, share in parts]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _killed(folder: Path, recording: Path, scenario: Scenario, kills: int, seed: int) -> Outcome:
    chance, outcome = random.Random(f"{seed} {scenario.name} from"), Outcome(scenario, "agent")
    whole = _join(folder, recording, scenario, "whole")
    whole.start()
    _until_ended(whole)
    frames = frames_of(recording, STREAMS)
    while outcome.kills.total() < kills and outcome.is_equal:
        outcome.runs += 1
        name = f"killed-{outcome.runs}"
        join, store = _join(folder, recording, scenario, name), CheckpointStore(_store(folder, scenario, name))
        join.start()
        seen: set[int] = set()
        while outcome.kills.total() < kills and not _has_ended_within(
            join, int(_LIFE_NS * chance.random()), store, seen
        ):
            join.process.kill()
            join.process.wait()
            outcome.kills["agent"] += 1
            outcome.restores += bool(store.ids())
            join.start()
        _until_ended(join)
        journal = _journal(folder, scenario, name)
        outcome.completed += len(seen)
        outcome.begun += max(seen, default=0)
        reference = _journal(folder, scenario, "whole")
        outcome.verdict.add(judge(scenario, journal, reference, frames, is_exact=True))
    return outcome


def _has_ended_within(join: Program, pause_ns: int, store: CheckpointStore, seen: set[int]) -> bool:
    """Let it go on for so long; whether it has ended by itself."""
    until(lambda: any(each.get("event") == "ready" for each in join.said) or not join.is_alive, "the join is ready")
    deadline_ns = monotonic_ns() + pause_ns
    while join.is_alive and monotonic_ns() < deadline_ns:
        seen.update(store.ids())
        sleep_ns(_LOOK_NS)
    return not join.is_alive


def _until_ended(join: Program) -> None:
    until(lambda: not join.is_alive, "everything is joined")
    if join.process.returncode != 0:
        sleep_ns(50_000_000)  # what it said last is on its way
        raise Broken(f"the join ended with {join.process.returncode}: {join.said[-2:]} {join.errors[-20:]}")


def _join(folder: Path, recording: Path, scenario: Scenario, name: str) -> Program:
    config = folder / f"{scenario.name}-{name}.toml"
    (stage,) = scenario.stages
    text = scenario.join(stage, _journal(folder, scenario, name), dict(zip(INPUTS, STREAMS, strict=True)))
    config.write_text(f"{text}\n[checkpoint]\ninterval_ms = {_INTERVAL_MS}\n")
    words = ["join", "--config", str(config), "--from", str(recording), "--json"]
    restoring = ["--restore", "latest", "--checkpoints", str(_store(folder, scenario, name))]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("AERON_", "FRAMEGATE_"))}
    return Program("join", [*words, *restoring], environment)


def _journal(folder: Path, scenario: Scenario, name: str) -> Path:
    return folder / f"journal-{scenario.name}-{name}"


def _store(folder: Path, scenario: Scenario, name: str) -> Path:
    return folder / f"checkpoints-{scenario.name}-{name}"
