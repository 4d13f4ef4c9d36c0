# SPDX-License-Identifier: Apache-2.0
"""What every transport measurement stands on: a media driver of its own, and a partner process."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from framegate.driver.mediadriver import MediaDriver
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Publication

CHANNEL: Final = "aeron:ipc?term-length=64m"
THERE: Final = 101
BACK: Final = 102
_CONNECT_NS: Final = 10_000_000_000


@contextmanager
def transport() -> Iterator[AeronTransport]:
    """A client of a fresh media driver that nobody else uses."""
    home = tempfile.mkdtemp(prefix="framegate-bench-", dir="/dev/shm")
    try:
        with MediaDriver(aeron_dir=f"{home}/aeron"), AeronTransport(f"{home}/aeron") as client:
            yield client
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def partner(client: AeronTransport, role: str, *words: str) -> Iterator[None]:
    """Another process on the same driver; see ``partner.py`` for the roles."""
    command = [sys.executable, "-m", "dev.bench.partner", role, client.aeron_dir, *words]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def connected(publication: Publication) -> Publication:
    """The publication, once somebody listens."""
    deadline_ns = monotonic_ns() + _CONNECT_NS
    while not publication.is_connected:
        if monotonic_ns() >= deadline_ns:
            raise AddTimedOut("the partner process did not connect", stream_id=publication.stream_id)
        sleep_ns(1_000_000)
    return publication
