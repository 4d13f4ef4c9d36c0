# SPDX-License-Identifier: Apache-2.0
"""A journal on one host and its reader on another: two network namespaces, and no journal on the reader's side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.two_hosts import Host, NotHere, two_hosts
from tests.unit.joinbarrier.flight.flight_world import Certificate, certificate
from tests.unit.joinbarrier.journal.journal_world import INPUTS, segments_of

SECRET = "a-secret-of-this-test"  # noqa: S105
READER = Path(__file__).parent / "programs/far_reader.py"
WATCHDOG_S = 60


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[Host, Host]]:
    try:
        with two_hosts() as made:
            yield made
    except NotHere as why:
        pytest.skip(f"two hosts cannot be made here: {why}")


@contextmanager
def serving(host: Host, journal: Path, made: Certificate, token: Path) -> Iterator[str]:
    """The journal's server on a host; its address."""
    words = [sys.executable, "-m", "framegate", "journal", "serve", str(journal), "--json"]
    words += ["--listen", f"grpc+tls://{host.address}:0", "--token-file", str(token)]
    words += ["--tls-cert", str(made.certificate), "--tls-key", str(made.key)]
    server = subprocess.Popen(host.words(words), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["endpoint"]
    finally:
        server.terminate()
        server.communicate(timeout=WATCHDOG_S)


def read_on(host: Host, without: Path | None, **options: str) -> dict[str, Any]:
    """What a reader on a host says."""
    words = [sys.executable, str(READER), json.dumps(options), ",".join(INPUTS)]
    done = subprocess.run(
        host.words(words, without=without),
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("FRAMEGATE_")},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{host.address} asks {options['endpoint']}: {json.dumps(found)}")  # For `pytest -s`.
    return found


def test_a_reader_on_another_host_gets_every_row_by_flight_without_being_told_to(
    hosts: tuple[Host, Host], shm: Path
) -> None:
    """The same path is there too, empty: neither boot id nor path alone may count."""
    near, far = hosts
    (shm / "journal").mkdir()
    segments_of(shm / "journal", [5, 7, 3])
    made = certificate(shm, address=near.address)
    (shm / "token").write_text(SECRET)
    access = {"tokenFile": str(shm / "token"), "caFile": str(made.certificate)}
    with serving(near, shm / "journal", made, shm / "token") as endpoint:
        told = read_on(far, shm / "journal", endpoint=endpoint, **access)
        assert (told["event"], told["table"], told["rows"]) == ("read", "FarTable", list(range(15))), told
        beside = read_on(near, None, endpoint=endpoint, **access)
        assert (beside["table"], beside["rows"]) == ("JournalTable", list(range(15))), beside
        refused = read_on(far, shm / "journal", endpoint=endpoint, caFile=access["caFile"])
        assert (refused["event"], refused["name"]) == ("error", "TOKEN_REFUSED")
        nobody = read_on(far, shm / "journal", endpoint=f"grpc://{near.address}:1", endpointTimeout="1")
        assert (nobody["event"], nobody["name"]) == ("error", "ENDPOINT_UNREACHABLE")


def test_a_cable_that_is_pulled_in_the_middle_is_said_within_the_time_out(hosts: tuple[Host, Host], shm: Path) -> None:
    near, far = hosts
    (shm / "journal").mkdir()
    segments_of(shm / "journal", [5])
    made = certificate(shm, address=near.address)
    (shm / "token").write_text(SECRET)
    access = {"tokenFile": str(shm / "token"), "caFile": str(made.certificate)}
    with serving(near, shm / "journal", made, shm / "token") as endpoint:
        pull = ["ip", "-n", near.namespace, "link", "set", "v"]
        subprocess.run([*pull, "down"], check=True)
        try:
            told = read_on(far, shm / "journal", endpoint=endpoint, endpointTimeout="1", **access)
        finally:
            subprocess.run([*pull, "up"], check=True)
        assert (told["event"], told["name"]) == ("error", "ENDPOINT_UNREACHABLE"), told
        assert read_on(far, shm / "journal", endpoint=endpoint, **access)["rows"] == list(range(5))
