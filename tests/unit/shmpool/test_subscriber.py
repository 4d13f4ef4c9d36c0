# SPDX-License-Identifier: Apache-2.0
"""A subscriber whose port is somebody else's: an engine that reads many streams and is polled elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from framegate.schema.driver import Role
from framegate.schema.wire import Bool, ConsumerConfig, ConsumerHello, Mode, QosConsumer
from framegate.shmpool.client.link import Link
from framegate.shmpool.consumer.reader_port import ReaderPort
from framegate.shmpool.consumer.subscriber import Subscriber, Wishes
from framegate.shmpool.marks.ended import mark_ended

from tests.unit.shmpool.client_world import LEASE, NSLOTS, STREAM, PlayedPool, World, as_client
from tests.unit.shmpool.lease_messages import revoked

OWN = "aeron:ipc?term-length=64k"


class EnginePort:
    """One input of an engine: it can be told what to read, and not be polled."""

    def __init__(self) -> None:
        self._played = PlayedPool()
        for name in ("attach", "detach", "listen", "limit_rate", "counters"):
            setattr(self, name, getattr(self._played, name))

    def __getattr__(self, name: str) -> Any:
        if name in ("epoch", "last_seq", "is_attached", "values", "heard", "capped", "rate_hz", "regions"):
            return getattr(self._played, name)
        raise AttributeError(name)

    def see(self, last_seq: int | None, **values: int) -> None:
        self._played.last_seq = last_seq
        self._played.values.update(values)


class Input(Subscriber):
    """As a join agent has one for each of its inputs."""

    ports: list[EnginePort]
    makes_a_new_one = False

    def make_port(self, link: Link) -> ReaderPort:
        if self.makes_a_new_one or not self.ports:
            self.ports.append(EnginePort())
        port: Any = self.ports[-1]
        return port  # type: ignore[no-any-return]


@pytest.fixture
def world(shm: Path) -> Iterator[World[Any]]:
    world: World[Any] = World(shm)
    member = Input(as_client(world), STREAM, Wishes(max_rate_hz=30, own_stream=True))
    member.ports = []
    world.play(member)
    world.attach(5)
    yield world
    world.close()


def port(world: World[Any]) -> EnginePort:
    found: EnginePort = world.member.ports[-1]
    return found


def grant(world: World[Any], mode: Mode = Mode.STREAM) -> ConsumerConfig:
    return ConsumerConfig(
        stream_id=STREAM,
        consumer_id=world.member.lease.client_id,
        use_shm=Bool.TRUE,
        mode=mode,
        descriptor_stream_id=31_007,
        control_stream_id=0,
        descriptor_channel=OWN,
    )


def test_the_port_is_given_regions_and_let_go_without_ever_being_polled(world: World[Any]) -> None:
    assert (world.member.epoch, port(world).epoch, port(world).rate_hz) == (5, 5, 30)
    world.make(6)
    world.announce(6)
    assert port(world).epoch == 6
    world.tell(revoked(Role.CONSUMER, lease_id=LEASE, stream_id=STREAM))
    assert port(world).regions is None


def test_a_port_with_ears_of_its_own_is_given_no_subscription_to_the_shared_stream(world: World[Any]) -> None:
    assert world.member.streams.hears is None
    assert not world.peer.add_publication(world.streams.channel, world.streams.descriptor).is_connected


def test_an_own_stream_is_taken_up_when_whoever_polls_has_read_the_rest(world: World[Any]) -> None:
    world.peer.add_publication(OWN, 31_007)
    world.tell(grant(world))
    rest = [True, True, False]
    for _ in range(2):
        world.member.change_stream(lambda: rest.pop(0))
        assert port(world).heard == []
    world.member.change_stream(lambda: rest.pop(0))
    assert [each.stream_id for each in port(world).heard] == [31_007]
    assert world.member.streams.hears is port(world).heard[0]


def test_nothing_is_read_to_its_end_while_there_is_nothing_to_go_over_to(world: World[Any]) -> None:
    def fail() -> bool:
        raise AssertionError("polled for nothing")

    world.member.change_stream(fail)
    world.tell(grant(world))
    world.member.change_stream(fail)


@pytest.mark.parametrize(("mode", "is_capped", "held_hz"), [(Mode.STREAM, False, 30), (Mode.RATE_LIMITED, True, 0)])
def test_the_port_is_told_whether_the_sender_holds_the_rate(
    world: World[Any], mode: Mode, is_capped: bool, held_hz: int
) -> None:
    world.peer.add_publication(OWN, 31_007)
    world.tell(grant(world, mode))
    world.member.change_stream(lambda: False)
    assert (port(world).capped, port(world).rate_hz) == ([is_capped], held_hz)


def test_a_rate_that_is_granted_or_taken_back_on_the_same_stream_is_told_at_once(world: World[Any]) -> None:
    world.peer.add_publication(OWN, 31_007)
    world.tell(grant(world))
    world.member.change_stream(lambda: False)
    for mode in (Mode.RATE_LIMITED, Mode.RATE_LIMITED, Mode.STREAM):
        world.tell(grant(world, mode))
    assert port(world).capped == [False, True, False]
    assert {each.stream_id for each in port(world).heard} == {31_007}
    assert port(world).rate_hz == 30


def test_an_end_that_the_port_read_stands_until_a_frame_of_a_later_epoch(world: World[Any]) -> None:
    assert not world.member.has_finished()
    world.member.on_end_read(5)
    world.member.on_frame_read(5)
    assert world.member.has_finished()
    world.member.on_frame_read(6)
    assert not world.member.has_finished()


def test_the_mark_is_believed_when_the_port_has_seen_all_before_it(world: World[Any], shm: Path) -> None:
    mark_ended(str(shm / "5"), 5, 9)
    port(world).see(8)
    assert not world.member.has_finished()
    port(world).see(9)
    assert world.member.has_finished()


@pytest.mark.parametrize("makes_a_new_one", [False, True], ids=["the same port", "a port for each link"])
def test_counters_add_up_over_links(world: World[Any], makes_a_new_one: bool) -> None:
    world.member.makes_a_new_one = makes_a_new_one
    port(world).see(9, frames=10, gap_drops=2)
    world.member.on_link_lost("the media driver is gone")
    assert (world.member.epoch, world.member.counters()["frames"]) == (None, 10)
    world.member.on_link(world.link)
    assert world.member.counters()["frames"] == 10
    port(world).see(9, frames=15 if not makes_a_new_one else 5)
    assert world.member.counters()["frames"] == 15
    assert len(world.member.ports) == 1 + makes_a_new_one


def test_the_hello_carries_the_wishes(world: World[Any]) -> None:
    (hello,) = [message for message in world.control() if isinstance(message, ConsumerHello)]
    assert (hello.mode, hello.max_rate_hz, bool(hello.descriptor_channel)) == (Mode.RATE_LIMITED, 30, True)


def test_a_driver_that_is_silent_for_longer_than_the_client_believes_is_dead(shm: Path) -> None:
    """And the lease and the mapping go by the same times, which are the client's."""
    world: World[Any] = World(shm)
    world.client.times = type(world.client.times)(freshness_ns=9_000_000_000, silence_ns=15_000_000_000)
    member = Input(as_client(world), STREAM, Wishes())
    member.ports = []
    world.play(member)
    regions = world.attach(5)
    world.tick(14)
    assert (member.is_attached, member.epoch) == (True, 5)
    regions.refresh_activity(world.now_ns)
    world.tick(1)
    assert member.detach_reasons == ["the driver fell silent"]
    world.close()


def seen(world: World[Any]) -> list[tuple[int, int]]:
    """Epoch and sequence of each QoS since the last look."""
    heard = world.heard(world.streams.qos)
    return [(message.epoch, message.last_seq_seen) for message in heard if isinstance(message, QosConsumer)]


def test_what_was_seen_is_said_when_a_quarter_of_the_ring_was_read_and_not_before(world: World[Any]) -> None:
    quarter = NSLOTS // 4
    port(world).see(quarter - 1)
    world.tick()
    seen(world)
    port(world).see(2 * quarter - 2)
    world.tick()
    assert seen(world) == []
    port(world).see(2 * quarter - 1)
    world.tick()
    assert seen(world) == [(5, 2 * quarter - 1)]
    world.tick()
    assert seen(world) == []


def test_a_sequence_of_the_epoch_before_is_not_said_of_the_one_that_is_mapped(world: World[Any]) -> None:
    port(world).see(1_000)
    world.tick()
    seen(world)
    world.make(6)
    reads_still = port(world)._played.regions
    world.announce(6)
    port(world)._played.regions = reads_still
    world.tick(1.1)
    assert seen(world)[-1] == (6, 0)
