# SPDX-License-Identifier: Apache-2.0
"""Who may ask a server, how it is reached, and how much of it one client can take."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.connections import end_connections, peer_address
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.server import JournalServer, ServerOptions
from framegate.joinbarrier.flight.streams import Streams
from framegate.joinbarrier.flight.token import Token, read_token
from framegate.schema.errors import (
    CertificateRefused,
    EndpointRefused,
    EndpointUnreachable,
    FileMissing,
    FlightNotStarted,
    TokenMissing,
    TokenRefused,
    TooManyStreams,
)
from framegate.shmpool.clock import ManualClock
from pyarrow import flight

from tests.unit.joinbarrier.flight.flight_world import SCHEMA, asking, certificate, rows_of, served, ticket
from tests.unit.joinbarrier.journal.journal_world import EPOCH, segments_of, writer
from tests.unit.watchdog import until

SECRET = "a-secret-of-this-test"  # noqa: S105
TLS = Endpoint.parse("grpc+tls://127.0.0.1:0")


# --- addresses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "location", "is_loopback"),
    [
        ("grpc://127.0.0.1:7443", "grpc+tcp://127.0.0.1:7443", True),
        ("grpc+tcp://localhost:0", "grpc+tcp://localhost:0", True),
        ("grpc+tls://[::1]:7443", "grpc+tls://[::1]:7443", True),
        ("grpc://0.0.0.0:7443", "grpc+tcp://0.0.0.0:7443", False),
        ("grpc://[::]:7443", "grpc+tcp://[::]:7443", False),
        ("grpc://rig-7:7443", "grpc+tcp://rig-7:7443", False),
    ],
)
def test_an_address_is_read(text: str, location: str, is_loopback: bool) -> None:
    found = Endpoint.parse(text)
    assert (found.location, found.is_loopback, found.journal) == (location, is_loopback, None)
    assert Endpoint.parse(f"{text}/data/joined").journal == "/data/joined"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rig-7:7443",
        "http://rig-7:7443",
        "grpc://rig-7",
        "grpc://:7443",
        "grpc://rig-7:99999",
        "grpc://user@rig-7:7443",
        "grpc://rig-7:7443?token=x",
        "grpc://rig-7:7443#x",
        "grpc://a:1,grpc://b:2",
        "grpc://[::1:7443",
        "grpc://rig 7:7443",
    ],
)
def test_another_text_is_no_address(text: str) -> None:
    with pytest.raises(EndpointRefused):
        Endpoint.parse(text)


def test_a_secret_in_an_address_is_not_shown() -> None:
    with pytest.raises(EndpointRefused) as refused:
        Endpoint.parse(f"grpc://user:{SECRET}@rig-7:7443")
    assert SECRET not in str(refused.value)


# --- tokens ------------------------------------------------------------------------------------------------


def test_a_token_comes_from_a_file_before_the_environment(folder: Path) -> None:
    (folder / "token").write_text(f" {SECRET}\n")
    (folder / "link").symlink_to("token")
    environment = {"FRAMEGATE_FLIGHT_TOKEN": "another-secret"}
    for name in ("token", "link"):
        found = read_token(folder / name, environment)
        assert found is not None
        found.check([f"Bearer {SECRET}"])
    other = read_token(None, environment)
    assert other is not None
    other.check(["Bearer another-secret"])
    assert read_token(None, {}) is None


def test_what_is_no_token_is_said_without_showing_it(folder: Path) -> None:
    (folder / "token").write_text("two words")
    with pytest.raises(TokenMissing) as refused:
        read_token(folder / "token", {})
    assert "two words" not in str(refused.value)
    with pytest.raises(TokenMissing):
        read_token(None, {"FRAMEGATE_FLIGHT_TOKEN": ""})
    with pytest.raises(FileMissing):
        read_token(folder / "none", {})


def test_a_token_does_not_show_itself() -> None:
    assert SECRET not in f"{Token(SECRET)} {Token(SECRET)!r} {[Token(SECRET)]}"


@pytest.mark.parametrize("listen", ["grpc://0.0.0.0:0", "grpc://[::]:0", "grpc://rig-7:0"])
def test_without_a_token_only_this_host_is_served(folder: Path, listen: str) -> None:
    segments_of(folder, [1])
    with pytest.raises(TokenMissing), served(folder, listen=Endpoint.parse(listen)):
        pass


def test_a_token_on_an_open_network_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ServerOptions(listen=Endpoint.parse("grpc://0.0.0.0:0"), token=Token(SECRET)).check()
    assert "grpc+tls" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("given", [None, "another-secret-of-it", SECRET + "x", SECRET[:-1], "x" * 1000])
def test_another_token_is_refused_for_rows_and_actions(folder: Path, given: str | None) -> None:
    segments_of(folder, [1])
    access: dict[str, Any] = {}
    if given is not None:
        (folder / "token").write_text(given)
        access["token_file"] = str(folder / "token")
    with served(folder, token=Token(SECRET)) as server, asking(server, **access) as client:
        with pytest.raises(TokenRefused):
            client.ask("describe")
        with pytest.raises(TokenRefused):
            rows_of(client, ticket(folder, 0, 1))
        counted = server.summary()
    assert (counted["refused"], counted["streams"]) == (2, 0)


def test_a_stream_is_refused_without_the_token_also_to_who_asks_for_nothing_else(folder: Path) -> None:
    segments_of(folder, [1])
    with served(folder, token=Token(SECRET)) as server:
        with flight.FlightClient(server.endpoint.location) as client:
            for headers in ([], [(b"authorization", b"Bearer x")], [(b"authorization", b"Basic " + SECRET.encode())]):
                with pytest.raises(flight.FlightUnauthenticatedError):
                    client.do_get(
                        flight.Ticket(ticket(folder, 0, 1).to_bytes()), flight.FlightCallOptions(headers=headers)
                    ).read_all()
        assert server.summary()["streams"] == 0


def test_the_token_opens_rows_and_actions(folder: Path) -> None:
    segments_of(folder, [3])
    (folder / "token").write_text(SECRET)
    with (
        served(folder, token=Token(SECRET)) as server,
        asking(server, token_file=str(folder / "token")) as client,
    ):
        assert client.ask("describe")["journals"]
        assert rows_of(client, ticket(folder, 0, 3)) == [0, 1, 2]


# --- certificates ------------------------------------------------------------------------------------------


def test_rows_come_by_tls_where_the_authority_is_known(folder: Path) -> None:
    segments_of(folder, [3])
    made = certificate(folder)
    with (
        served(folder, listen=TLS, **made.options()) as server,
        asking(server, ca_file=str(made.certificate)) as client,
    ):
        assert rows_of(client, ticket(folder, 0, 3)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"days": -1}, "expired"), ({"address": "10.1.2.3"}, "IP address mismatch")],
    ids=["over", "of another host"],
)
def test_a_certificate_that_is_not_good_is_said_as_such(folder: Path, changes: dict[str, Any], why: str) -> None:
    segments_of(folder, [1])
    made = certificate(folder, **changes)
    with (
        served(folder, listen=TLS, **made.options()) as server,
        asking(server, ca_file=str(made.certificate)) as client,
        pytest.raises(CertificateRefused, match=why),
    ):
        client.ask("describe")


def test_an_authority_that_nobody_named_is_not_trusted(folder: Path) -> None:
    segments_of(folder, [1])
    made = certificate(folder)
    with (
        served(folder, listen=TLS, **made.options()) as server,
        asking(server) as client,
        pytest.raises(CertificateRefused),
    ):
        client.ask("describe")


def test_tls_without_a_certificate_does_not_start(folder: Path) -> None:
    segments_of(folder, [1])
    for options in (
        {"listen": TLS},
        {"certificate": b"x", "key": b"y"},
        {"listen": TLS, "certificate": b"x", "key": b"y"},
    ):
        with pytest.raises(FlightNotStarted), served(folder, **options):
            pass


def test_a_port_that_is_taken_is_not_shared(folder: Path) -> None:
    segments_of(folder, [1])
    with (
        served(folder) as server,
        pytest.raises(FlightNotStarted, match="Address already in use"),
        served(folder, listen=server.endpoint),
    ):
        pass


# --- a server that is away ---------------------------------------------------------------------------------


def nobody() -> Endpoint:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return Endpoint("127.0.0.1", probe.getsockname()[1])


def test_nobody_there_is_an_error_with_the_address(folder: Path) -> None:
    with JournalClient(nobody(), Access(timeout_s=0.2)) as client:
        with pytest.raises(EndpointUnreachable) as away:
            client.ask("describe")
        with pytest.raises(EndpointUnreachable):
            rows_of(client, ticket(folder, 0, 1))
    assert away.value.facts["endpoint"] == client.endpoint


def test_who_accepts_and_never_answers_is_an_error(folder: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        with JournalClient(Endpoint("127.0.0.1", deaf.getsockname()[1]), Access(timeout_s=0.3)) as client:
            with pytest.raises(EndpointUnreachable):
                client.ask("describe")
            with pytest.raises(EndpointUnreachable):
                rows_of(client, ticket(folder, 0, 1))


def test_a_server_that_falls_silent_in_a_stream_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(folder, [1, 1])
    with served(folder) as server:

        def silent(*_: Any) -> Iterator[Any]:
            until(lambda: server._is_over.is_set())
            yield from ()

        monkeypatch.setattr("framegate.joinbarrier.flight.server.served_batches", silent)
        with asking(server, timeout_s=0.3) as client, pytest.raises(EndpointUnreachable):
            rows_of(client, ticket(folder, 0, 2))


def test_a_stream_goes_on_where_it_broke_off(folder: Path) -> None:
    """The server dies and another one takes its place: what had arrived is not sent again."""
    segments_of(folder, [1] * 50)
    first = JournalServer([folder], ServerOptions(listen=Endpoint.parse("grpc://127.0.0.1:0")))
    with asking(first) as client:
        rows = client.batches(ticket(folder, 0, 50), SCHEMA)
        got = [next(rows).column("row")[0].as_py()]
        first.close()
        with served(folder, listen=first.endpoint) as second:
            got += [batch.column("row")[0].as_py() for batch in rows]
            assert second.summary()["rows"] < 50
    assert got == list(range(50))


# --- a client that does not read ---------------------------------------------------------------------------


def large(folder: Path, rows: int) -> None:
    """A journal of a megabyte a row, in batches of four. A client takes some dozens of them before anybody reads."""
    made = writer(folder)
    for _ in range(rows // 4):
        for _ in range(4):
            made.append({"left": np.zeros(1 << 20, np.uint8), "right": "stale"})
        made.seal({})


def test_a_client_that_stops_reading_is_ended_and_no_other(folder: Path) -> None:
    large(folder, 96)
    with served(folder, stall_s=0.3) as server, asking(server) as idle, asking(server) as busy:
        stalled = flight.FlightClient(server.endpoint.location)
        reader = stalled.do_get(flight.Ticket(ticket(folder, 0, 96).to_bytes()))
        assert reader.read_chunk().data.num_rows > 0
        until(lambda: server.summary()["streams_stalled"] == 1)
        assert rows_of(busy, ticket(folder, 0, 96)) == list(range(96))
        until(lambda: server.summary()["streams_open"] == 0)
        with pytest.raises(flight.FlightUnavailableError):
            reader.read_all()
        assert idle.ask("describe")["journals"]
        stalled.close()


def test_a_task_that_is_slow_gets_every_row_all_the_same(folder: Path) -> None:
    """Its stream is ended while it computes, and goes on when it asks for more."""
    large(folder, 96)
    with served(folder, stall_s=0.2) as server, asking(server) as client:
        rows = client.batches(ticket(folder, 0, 96), SCHEMA)
        got = next(rows).column("row").to_pylist()
        until(lambda: server.summary()["streams_stalled"] == 1)
        for batch in rows:
            got += batch.column("row").to_pylist()
    assert got == list(range(96))


def test_how_long_a_task_took_over_a_batch_is_not_the_servers_silence(folder: Path) -> None:
    """An hour passes at the client, far more than its time-out; meanwhile the server has ended the stream."""
    large(folder, 96)
    clock = ManualClock()
    with (
        served(folder, stall_s=0.2) as server,
        JournalClient(server.endpoint, Access(timeout_s=20), clock) as client,
    ):
        rows = client.batches(ticket(folder, 0, 96), SCHEMA)
        got = next(rows).column("row").to_pylist()
        until(lambda: server.summary()["streams_stalled"] == 1)
        clock.advance(3600 * 10**9)
        for batch in rows:
            got += batch.column("row").to_pylist()
    assert got == list(range(96))


def test_no_more_streams_than_allowed_and_each_gives_its_place_back(folder: Path) -> None:
    large(folder, 32)
    with served(folder, streams_max=1) as server:
        with asking(server) as first, asking(server, timeout_s=0.1) as second:
            rows = first.batches(ticket(folder, 0, 32), SCHEMA)
            next(rows)
            with pytest.raises(TooManyStreams):
                rows_of(second, ticket(folder, 0, 32))
            assert server.summary()["streams_refused"] >= 1
            rows.close()  # type: ignore[attr-defined]  # it is a generator
        until(lambda: server.summary()["streams_open"] == 0)
        with asking(server) as third:
            assert rows_of(third, ticket(folder, 0, 32)) == list(range(32))


def test_a_stream_that_was_never_read_gives_its_place_back(folder: Path) -> None:
    large(folder, 32)
    with served(folder) as server:
        for _ in range(3):
            client = flight.FlightClient(server.endpoint.location)
            reader = client.do_get(flight.Ticket(ticket(folder, 0, 32).to_bytes()))
            reader.cancel()
            client.close()
        until(lambda: server.summary()["streams_open"] == 0)


def test_a_server_ends_although_a_client_does_not_read(folder: Path) -> None:
    large(folder, 32)
    client = None
    with served(folder) as server:
        client = flight.FlightClient(server.endpoint.location)
        client.do_get(flight.Ticket(ticket(folder, 0, 32).to_bytes())).read_chunk()
    client.close()


def test_only_a_stream_whose_client_has_something_to_take_can_stall() -> None:
    clock, ended = ManualClock(), list[str]()

    def end(peer: str) -> int:
        ended.append(peer)
        return 1

    streams = Streams(streams_max=2, stall_ns=100, clock=clock, end=end)
    looking, given = streams.open("a"), streams.open("b")
    streams.looking(looking)
    streams.giving(given, 1, 10)
    clock.advance(100)
    streams.end_stalled()
    assert ended == []
    clock.advance(1)
    streams.end_stalled()
    streams.end_stalled()
    assert ended == ["b"]
    with pytest.raises(TooManyStreams):
        streams.open("c")
    streams.close(given)
    streams.close(given)
    streams.open("c")
    assert streams.summary()["streams_stalled"] == 1


def test_only_the_connection_of_one_peer_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = [socket.create_connection(server.getsockname()) for _ in range(2)]
        theirs = [server.accept()[0] for _ in range(2)]
        host, port = ours[0].getsockname()
        assert end_connections(f"ipv4:{host}:{port}") == 1
        assert ours[0].recv(1) == b""
        theirs[1].send(b"x")
        assert ours[1].recv(1) == b"x"
        for each in (*ours, *theirs):
            each.close()


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.0.0.1:80", ("10.0.0.1", 80)),
        ("ipv6:%5B::1%5D:80", ("::1", 80)),
        ("ipv6:[::ffff:10.0.0.1]:80", ("10.0.0.1", 80)),
        ("unix:/x", None),
        ("", None),
    ],
)
def test_a_peer_is_read_as_grpc_writes_it(peer: str, address: Any) -> None:
    assert peer_address(peer) == address


def test_epochs_are_checked_for_actions_too(folder: Path) -> None:
    segments_of(folder, [1])
    asked = {"journal": str(folder.resolve()), "epoch": EPOCH + 1, "table": "rows", "on_loss": "error"}
    with served(folder) as server, asking(server) as client:
        for action in ("head", "bounds", "claim"):
            with pytest.raises(Exception, match="JOURNAL_RECREATED"):
                client.ask(action, **asked, reader="r", first_row=0)
