# SPDX-License-Identifier: Apache-2.0
"""A media driver may die while a program connects to it or attaches: the next one is taken up within the time given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from framegate.schema import Message
from framegate.schema.errors import (
    AddTimedOut,
    ChannelRefused,
    DriverSilent,
    FramegateError,
    MediaDriverGone,
    MediaDriverNotFound,
    TransportClosed,
)
from framegate.shmpool.client import link as link_module
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Received
from framegate.shmpool.transport.loopback.client import LoopbackTransport
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.joins.map_world import STREAMS
from tests.unit.watchdog import until

DEATHS = [MediaDriverGone("played"), AddTimedOut("played")]


def dying(network: LoopbackNetwork, death: FramegateError) -> LoopbackTransport:
    """A client whose driver dies while the announce stream is added."""
    transport = network.client()

    def add_subscription(*_: object, **__: object) -> None:
        raise death

    transport.add_subscription = add_subscription  # type: ignore[method-assign, assignment]
    return transport


class Joiner:
    """A member whose streams are refused as often as it has failures left; attached once it has them."""

    def __init__(self, *failures: FramegateError) -> None:
        self.failures = list(failures)
        self.linked: Link | None = None
        self.links_lost = 0
        self.is_closed = False

    def on_link(self, link: Link) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.linked = link

    def on_link_lost(self, _reason: str) -> None:
        self.linked = None
        self.links_lost += 1

    def on_message(self, message: Message, now_ns: int) -> None: ...

    def on_control(self, received: Received, now_ns: int) -> None: ...

    def on_tick(self, now_ns: int) -> None: ...

    def wait_attached(self, timeout_s: float) -> None:
        if timeout_s == 0:
            raise DriverSilent("played")
        until(lambda: self.linked is not None)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def transports(network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[LoopbackTransport]]:
    """The transports that come to be connected to, in turn; when they are used up, sound ones."""
    coming: list[LoopbackTransport] = []
    monkeypatch.setattr(link_module, "AeronTransport", lambda *_: coming.pop(0) if coming else network.client())
    yield coming
    assert not coming, "these were never connected to"


def played(wait_driver_s: float = 30) -> Client:
    return Client(aeron_dir="played", base_dirs=[], streams=STREAMS, wait_driver_s=wait_driver_s)


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: type(death).__name__)
def test_a_driver_that_dies_while_it_is_connected_to_is_waited_for(
    network: LoopbackNetwork, transports: list[LoopbackTransport], death: FramegateError
) -> None:
    transport = dying(network, death)
    transports.append(transport)
    with played() as client:
        client.listen(joiner := Joiner())
        assert joiner.linked is not None
    assert transport.is_closed


def test_when_the_time_is_over_the_last_attempt_says_why(
    network: LoopbackNetwork, transports: list[LoopbackTransport]
) -> None:
    transports.append(dying(network, DEATHS[0]))
    with pytest.raises(MediaDriverGone):
        played(wait_driver_s=0)


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: type(death).__name__)
def test_a_link_that_dies_under_an_attach_is_replaced(client: Client, death: FramegateError) -> None:
    joiner = client.attach(Joiner(death))  # type: ignore[type-var]
    assert joiner.linked is not None
    assert joiner.links_lost == 1, "told that its first link was gone"


def test_an_add_that_is_not_answered_does_not_cost_others_their_link(client: Client) -> None:
    client.listen(other := Joiner())
    link = other.linked
    with pytest.raises(AddTimedOut):
        client.attach(Joiner(AddTimedOut("played")))  # type: ignore[type-var]
    assert other.linked is link
    assert other.links_lost == 0


def test_what_is_refused_at_attach_is_the_callers(client: Client) -> None:
    with pytest.raises(ChannelRefused):
        client.attach(refused := Joiner(ChannelRefused("played"), ChannelRefused("played")))  # type: ignore[type-var]
    assert refused not in client._members


def without_driver(client: Client, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The driver dies, and none is there until the returned function is called."""
    successor = LoopbackNetwork()
    gone = MediaDriverNotFound("played")

    def nobody(*_: object) -> LoopbackTransport:
        raise gone

    monkeypatch.setattr(link_module, "AeronTransport", nobody)
    network.kill_driver()
    until(lambda: client._link is None)
    return lambda: monkeypatch.setattr(link_module, "AeronTransport", lambda *_: successor.client())


def test_a_member_that_comes_while_there_is_no_driver_is_put_on_the_next(
    client: Client, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    come = without_driver(client, network, monkeypatch)
    client.listen(joiner := Joiner())
    assert joiner.linked is None
    come()
    until(lambda: joiner.linked is not None)


def test_an_attach_without_a_driver_says_that_it_is_the_media_driver(
    client: Client, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_driver(client, network, monkeypatch)
    client.wait_driver_s = 0
    with pytest.raises(MediaDriverNotFound, match="no other came"):
        client.attach(joiner := Joiner())  # type: ignore[type-var]
    assert joiner.is_closed


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: type(death).__name__)
def test_a_link_that_dies_while_members_are_put_on_it_is_replaced_too(
    client: Client, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch, death: FramegateError
) -> None:
    """A member left without its streams would hold a lease and read nothing, for ever."""
    come = without_driver(client, network, monkeypatch)
    client.listen(first := Joiner())
    client.listen(joiner := Joiner(death))
    come()
    until(lambda: joiner.linked is not None and joiner.linked is first.linked)


def test_nobody_joins_a_closed_client(client: Client) -> None:
    client.close()
    with pytest.raises(TransportClosed):
        client.listen(Joiner())
