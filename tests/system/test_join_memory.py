# SPDX-License-Identifier: Apache-2.0
"""An agent at full rate for minutes holds no more memory at the end than after the first one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.joinbarrier.journal.layout import segment_names
from framegate.shmpool.clock import monotonic_ns

from tests.system.join_bed import LEFT, RIGHT, JoinBed, interrupted

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

MINUTE_NS = 60_000_000_000
MINUTES = 5
STEPS = 4
"""In a minute: nothing is waited for longer than a watchdog allows."""
UNMATCHED_MAX = 64 << 20
GROWTH_MAX = 4 << 20
"""Bytes: the allocator's slack, far below what a leak of one byte a row would come to."""


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_five_minutes_at_full_rate_memory_stays_flat(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm, slots=16_384)
    bed.start_driver()
    agent = bed.join(bed.lockstep(journal={"max_bytes": "256MiB", "segment_bytes": "32MiB", "seal_bytes": "8MiB"}))
    for stream in (LEFT, RIGHT):
        bed.pool.produce("--max-rate", "--shape", "16x32", "--wait-consumers", "1", stream=stream)
    fill(agent, bed.journal())
    own, shared, files = private_bytes(agent), stored_bytes(shm), open_files(agent)
    work(agent, MINUTES - 1)
    assert private_bytes(agent) <= own + GROWTH_MAX
    assert stored_bytes(shm) <= shared + GROWTH_MAX
    assert stored_bytes(bed.journal() / "unmatched") <= UNMATCHED_MAX
    assert open_files(agent) <= files + 4
    # How much is joined is chance: nothing keeps two such producers within a ring of each other.
    assert interrupted(agent)["journal"]["segments_recycled"] > 0, "else it was still filling its journal"


def fill(agent: Program, journal: Path) -> None:
    """Let it work until its journal has let go of its first rows: until then it is still growing to its bound."""
    for _ in range(MINUTES):
        work(agent, 1)
        names = segment_names(journal, "rows")
        if names and names[0].first_row:
            return
    pytest.fail(f"the journal is not full after {MINUTES} minutes: {names}")


def work(agent: Program, minutes: int) -> None:
    """Let it work; it must not end meanwhile."""
    for _ in range(minutes * STEPS):
        work_until(agent, monotonic_ns() + MINUTE_NS // STEPS)


def work_until(agent: Program, end_ns: int) -> None:
    agent.until(lambda: monotonic_ns() >= end_ns, "working")


def private_bytes(program: Program) -> int:
    """What a process has for itself alone: not the rings and segments that it maps."""
    lines = Path(f"/proc/{program.pid}/status").read_text().splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
    return int(found) << 10


def stored_bytes(folder: Path) -> int:
    """What its files take, but for the side tables in it: they grow up to a bound of their own."""
    files = (path for path in folder.rglob("*") if path.is_file() and "unmatched" not in path.relative_to(folder).parts)
    return sum(path.stat().st_blocks * 512 for path in files)


def open_files(program: Program) -> int:
    return len([*Path(f"/proc/{program.pid}/fd").iterdir()])
