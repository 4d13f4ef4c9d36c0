# SPDX-License-Identifier: Apache-2.0
"""Servers of journals in this process, clients of them, and certificates."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.server import JournalServer, ServerOptions
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.journal.schema import rows_schema

from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS

SCHEMA: Final = rows_schema(INPUTS)
LOOPBACK: Final = Endpoint.parse("grpc://127.0.0.1:0")
TIMEOUT_S: Final = 20.0


@contextmanager
def served(*folders: Path, **options: Any) -> Iterator[JournalServer]:
    """A server at a port of its own."""
    with JournalServer(folders, ServerOptions(**{"listen": LOOPBACK, **options})) as server:
        yield server


@contextmanager
def asking(server: JournalServer, **access: Any) -> Iterator[JournalClient]:
    """A client of it."""
    with JournalClient(server.endpoint, Access(**{"timeout_s": TIMEOUT_S, **access})) as client:
        yield client


def ticket(folder: Path, first_row: int, end_row: int, **changes: Any) -> Ticket:
    """For rows of the journal there."""
    given = {"journal": str(folder.resolve()), "epoch": EPOCH, "first_row": first_row, "end_row": end_row, **changes}
    return Ticket(**given)


def rows_of(client: JournalClient, wanted: Ticket, schema: pa.Schema = SCHEMA) -> list[int]:
    """The numbers of the rows that come."""
    return [row for batch in client.batches(wanted, schema) for row in batch.column("row").to_pylist()]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Its files."""

    certificate: Path
    key: Path

    def options(self) -> dict[str, bytes]:
        """For a server."""
        return {"certificate": self.certificate.read_bytes(), "key": self.key.read_bytes()}


def certificate(folder: Path, *, days: int = 2, address: str = "127.0.0.1") -> Certificate:
    """One that is its own authority, of this address. With ``days`` below 0 it is over."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl to make certificates with")
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    request, extensions = folder / "request.pem", folder / "extensions.cnf"
    extensions.write_text(f"subjectAltName=IP:{address}\n")
    asked = [program, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
    asked += ["-subj", "/CN=framegate", "-keyout", str(made.key), "-out", str(request)]
    signed = [program, "x509", "-req", "-in", str(request), "-signkey", str(made.key), "-days", str(days)]
    signed += ["-extfile", str(extensions), "-out", str(made.certificate)]
    for words in (asked, signed):
        subprocess.run(words, check=True, capture_output=True, timeout=60)
    return made
