# SPDX-License-Identifier: Apache-2.0
"""What a client can make a server hold before its token is looked at: gRPC reads a request whole first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.flight.connections import Traffic
from framegate.joinbarrier.flight.token import Token
from framegate.joinbarrier.flight.uploads import (
    CALL_BYTES,
    CONNECTION_BYTES_MAX,
    SERVER_BYTES_MAX,
    TAKEN_PER_BYTE,
    Uploads,
)

from tests.unit.joinbarrier.flight.endless_request import EndlessRequest
from tests.unit.joinbarrier.flight.flight_world import SCHEMA, asking, rows_of, served, ticket
from tests.unit.joinbarrier.flight.test_flight_guard import large
from tests.unit.joinbarrier.journal.journal_world import segments_of
from tests.unit.watchdog import until

SECRET = "a-secret-of-this-test"  # noqa: S105
KIB, MIB = 1 << 10, 1 << 20
A, B = ("10.0.0.1", 1), ("10.0.0.2", 2)


@pytest.mark.parametrize("method", ["DoAction", "DoGet", "GetFlightInfo"])
@pytest.mark.parametrize("token", [None, Token(SECRET)], ids=["open", "token"])
def test_a_request_without_an_end_is_ended_and_disturbs_nobody(folder: Path, method: str, token: Token | None) -> None:
    """It is never answered, since it is never whole: only its bytes can tell."""
    large(folder, 32)
    (folder / "token").write_text(SECRET)
    access: dict[str, Any] = {"token_file": str(folder / "token")} if token else {}
    with served(folder, token=token) as server, asking(server, **access) as client:
        rows = client.batches(ticket(folder, 0, 32), SCHEMA)
        got = next(rows).column("row").to_pylist()
        with EndlessRequest(server.port, method) as endless:
            endless.send(CONNECTION_BYTES_MAX + 64 * KIB)
            until(lambda: server.summary()["uploads_ended"] == 1)
            assert endless.is_ended()
        for batch in rows:
            got += batch.column("row").to_pylist()
        counted = server.summary()
    assert got == list(range(32))
    assert (counted["uploads_ended"], counted["streams"], counted["refused"]) == (1, 1, 0)


def test_a_client_that_asks_often_and_takes_much_is_let_be(folder: Path) -> None:
    """More than a connection may send in vain, all of it in order."""
    segments_of(folder, [3])
    filler = "x" * 7000
    with served(folder) as server, asking(server) as client:
        for _ in range(2 * CONNECTION_BYTES_MAX // len(filler)):
            assert client.ask("describe", filler=filler)["journals"]
        assert rows_of(client, ticket(folder, 0, 3)) == [0, 1, 2]
        assert server.summary()["uploads_ended"] == 0


# --- the account -------------------------------------------------------------------------------------------


def test_what_a_call_needs_is_not_counted() -> None:
    uploads = Uploads()
    for number in range(1, 100):
        uploads.called(f"ipv4:{A[0]}:{A[1]}")
        assert uploads.too_much({A: Traffic(0, number * CALL_BYTES)}) == set()


def test_what_says_that_rows_were_taken_is_not_counted() -> None:
    uploads = Uploads()
    for number in range(1, 100):
        assert uploads.too_much({A: Traffic(number * TAKEN_PER_BYTE * MIB, number * MIB)}) == set()


def test_little_by_little_is_too_much_as_well() -> None:
    uploads, step = Uploads(), CONNECTION_BYTES_MAX // 64
    for number in range(1, 65):
        assert uploads.too_much({A: Traffic(0, number * step), B: Traffic(0, step)}) == set()
    assert uploads.too_much({A: Traffic(0, 65 * step), B: Traffic(0, step)}) == {A}


def test_nobody_saves_up_for_a_large_request() -> None:
    uploads = Uploads()
    for _ in range(100):
        uploads.called(f"ipv4:{A[0]}:{A[1]}")
    assert uploads.too_much({A: Traffic(1 << 40, 10)}) == set()
    assert uploads.too_much({A: Traffic(1 << 40, 10 + CONNECTION_BYTES_MAX + 1)}) == {A}


def test_many_connections_share_one_bound() -> None:
    """Each of them below its own."""
    each_bytes = CONNECTION_BYTES_MAX // 2
    count = SERVER_BYTES_MAX // each_bytes + 3
    uploads = Uploads()
    traffic = {("10.0.0.1", port): Traffic(0, each_bytes + port) for port in range(count)}
    ended = uploads.too_much(traffic)
    assert 3 <= len(ended) <= 4
    assert ("10.0.0.1", count - 1) in ended  # Who holds most goes first.


def test_a_port_that_is_used_again_begins_anew() -> None:
    uploads = Uploads()
    assert uploads.too_much({A: Traffic(0, CONNECTION_BYTES_MAX)}) == set()
    assert uploads.too_much({A: Traffic(0, 100)}) == set()
    assert uploads.too_much({}) == set()
    assert uploads.too_much({A: Traffic(0, CONNECTION_BYTES_MAX)}) == set()
