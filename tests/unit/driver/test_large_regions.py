# SPDX-License-Identifier: Apache-2.0
"""Regions that take long to be made: the driver hears, announces and ends meanwhile.

Here every producer's regions count as large, and the maker waits until the test lets it go on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.driver import regions as regions_module
from framegate.driver.lease_actions import Provision
from framegate.driver.regions import MappedRegions
from framegate.schema import Message
from framegate.schema.driver import ResponseCode, Role, ShmAttachResponse, ShmDriverShutdown
from framegate.schema.errors import NoRoom
from framegate.schema.wire import ShmRegionSuperblock

from tests.unit.driver.lease_world import SECOND, STREAM, attach, only
from tests.unit.driver.test_lease_driver_agent import Maker, Scene, file_of, one
from tests.unit.watchdog import until


class SlowMaker(Maker):
    """Makes whole regions, and then waits before it gives them."""

    def __init__(self, allowed: Path) -> None:
        super().__init__(allowed)
        self.may_go_on = threading.Event()
        self.made = threading.Event()

    def make(self, folder: Path, order: Provision, now_ns: int) -> MappedRegions:
        if order.is_placeholder:
            return super().make(folder, order, now_ns)
        mapped = self.native.make(folder, order, now_ns)
        self.made.set()
        assert self.may_go_on.wait(30)
        if self.is_full:
            raise NoRoom("played by the test", path=folder)
        return mapped


class SlowScene(Scene):
    """A scene whose producer of ``STREAM`` waits for its regions."""

    maker: SlowMaker

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.maker = self.store._maker = SlowMaker(base)
        assert self.say(attach()) == []
        until(self.maker.made.is_set)

    def answer(self) -> ShmAttachResponse:
        """Let the maker go on, and wait for the driver's answer."""
        self.maker.may_go_on.set()
        spoken: list[Message] = []

        def has_answered() -> bool:
            spoken.extend(self.turn())
            return bool(spoken)

        until(has_answered)
        return one(spoken, ShmAttachResponse)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowScene]:
    monkeypatch.setattr(regions_module, "LARGE_BYTES", 1)
    scene = SlowScene(tmp_path.resolve())
    yield scene
    scene.maker.may_go_on.set()
    scene.store.close(remove=True)


def test_others_attach_and_are_announced_meanwhile(scene: SlowScene) -> None:
    other = scene.grant(7, Role.CONSUMER, STREAM + 1)
    scene.announces()
    for _ in range(10):
        scene.say(other.keepalive())
        scene.turn(SECOND)
        assert [announce.stream_id for announce in scene.announces()] == [STREAM + 1]
    assert list(scene.agent.authority.leases) == [other.lease_id]
    assert scene.answer().code == ResponseCode.OK


def test_whoever_asks_again_meanwhile_is_told_that_the_client_is_attached(scene: SlowScene) -> None:
    again = one(scene.say(attach(correlation_id=78)), ShmAttachResponse)
    assert (again.correlation_id, again.code, again.error_message) == (
        78,
        ResponseCode.REJECTED,
        "client_id already attached",
    )
    first = scene.answer()
    assert (first.correlation_id, first.code) == (77, ResponseCode.OK)


def test_what_was_made_long_is_fresh_when_it_is_granted(scene: SlowScene) -> None:
    scene.clock.advance(60 * SECOND)
    ring = file_of(scene.answer().header_region_uri)
    assert ShmRegionSuperblock.decode_body(ring.read_bytes()[:64]).activity_timestamp_ns == scene.clock()


def test_half_made_regions_are_not_collected(scene: SlowScene) -> None:
    """They carry this process's number and nobody serves them yet."""
    scene.turn(60 * SECOND)
    scene.turn(60 * SECOND)
    assert file_of(scene.answer().header_region_uri).is_file()


def test_a_failure_is_told_when_the_second_attempt_fails_too(scene: SlowScene) -> None:
    scene.maker.is_full = True
    answer = scene.answer()
    assert answer.code == ResponseCode.INTERNAL_ERROR
    assert "NO_ROOM" in answer.error_message
    assert scene.agent.counters()["provision_retries"] == 1
    assert not (scene.folders.root / str(STREAM)).exists()


def test_a_driver_that_ends_meanwhile_says_so_at_once_and_leaves_no_file(scene: SlowScene) -> None:
    scene.agent.shutdown()
    spoken = scene.turn()
    assert one(spoken, ShmAttachResponse).code == ResponseCode.REJECTED
    assert isinstance(spoken[-1], ShmDriverShutdown)
    assert scene.agent.has_ended
    assert only((scene.folders.root / str(STREAM)).iterdir()).is_dir()
    threading.Timer(0.1, scene.maker.may_go_on.set).start()
    scene.store.close(remove=True)
    scene.folders.remove_made()
    assert not scene.folders.root.exists()
