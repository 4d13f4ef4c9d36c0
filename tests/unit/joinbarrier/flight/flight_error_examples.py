# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of journal servers and their clients, through product code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.streams import Streams
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.flight.token import Token
from framegate.joinbarrier.journal.schema import UNMATCHED_SCHEMA

from tests.unit.joinbarrier.flight.flight_world import asking, certificate, rows_of, served, ticket
from tests.unit.joinbarrier.journal.journal_world import segments_of


def _in_a_folder(example: Callable[[Path], object]) -> Callable[[], None]:
    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            segments_of(Path(folder), [1])
            example(Path(folder))

    return run


def _nobody_there() -> None:
    with JournalClient(Endpoint("127.0.0.1", 1), Access(timeout_s=0)) as client:
        client.ask("describe")


def _without_its_token(folder: Path) -> None:
    with served(folder, token=Token("a-secret")) as server, asking(server) as client:
        client.ask("describe")


def _open_to_all(folder: Path) -> None:
    with served(folder, listen=Endpoint.parse("grpc://0.0.0.0:0")):
        pass


def _over(folder: Path) -> None:
    made = certificate(folder, days=-1)
    with (
        served(folder, listen=Endpoint.parse("grpc+tls://127.0.0.1:0"), **made.options()) as server,
        asking(server, ca_file=str(made.certificate)) as client,
    ):
        client.ask("describe")


def _elsewhere(folder: Path) -> None:
    with served(folder) as server, asking(server) as client:
        rows_of(client, ticket(folder.parent, 0, 1))


def _no_ticket() -> None:
    Ticket.parse(b"{}")


def _one_too_many() -> None:
    Streams(streams_max=0, stall_ns=1).open("")


def _other_columns(folder: Path) -> None:
    with served(folder) as server, asking(server) as client:
        list(client.batches(ticket(folder, 0, 1), UNMATCHED_SCHEMA))


def _no_address() -> None:
    Endpoint.parse("rig-7")


def _taken(folder: Path) -> None:
    with served(folder) as server, served(folder, listen=server.endpoint):
        pass


FLIGHT_ERROR_EXAMPLES: Final[dict[int, Callable[[], Any]]] = {
    440: _nobody_there,
    441: _in_a_folder(_without_its_token),
    442: _in_a_folder(_open_to_all),
    443: _in_a_folder(_over),
    444: _in_a_folder(_elsewhere),
    445: _no_ticket,
    446: _one_too_many,
    447: _in_a_folder(_other_columns),
    448: _no_address,
    449: _in_a_folder(_taken),
}
