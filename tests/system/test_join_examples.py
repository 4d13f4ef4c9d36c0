# SPDX-License-Identifier: Apache-2.0
"""The worked joins of ``tests/joins`` by real processes: the rows and the leftovers that each folder names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.schedule import read_schedule

from tests.joins.scenario import Row, Scenario, scenarios
from tests.system.join_bed import JoinBed, interrupted
from tests.system.journal_table import Row as JournalRow
from tests.system.journal_table import is_finished, read_leftovers, read_rows

if TYPE_CHECKING:
    from tests.system.conftest import System

PLAYED = [each for each in scenarios() if not each.is_by_the_clock]
MOMENT_MS = 500
PENDING = "pending_at_end"
MARGIN_NS = 1_000_000_000
"""Between the agent's word that it is ready and the beginning of the schedules."""
BY_THE_CLOCK = [each for each in scenarios() if each.is_by_the_clock]


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def named(scenario: Scenario) -> str:
    return scenario.name


def own_config(bed: JoinBed, scenario: Scenario) -> Path:
    """Its join.toml with a journal of the test's own."""
    text = (scenario.folder / "join.toml").read_text()
    return bed.configure(re.sub(r'journal = "[^"]*"', "journal = JOURNAL", text))


@pytest.mark.parametrize("scenario", PLAYED, ids=named)
def test_a_worked_join_gives_its_rows_and_its_leftovers(bed: JoinBed, scenario: Scenario) -> None:
    """The streams do not end: what waits when the agent is told to is pending."""
    schedules = {each.stream: scenario.folder / f"{each.name}.csv" for each in scenario.config.input}
    is_realtime = scenario.config.mergemap.clock_domain == "realtime_synced"
    for stream, schedule in schedules.items():
        bed.played(stream, schedule, "--clock", "realtime" if is_realtime else "monotonic")
    # Last, so that all schedules begin together.
    agent = bed.join(own_config(bed, scenario), PYTHONPATH=str(scenario.folder))
    wanted = {
        (each.input, seq): each.cause for each in scenario.unmatched() for seq in range(each.seq, each.seq_last + 1)
    }
    decided = {frame: cause for frame, cause in wanted.items() if cause != PENDING}
    played_ns = monotonic_ns() + max(int(each[-1].at_ms * 1e6) for each in scenario.schedules().values()) + MARGIN_NS
    agent.until(lambda: len(rows_of(bed, scenario)) >= len(scenario.rows()), "at its last row")
    agent.until(lambda: len(leftovers_of(bed)) >= len(decided), "sealing what was left over")
    agent.until(lambda: monotonic_ns() >= played_ns, "past the last frames")
    summary = interrupted(agent)
    assert rows_of(bed, scenario) == scenario.rows()
    assert summary["rows"] == len(scenario.rows())
    assert leftovers_of(bed) == wanted
    assert is_finished(bed.journal())


def last_step_ms(schedules: Iterable[Path]) -> int:
    """When the last step of all is due, after the first consumer came."""
    steps = (step.at_ms for schedule in schedules for step in read_schedule(schedule))
    return round(max(steps))


def rows_of(bed: JoinBed, scenario: Scenario) -> list[Row]:
    by_time = scenario.config.join.policy == "timestamp"
    return [as_expected(scenario, row, by_time=by_time) for row in read_rows(bed.journal())]


def leftovers_of(bed: JoinBed) -> dict[tuple[str, int], str]:
    found = [
        ((each.input, seq), each.cause)
        for each in read_leftovers(bed.journal())
        for seq in range(each.seq, each.seq_last + 1)
    ]
    assert len(dict(found)) == len(found), "an entry is there twice"
    return dict(found)


def as_expected(scenario: Scenario, row: JournalRow, *, by_time: bool) -> Row:
    out = row.out_time_ns if by_time else row.out_seq
    assert out is not None
    cells = (row.inputs[each.name] for each in scenario.config.input)
    return Row(out, tuple(cell.status if cell.seq is None else cell.seq for cell in cells))


@pytest.mark.parametrize("scenario", BY_THE_CLOCK, ids=named)
def test_a_join_by_the_clock_holds_the_newest_frame_of_each_tick(bed: JoinBed, scenario: Scenario) -> None:
    told = tomllib.loads((scenario.folder / "expected.toml").read_text())
    players = [bed.produce(each.stream, *told["produce"][each.name]) for each in scenario.config.input]
    agent = bed.join(own_config(bed, scenario))
    bed.until_rows(agent, told["rows"]["at_least"])
    for player in players:
        assert player.wait() == 0, player
    interrupted(agent)
    rows = read_rows(bed.journal())
    assert len(rows) >= told["rows"]["at_least"]
    times = [row.out_time_ns or 0 for row in rows]
    assert all(later > earlier for earlier, later in pairwise(times))
    assert {(later - earlier) % told["rows"]["step_ns"] for earlier, later in pairwise(times)} == {0}
    for name, offset_ns in told["newest"].items():
        joined = {row.inputs[name].timestamp_ns or 0 for row in rows}
        known = joined | {each.timestamp_ns or 0 for each in read_leftovers(bed.journal()) if each.input == name}
        for row in rows:
            latest = (row.out_time_ns or 0) + offset_ns
            assert row.inputs[name].timestamp_ns == max(time for time in known if time <= latest), row
