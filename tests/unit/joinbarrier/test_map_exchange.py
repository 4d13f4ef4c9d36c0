# SPDX-License-Identifier: Apache-2.0
"""The exchange of MergeMaps as a member of a client: what it hears, what it sends, and what it does when it cannot."""

from __future__ import annotations

import pytest
from framegate.joinbarrier.maps.client import Apply, Ask, ClientAction, Invalidate, MapClient
from framegate.joinbarrier.maps.exchange import MapExchange
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule
from framegate.schema.codec import HEADER
from framegate.schema.driver import ShmDriverShutdown, ShutdownReason
from framegate.schema.errors import TransportClosed, TwoAuthorities
from framegate.shmpool.client import link as link_module
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.control_outbox import WAITING_MAX
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.joins.map_world import STREAMS, MapWorld, Stage
from tests.unit.watchdog import until

MAP = MergeMap(20001, 3, [SequenceRule(10001, offset=0)])
CHANGED = MergeMap(20001, 3, [SequenceRule(10001, offset=-1)])


def test_a_stage_and_its_authority_meet_on_one_client(client: Client) -> None:
    """What an exchange says it also hears; it is no other authority, and its own stages are served."""
    exchange = MapExchange(client)
    told: list[ClientAction] = []
    exchange.follow(MapClient(20001, 3), told.append)
    exchange.own(MAP)
    until(lambda: told)
    exchange.own(CHANGED)
    until(lambda: len(told) == 3)
    assert told == [Apply(MAP), Invalidate(), Apply(CHANGED)]
    assert "conflicts" not in exchange.counters()


def test_two_exchanges_of_one_client_are_two_authorities(client: Client) -> None:
    found: tuple[list[TwoAuthorities], list[TwoAuthorities]] = ([], [])
    exchanges = [MapExchange(client, on_conflict=heard.append) for heard in found]
    for exchange in exchanges:
        exchange.own(MAP)
    until(lambda: all(found))
    assert all(conflict.facts["out_stream"] == 20001 for heard in found for conflict in heard)


def test_a_stage_that_has_ended_hears_nothing_more(client: Client) -> None:
    exchange = MapExchange(client)
    gone, stays = MapClient(20001, 3), MapClient(20001, 3)
    told: list[ClientAction] = []
    exchange.follow(gone, lambda action: pytest.fail(f"told {action}"))
    exchange.unfollow(gone)
    exchange.follow(stays, told.append)
    exchange.own(MAP)
    until(lambda: told)


def test_a_media_driver_that_dies_costs_no_map_and_the_next_one_hears_it_at_once(
    client: Client, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = MapExchange(client, announce_period_ns=3_600_000_000_000)
    told: list[ClientAction] = []
    follower = MapClient(20001, 3)
    exchange.follow(follower, told.append)
    exchange.own(MAP)
    until(lambda: told)
    successor = LoopbackNetwork()
    hears = successor.client().add_subscription(STREAMS.channel, STREAMS.control)
    monkeypatch.setattr(link_module, "AeronTransport", lambda *_: successor.client())
    network.kill_driver()
    heard: list[bytes] = []

    def is_announced() -> bool:
        heard.extend(received.data for received in hears.poll())
        return bool(heard)

    until(is_announced)
    assert heard == [MAP.to_message().encode()]
    assert (follower.map, told) == (MAP, [Apply(MAP)])


def test_a_closed_exchange_is_silent(client: Client, network: LoopbackNetwork) -> None:
    hears = network.client().add_subscription(STREAMS.channel, STREAMS.control)
    closed, other = MapExchange(client), MapExchange(client)
    closed.close()
    closed.close()
    closed.own(MAP)
    other.own(CHANGED)
    heard: list[bytes] = []

    def is_announced() -> bool:
        heard.extend(received.data for received in hears.poll())
        return len(heard) > 0

    until(is_announced)
    assert set(heard) == {CHANGED.to_message().encode()}


def test_there_is_no_exchange_on_a_closed_client(client: Client) -> None:
    client.close()
    with pytest.raises(TransportClosed):
        MapExchange(client)


def test_what_others_say_and_what_cannot_be_read_changes_nothing() -> None:
    world = MapWorld()
    owner, stage = world.station(), Stage(world.station(), 20001, 3)
    owner.exchange.own(MAP)
    world.run(0.1)
    stranger = world.network.client().add_publication(STREAMS.channel, STREAMS.control)
    announce = CHANGED.to_message().encode()
    body = announce[8:]
    newer = HEADER.pack(20, 1, 903, 2) + body
    foreign = HEADER.pack(20, 1, 902, 1) + body
    said = ShmDriverShutdown(timestamp_ns=1, reason=ShutdownReason.NORMAL).encode()
    for message in (b"rubbish", newer, announce[:-1], announce[:20], foreign, said):
        assert stranger.offer(message) > 0
    world.run(3)
    assert stage.history == [MAP]
    assert owner.conflicts == []
    assert owner.exchange.counters()["unreadable"] == 3


def test_on_a_stream_that_takes_nothing_messages_wait_within_a_bound_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = MapWorld()
    owner, stage = world.station(), Stage(world.station(), 20001, 3)
    publication = owner.exchange._outbox._publication
    assert publication is not None
    answer = publication.try_offer
    blocked = [-2] * 1_000
    monkeypatch.setattr(publication, "try_offer", lambda message: blocked.pop() if blocked else answer(message))
    for offset in range(WAITING_MAX + 10):
        owner.exchange.own(MergeMap(20001, 3, [SequenceRule(10001, offset=offset)]))
        world.run(0.02)
    assert owner.exchange.counters()["overflowed"] > 0
    assert stage.history == []
    blocked.clear()
    world.run(0.1)
    sent = [each.sequence_rules[0].offset for each in stage.history]
    assert sent == sorted(sent, key=lambda offset: offset or 0)
    assert sent[-1] == WAITING_MAX + 9


def test_no_request_is_ever_an_action_of_the_stage() -> None:
    """The stage is told what concerns its barrier; what must be sent, the exchange sends."""
    world = MapWorld()
    told: list[ClientAction] = []
    station = world.station()
    station.exchange.follow(MapClient(20001, 3), told.append)
    world.run(1)
    assert not [action for action in told if isinstance(action, Ask)]
    assert station.exchange.counters()["sent"] > 1
