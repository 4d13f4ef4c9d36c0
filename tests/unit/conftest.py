# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the unit tests of several packages share."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.shmpool.client import link as link_module
from framegate.shmpool.client.client import Client
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.joins.map_world import STREAMS
from tests.own_folder import own_folder


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command that runs inside a test sets up its log: on a stream of that test, for this whole process."""
    logger = logging.getLogger("framegate")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield
    level, logger.propagate, logger.handlers[:] = before
    logger.setLevel(level)


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder of the test's own in shared memory."""
    with own_folder("unit") as made:
        yield made


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> LoopbackNetwork:
    """What clients of this test take for Aeron."""
    network = LoopbackNetwork()
    monkeypatch.setattr(link_module, "AeronTransport", lambda *_: network.client())
    monkeypatch.setattr(link_module, "wait_for_driver", lambda *_: True)
    return network


@pytest.fixture
def client(network: LoopbackNetwork) -> Iterator[Client]:
    """A client with its thread, on that network."""
    with Client(aeron_dir="played", base_dirs=[], streams=STREAMS) as client:
        yield client
