# SPDX-License-Identifier: Apache-2.0
"""Two agents of one driver read the same streams; one of them stands still: the other one loses nothing by it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.shmpool.clock import monotonic_ns

from tests.system.frame_account import accounts, sent
from tests.system.join_bed import OUT, PAIR, JoinBed, assert_rows_go_on, summary_of
from tests.system.journal_table import row_count

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

LEAST_SHARE = 0.9
FEW_ROWS = 100


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def rate_for(bed: JoinBed, agent: Program, name: str, span_ns: int) -> float:
    """Rows a second of an agent for so long."""
    began_ns, began_at = monotonic_ns(), row_count(bed.journal(name))
    agent.until(lambda: monotonic_ns() >= began_ns + span_ns, "watched")
    return (row_count(bed.journal(name)) - began_at) / (monotonic_ns() - began_ns) * 1e9


def stand_still(bed: JoinBed, system: System, *, span_ns: int, rate: int) -> tuple[float, float]:
    """Rows a second of the one before and while the other one stood still; none of its frames was lost."""
    producers = {name: bed.counted(stream, consumers=2, rate=rate) for name, stream in PAIR.items()}
    agent, other = (bed.join(bed.lockstep(name, out=out)) for name, out in (("one", OUT), ("two", OUT + 1)))
    for each, name in ((agent, "one"), (other, "two")):
        bed.until_rows(each, FEW_ROWS, name)
    before = rate_for(bed, agent, "one", span_ns)
    system.suspend(other.pid)
    stood_at = row_count(bed.journal("two"))
    during = rate_for(bed, agent, "one", span_ns)
    assert row_count(bed.journal("two")) == stood_at
    other.send(signal.SIGCONT)
    bed.until_rows(other, stood_at + FEW_ROWS, "two")
    for producer in producers.values():
        producer.tell("end")
    for each in (agent, other):
        summary_of(each)
    for name in ("one", "two"):
        assert_rows_go_on(bed.journal(name))
    kept, held_up = accounts(bed.journal("one")), accounts(bed.journal("two"))
    frames = {name: sent(producer) for name, producer in producers.items()}
    # One of the producers ended a moment before the other.
    pairs = set.intersection(*({seq for _, seq in each} for each in frames.values()))
    for name, own in frames.items():
        assert {seq for _, seq in kept[name].joined} == pairs
        kept[name].check(own)
        held_up[name].check(own)
    return before, during


@pytest.mark.timeout(180)
def test_an_agent_that_stands_still_costs_the_other_one_no_frame(bed: JoinBed, system: System) -> None:
    _, during = stand_still(bed, system, span_ns=5_000_000_000, rate=500)
    assert during > 0


@pytest.mark.long
@pytest.mark.timeout(600)
def test_an_agent_that_stands_still_for_half_a_minute_leaves_the_other_one_its_rate(
    bed: JoinBed, system: System
) -> None:
    before, during = stand_still(bed, system, span_ns=30_000_000_000, rate=1000)
    assert during >= LEAST_SHARE * before
