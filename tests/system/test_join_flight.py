# SPDX-License-Identifier: Apache-2.0
"""A join agent that serves its journal: rows come while it joins, the server is its own, and ends with it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.journal.schema import rows_schema
from framegate.schema.errors import TokenRefused
from framegate.shmpool.processes import process_exists

from tests.system.join_bed import LEFT, PAIR, RIGHT, JoinBed, interrupted, killed
from tests.unit.watchdog import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.conftest import Program, System

FLIGHT = ("--flight", "grpc://127.0.0.1:0")


@pytest.fixture
def bed(system: System, shm: Path, monkeypatch: pytest.MonkeyPatch) -> JoinBed:
    bed = JoinBed(system, shm)
    # This process reads what the agent serves: by the token in its base directory.
    monkeypatch.setenv("FRAMEGATE_BASE_DIR", bed.pool.base_dir)
    bed.start_driver()
    for stream in (LEFT, RIGHT):
        bed.counted(stream)
    return bed


def rows_of(agent: Program, journal: Path, first: int, end: int, **access: Any) -> list[int]:
    ready = agent.says(event="ready")
    wanted = Ticket(journal=str(journal.resolve()), epoch=ready["journal_epoch"], first_row=first, end_row=end)
    endpoint = replace(Endpoint.parse(ready["flight"]), host="127.0.0.1")
    with JournalClient(endpoint, Access(timeout_s=30, **access)) as client:
        batches = client.batches(wanted, rows_schema(list(PAIR)))
        return [row for batch in batches for row in batch.column("row").to_pylist()]


def test_rows_are_served_while_they_are_joined_also_by_the_next_server(bed: JoinBed) -> None:
    agent = bed.join(bed.lockstep(), *FLIGHT)
    server = agent.says(event="ready")["flight_pid"]
    bed.until_rows(agent, 100)
    assert rows_of(agent, bed.journal(), 0, 100) == list(range(100))
    os.kill(server, signal.SIGKILL)
    assert rows_of(agent, bed.journal(), 50, 100) == list(range(50, 100))
    rows = bed.until_rows(agent, 200)
    assert rows >= 200
    assert interrupted(agent)["flight_restarts"] == 1
    until(lambda: not process_exists(server))


def test_an_agent_that_is_open_to_other_hosts_asks_for_its_token_and_takes_its_server_along(bed: JoinBed) -> None:
    (bed.folder / "token").write_text("a-secret-of-this-test")
    words = ("--flight", "grpc://0.0.0.0:0", "--flight-token-file", str(bed.folder / "token"))
    agent = bed.join(bed.lockstep(), *words)
    server = agent.says(event="ready")["flight_pid"]
    bed.until_rows(agent, 10)
    assert rows_of(agent, bed.journal(), 0, 10, token_file=str(bed.folder / "token")) == list(range(10))
    with pytest.raises(TokenRefused):
        rows_of(agent, bed.journal(), 0, 10)
    killed(agent)
    until(lambda: not process_exists(server))


def test_an_agent_whose_server_cannot_listen_does_not_join(bed: JoinBed) -> None:
    agent = bed.join(bed.lockstep(), "--flight", "grpc://0.0.0.0:0", is_ready=False)
    assert agent.wait() == 3, agent
    told = agent.objects()[-1]
    assert (told["event"], told["name"]) == ("error", "FLIGHT_NOT_STARTED")
    assert "without a token" in told["message"]
