# SPDX-License-Identifier: Apache-2.0
"""An agent killed at each step of its writing, or at random: the next one goes on, no row is there twice or lost."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from framegate._native import journal_fault_points
from tests.own_folder import own_folder
from tests.system.conftest import System
from tests.system.frame_account import Frame, accounts, sent, sent_so_far
from tests.system.join_bed import (
    LEFT,
    PAIR,
    RIGHT,
    JoinBed,
    assert_payloads_are_the_frames,
    assert_rows_go_on,
    interrupted,
    killed,
    summary_of,
)
from tests.system.journal_table import Row, read_rows, row_count

ROWS_BETWEEN = 60
RANDOM_KILLS = 5
LONG_RANDOM_KILLS = 100
ROOMY = {"max_bytes": "64MiB", "segment_bytes": "256KiB", "seal_bytes": "64KiB"}
EVERYTHING = {**ROOMY, "max_bytes": "1GiB"}
"""The producers go on while an agent starts: a hundred slow starts are more rows than `ROOMY` keeps."""
TIGHT = {**ROOMY, "max_bytes": "1MiB"}
"""So little that the oldest segments are dropped and their files used again, within a second."""


@dataclass(frozen=True)
class Kill:
    """How an agent comes to a place."""

    times: int = 1
    """It is killed when it is there so often."""
    after: str = ""
    """Another one was killed there before: what it left is what brings this one to the place."""
    is_tight: bool = False
    is_at_the_end: bool = False
    """Only an agent that ends in good order comes there."""


KILLS = {
    "open.locked": Kill(after="seal.head"),
    "recovery.cut": Kill(after="seal.prefix"),
    "recovery.finished": Kill(after="seal.head"),
    "recovery.reopened": Kill(after="seal.head"),
    "spare.made": Kill(times=2),
    "segment.header": Kill(times=2),
    "segment.opened": Kill(times=2),
    "row.copied": Kill(times=50),
    "row.committed": Kill(times=50),
    "unmatched.columns": Kill(times=2),
    "unmatched.metadata": Kill(times=2),
    "unmatched.cleared": Kill(times=2),
    "unmatched.prefix": Kill(times=2),
    "unmatched.sealed": Kill(times=2),
    "seal.columns": Kill(times=5),
    "seal.metadata": Kill(times=5),
    "seal.cleared": Kill(times=5),
    "seal.prefix": Kill(times=5),
    "seal.head": Kill(times=5),
    "finish.footer": Kill(),
    "finish.ended": Kill(),
    "finish.truncated": Kill(),
    "finish.renamed": Kill(),
    "retention.told": Kill(is_tight=True),
    "retired.counted": Kill(is_tight=True),
    "retired.written": Kill(is_tight=True),
    "retired.replaced": Kill(is_tight=True),
    # Only a file that was cut short is removed when it is dropped: one of a life that ended early.
    "retention.dropped": Kill(after="unmatched.sealed", is_tight=True),
    "recycle.renamed": Kill(is_tight=True),
    "recycle.locked": Kill(is_tight=True),
    "close.sealed": Kill(is_at_the_end=True),
    "close.finished": Kill(is_at_the_end=True),
}


USUAL = {
    "recovery.cut",
    "row.copied",
    "unmatched.sealed",
    "seal.columns",
    "seal.cleared",
    "seal.prefix",
    "seal.head",
    "finish.renamed",
    "recycle.locked",
    "close.sealed",
}
"""The places of the usual lane, one of each kind; a writer alone is killed at every one by test_journal_kills.py."""
PLACES = [place if place in USUAL else pytest.param(place, marks=pytest.mark.long) for place in KILLS]


class Running:
    """Producers that never end, for many agents one after another."""

    def __init__(self, bed: JoinBed) -> None:
        self.bed = bed
        # The gaps of one input leave frames of the other without a partner: there is always something unmatched.
        self.producers = {"left": bed.counted(LEFT, seed=1, gaps=0.1), "right": bed.counted(RIGHT, seed=2)}
        # They begin together, when the first agent is there.
        first = bed.join(bed.lockstep("first"), "--outputs", "1")
        assert first.wait() == 0, first
        self._words = count()

    def sent(self, name: str) -> set[Frame]:
        """What an input's producer has announced so far."""
        return sent_so_far(self.producers[name], str(next(self._words)))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with own_folder("system") as shm, closing(System(tmp_path_factory.mktemp("kills"))) as system:
        bed = JoinBed(system, shm)
        bed.start_driver()
        yield Running(bed)


