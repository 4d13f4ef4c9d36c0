# SPDX-License-Identifier: Apache-2.0
"""Subscriptions without a tether: left behind rather than waited for."""

from __future__ import annotations

from framegate.shmpool.clock import ManualClock
from framegate.shmpool.transport.interface import Outcome
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.unit.shmpool.loopback_world import CHANNEL, MS, STREAM, advance, network_with, numbers, send

UNTETHERED = "aeron:ipc?tether=false"


def test_an_untethered_subscription_is_left_behind_and_comes_back() -> None:
    network = network_with(window_bytes=1024)
    client = network.client()
    loose = client.add_subscription(UNTETHERED, STREAM)
    tethered = client.add_subscription(CHANNEL, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    for number in range(100):
        send(publication, 1, number)
        assert numbers(tethered) == [number]
    assert publication.counters()["back_pressured"] == 0
    assert loose.poll() == []
    assert network.counters()["untethered_lost"] == 16
    advance(network, 10_000_000_000)
    assert loose.poll() == []
    send(publication, 1, 100)
    assert numbers(loose) == [100]
    session_id = publication.session_id
    events = [(event.is_available, event.session_id) for event in loose.image_events()]
    assert events == [(True, session_id), (False, session_id), (True, session_id)]


def test_an_untethered_subscription_alone_leaves_the_sender_unconnected() -> None:
    network = network_with(window_bytes=1024)
    client = network.client()
    client.add_subscription(UNTETHERED, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    send(publication, 16)
    assert publication.offer(b"16") == Outcome.NOT_CONNECTED


def test_an_untethered_subscription_that_keeps_up_loses_nothing() -> None:
    network = network_with(window_bytes=1024)
    client = network.client()
    loose = client.add_subscription(UNTETHERED, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    for number in range(100):
        send(publication, 1, number)
        assert numbers(loose) == [number]
    assert network.counters()["untethered_lost"] == 0


def test_an_untethered_subscription_alone_holds_up_its_sender_as_aerons_does() -> None:
    """There is no faster one to measure it by, so the limit never begins to run."""
    network = LoopbackNetwork(ManualClock(), window_bytes=1024, untethered_limit_ns=MS)
    client = network.client()
    loose = client.add_subscription(UNTETHERED, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    send(publication, 16)
    for _ in range(3):
        assert publication.offer(b"16") == Outcome.BACK_PRESSURED
        advance(network, 10 * MS)
    assert numbers(loose) == list(range(16))


def test_a_slow_untethered_subscription_holds_up_its_sender_until_the_limit_as_aerons_does() -> None:
    network = LoopbackNetwork(ManualClock(), window_bytes=1024, untethered_limit_ns=MS)
    client = network.client()
    client.add_subscription(UNTETHERED, STREAM)
    fast = client.add_subscription(CHANNEL, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    send(publication, 16)
    assert numbers(fast) == list(range(16))
    assert publication.offer(b"16") == Outcome.BACK_PRESSURED
    advance(network, MS)
    assert publication.offer(b"16") == Outcome.BACK_PRESSURED
    advance(network, 1)
    send(publication, 1, 16)
    assert network.counters()["untethered_lost"] == 16


def test_a_session_that_ends_while_an_untethered_subscription_rests_does_not_come_back() -> None:
    network = network_with(window_bytes=64)
    client = network.client()
    loose = client.add_subscription(UNTETHERED, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    send(publication, 1)
    publication.offer(b"1")
    publication.close()
    advance(network, 10_000_000_000)
    assert loose.poll() == []
    assert [event.is_available for event in loose.image_events()] == [True, False]
