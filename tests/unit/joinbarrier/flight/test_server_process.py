# SPDX-License-Identifier: Apache-2.0
"""The server as a program: what it says, how it ends, what it costs, and the agent's hand on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.child import LOOK_NS, PAUSE_NS, PAUSE_NS_MAX, FlightChild, FlightOptions
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.local_token import own_token
from framegate.joinbarrier.flight.token import VARIABLE
from framegate.schema.errors import FlightNotStarted, TokenRefused
from framegate.shmpool.clock import ManualClock
from framegate.shmpool.processes import process_exists
from pyarrow import flight

from tests.unit.joinbarrier.flight.flight_world import TIMEOUT_S, rows_of, ticket
from tests.unit.joinbarrier.flight.server_process import ServerProcess, serving
from tests.unit.joinbarrier.flight.test_flight_guard import large
from tests.unit.joinbarrier.journal.journal_world import segments_of
from tests.unit.watchdog import until

LISTEN = FlightOptions(listen="grpc://127.0.0.1:0")


def client_of(endpoint: object, **access: Any) -> JournalClient:
    return JournalClient(Endpoint.parse(str(endpoint)), Access(**{"timeout_s": TIMEOUT_S, **access}))


def test_the_program_says_where_it_listens_and_what_it_gave(folder: Path) -> None:
    segments_of(folder, [5])
    with serving(folder) as server:
        assert server.says["event"] == "ready"
        assert server.says["journals"] == [str(folder)]
        assert server.says["pid"] == server.process.pid
        with client_of(server.endpoint) as client:
            assert rows_of(client, ticket(folder, 0, 5)) == [0, 1, 2, 3, 4]
        summary = server.end()
    assert (summary["event"], summary["rows"], summary["streams"]) == ("summary", 5, 1)


def test_the_program_takes_its_token_from_the_environment(folder: Path) -> None:
    segments_of(folder, [1])
    with serving(folder, **{VARIABLE: "a-secret-of-this-test"}) as server:
        words = Path(f"/proc/{server.process.pid}/cmdline").read_text()
        with client_of(server.endpoint) as client, pytest.raises(TokenRefused):
            client.ask("describe")
    assert "a-secret" not in words


@pytest.mark.parametrize(
    ("listen", "code", "status"),
    [("grpc://0.0.0.0:0", 442, 2), ("grpc+tls://127.0.0.1:0", 449, 3), ("127.0.0.1:7", 448, 2)],
)
def test_what_it_will_not_start_with_is_said(folder: Path, listen: str, code: int, status: int) -> None:
    segments_of(folder, [1])
    server = ServerProcess(folder, listen=listen)
    server.process.communicate(timeout=30)
    assert (server.says["event"], server.says["code"], server.process.returncode) == ("error", code, status)


def test_clients_that_do_not_read_cost_the_server_next_to_nothing(folder: Path) -> None:
    """Eight of them, on a journal of 128 MiB: what was written for them stays in the mapped file."""
    large(folder, 128)
    with serving(folder) as server:
        with client_of(server.endpoint) as client:
            rows_of(client, ticket(folder, 0, 128))
        before = server.anonymous_bytes()
        stalled = [flight.FlightClient(Endpoint.parse(server.endpoint).location) for _ in range(8)]
        token = own_token()
        assert token is not None
        options = flight.FlightCallOptions(headers=[token.header()])
        readers = [each.do_get(flight.Ticket(ticket(folder, 0, 128).to_bytes()), options) for each in stalled]
        for reader in readers:
            assert reader.read_chunk().data.num_rows > 0
        with client_of(server.endpoint) as client:
            assert rows_of(client, ticket(folder, 0, 128)) == list(range(128))
        assert server.anonymous_bytes() - before < 64 << 20
        for each in stalled:
            each.close()


# --- an agent's own ----------------------------------------------------------------------------------------


def test_an_agents_server_ends_with_it(folder: Path) -> None:
    segments_of(folder, [3])
    with FlightChild(folder, LISTEN) as child:
        with client_of(child.endpoint) as client:
            assert rows_of(client, ticket(folder, 0, 3)) == [0, 1, 2]
        pid = child.pid
    assert not process_exists(pid)


def test_an_agent_that_is_killed_leaves_no_server_behind(folder: Path) -> None:
    segments_of(folder, [1])
    agent = subprocess.Popen([sys.executable, "-c", _AGENT, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert agent.stdout is not None
        server = int(agent.stdout.readline())
        assert process_exists(server)
    finally:
        agent.kill()
        agent.communicate()
    until(lambda: not process_exists(server))


_AGENT = """
import signal, sys
from pathlib import Path
from framegate.joinbarrier.flight.child import FlightChild, FlightOptions
child = FlightChild(Path(sys.argv[1]), FlightOptions(listen="grpc://127.0.0.1:0"))
print(child.pid, flush=True)
signal.pause()
"""
"""Starts its server, says which, and waits to be killed."""


def test_a_server_that_was_killed_is_started_anew_at_its_port(folder: Path) -> None:
    segments_of(folder, [3])
    clock = ManualClock()
    with FlightChild(folder, LISTEN, clock=clock) as child:
        before = child.endpoint
        os.kill(child.pid, signal.SIGKILL)
        until(lambda: child._process.poll() is not None)
        child.look()
        assert child.restarts == 0
        for _ in range(PAUSE_NS // LOOK_NS + 1):
            clock.advance(LOOK_NS)
            child.look()
        assert child.restarts == 1
        assert child.endpoint == before
        with client_of(before) as client:
            assert rows_of(client, ticket(folder, 0, 3)) == [0, 1, 2]


def test_a_server_that_does_not_last_is_started_ever_more_seldom(folder: Path) -> None:
    segments_of(folder, [1])
    clock = ManualClock()
    with FlightChild(folder, LISTEN, clock=clock) as child:
        # From now on it ends as soon as it is started.
        child._program = (sys.executable, "-c", "pass")
        os.kill(child.pid, signal.SIGKILL)
        assert [looks_until_restart(child, clock) for _ in range(3)] == [1, 2, 4]
        clock.advance(PAUSE_NS_MAX + 1)
        assert looks_until_restart(child, clock) == 1


def looks_until_restart(child: FlightChild, clock: ManualClock) -> int:
    """In pauses of the shortest length."""
    restarts, looks = child.restarts, 0
    until(lambda: child._process.poll() is not None)
    clock.advance(LOOK_NS)
    child.look()
    while child.restarts == restarts:
        clock.advance(LOOK_NS)
        child.look()
        looks += 1
    return looks * LOOK_NS // PAUSE_NS


def test_a_server_that_cannot_start_ends_the_agent_with_its_reason(folder: Path) -> None:
    segments_of(folder, [1])
    with pytest.raises(FlightNotStarted, match="without a token"):
        FlightChild(folder, FlightOptions(listen="grpc://0.0.0.0:0"))
    with pytest.raises(FlightNotStarted, match="said nothing"):
        FlightChild(folder, LISTEN, program=(sys.executable, "-c", "pass"))
