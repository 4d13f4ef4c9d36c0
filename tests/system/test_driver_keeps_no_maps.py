# SPDX-License-Identifier: Apache-2.0
"""The lease driver shares the control stream with MergeMaps and has no part in them (J-014)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule
from framegate.schema.codec import HEADER
from framegate.schema.driver import HugepagesPolicy, PublishMode, Role, ShmAttachRequest, ShmAttachResponse
from framegate.schema.merge import SCHEMA_ID, SequenceMergeMapRequest
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Received

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

CHANNEL = "aeron:ipc?term-length=4m"
EVERY_STREAM = (1000, 1001, 1100, 1200, 1300)
PERIODS = 5
CONFIG = """
[policies]
announce_period_ms = 100
[profiles.small]
header_nslots = 8
payload_pools = [{ pool_id = 1, stride_bytes = 4096 }]
"""
THE_MAP = MergeMap(20001, 3, [SequenceRule(10001, offset=0)]).to_message().encode()
THE_REQUEST = SequenceMergeMapRequest(out_stream_id=20001, epoch=3).encode()


class Onlooker:
    """Announces and asks for a map, and hears every stream that a driver could speak on."""

    def __init__(self, transport: AeronTransport, system: System) -> None:
        self._system = system
        self._hears = [transport.add_subscription(f"{CHANNEL}|tether=false", stream) for stream in EVERY_STREAM]
        self._says = transport.add_publication(CHANNEL, 1000)
        system.until(lambda: self._says.is_connected and self._hears[0].image_count == 2, "connected to the driver")
        self.heard: list[Received] = []

    def say(self, message: bytes) -> None:
        assert self._says.offer(message) > 0

    def count(self, kind: type[ShmAttachResponse] | type[ShmPoolAnnounce]) -> int:
        self.heard += [received for each in self._hears for received in each.poll()]
        return sum(self._is_a(received, kind.SCHEMA_ID, kind.TEMPLATE_ID) for received in self.heard)

    def wait_for(self, kind: type[ShmAttachResponse] | type[ShmPoolAnnounce], count: int) -> None:
        self._system.until(lambda: self.count(kind) >= count, f"{count} x {kind.__name__}")

    def maps_of_others(self) -> list[bytes]:
        """Messages of schema 903 that came from anybody but this onlooker."""
        mine = self._says.session_id
        return [
            each.data
            for each in self.heard
            if HEADER.unpack_from(each.data)[2] == SCHEMA_ID and each.session_id != mine
        ]

    @staticmethod
    def _is_a(received: Received, schema: int, template: int) -> bool:
        return HEADER.unpack_from(received.data)[1:3] == (template, schema)


def what_the_driver_said(driver: Program, shm: Path, system: System) -> list[bytes]:
    """Its messages of schema 903, after it has heard a map, a request for it, and had time to say something."""
    driver.says(event="ready")
    with AeronTransport(str(shm / "aeron")) as transport:
        onlooker = Onlooker(transport, system)
        for message in (THE_MAP, THE_REQUEST, THE_MAP, THE_REQUEST):
            onlooker.say(message)
        # Behind them on the same publication: once it is answered, the driver has heard all of them.
        onlooker.say(
            ShmAttachRequest(
                correlation_id=1,
                stream_id=10_001,
                client_id=7,
                role=Role.PRODUCER,
                expected_layout_version=0,
                publish_mode=PublishMode.EXISTING_OR_CREATE,
                require_hugepages=HugepagesPolicy.UNSPECIFIED,
            ).encode()
        )
        onlooker.wait_for(ShmAttachResponse, 1)
        # A driver that announced maps again would do so like its own announces.
        onlooker.wait_for(ShmPoolAnnounce, onlooker.count(ShmPoolAnnounce) + PERIODS)
        return onlooker.maps_of_others()


def words_for(shm: Path, tmp_path: Path) -> tuple[str, ...]:
    config = tmp_path / "driver.toml"
    config.write_text(CONFIG)
    places = ("--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool"))
    return "driver", "--json", "--config", str(config), *places


def test_the_driver_neither_caches_nor_proxies_maps(system: System, shm: Path, tmp_path: Path) -> None:
    driver = system.framegate(*words_for(shm, tmp_path))
    assert what_the_driver_said(driver, shm, system) == []
    driver.send(signal.SIGINT)
    assert driver.wait() == 0, driver
    # It heard them, and passed them over.
    assert driver.objects()[-1]["other_messages"] >= 4


def test_a_driver_that_did_would_be_seen(system: System, shm: Path, tmp_path: Path) -> None:
    """The check above must be able to fail."""
    driver = system.own_program("caching_driver", *words_for(shm, tmp_path))
    assert what_the_driver_said(driver, shm, system) == [THE_MAP, THE_MAP]