def test_every_place_has_a_kill() -> None:
    assert set(KILLS) == set(journal_fault_points())


@pytest.mark.parametrize("place", PLACES)
def test_agent_killed_there_the_next_one_goes_on(running: Running, place: str) -> None:
    kill, bed = KILLS[place], running.bed
    journal = bed.journal(place)
    config = bed.lockstep(place, journal=TIGHT if kill.is_tight else ROOMY)
    seen: list[Row] = []
    if kill.after:
        die(bed, config, KILLS[kill.after], kill.after)
        seen = read_rows(journal)
    die(bed, config, kill, place)
    seen = seen or read_rows(journal)
    agent = bed.join(config)
    began_at = agent.says(event="ready")["next_row"]
    assert began_at >= len(seen)
    agent.until(lambda: (rows := read_rows(journal)) and rows[-1].row >= began_at + ROWS_BETWEEN, "going on")
    interrupted(agent)
    check(running, journal, seen)
    shutil.rmtree(journal)


def die(bed: JoinBed, config: Path, kill: Kill, place: str) -> None:
    agent = bed.join(config, is_ready=False, FRAMEGATE_FAULT=f"{place}:{kill.times}")
    try:
        if kill.is_at_the_end:
            bed.until_rows(agent, ROWS_BETWEEN, config.stem)
            agent.send(signal.SIGINT)
        assert agent.wait() == -signal.SIGKILL, f"it never came to {place}: {agent}"
    finally:
        # The others go on with this driver.
        agent.close()


def check(running: Running, journal: Path, seen: list[Row]) -> None:
    """What was sealed before is there yet, and of every frame since the first one joined it is known what became."""
    rows = read_rows(journal)
    by_number = {row.row: row for row in rows}
    assert all(by_number.get(row.row, row) == row for row in seen)
    assert_rows_go_on(journal)
    assert_payloads_are_the_frames(journal, PAIR)
    verified = running.bed.system.framegate("journal", "verify", str(journal))
    assert verified.wait() == 0, verified
    assert f"rows={len(rows)} " in verified.stdout
    assert rows[0].row > 0 or len(rows) >= len(seen)
    for name, account in accounts(journal).items():
        assert not account.twice
        assert not account.joined & account.causes.keys()
        known = account.joined | account.causes.keys()
        first, last = min(account.joined), max(account.joined)
        missing = {frame for frame in running.sent(name) if first <= frame <= last} - known
        assert not missing, f"nothing is known of {len(missing)} frames of {name}: {sorted(missing)[:10]}"


def kill_at_random(bed: JoinBed, times: int, seed: int) -> None:
    chance = random.Random(seed)
    producers = {"left": bed.counted(LEFT, seed=1, gaps=0.05), "right": bed.counted(RIGHT, seed=2, gaps=0.05)}
    config = bed.lockstep(journal=EVERYTHING)
    for _ in range(times):
        agent = bed.join(config, is_ready=False)
        bed.until_rows(agent, row_count(bed.journal()) + chance.randrange(1, 200))
        killed(agent)
    last = bed.join(config)
    bed.until_rows(last, row_count(bed.journal()) + ROWS_BETWEEN)
    for producer in producers.values():
        producer.tell("end")
    summary_of(last)
    assert_rows_go_on(bed.journal())
    found = accounts(bed.journal())
    for name, producer in producers.items():
        found[name].check(sent(producer))
    verified = bed.system.framegate("journal", "verify", str(bed.journal()))
    assert verified.wait() == 0, verified


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def test_agent_killed_at_random_every_frame_is_accounted_for(bed: JoinBed) -> None:
    kill_at_random(bed, RANDOM_KILLS, seed=1)


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_agent_killed_a_hundred_times_every_frame_is_accounted_for(bed: JoinBed) -> None:
    kill_at_random(bed, LONG_RANDOM_KILLS, seed=2)
