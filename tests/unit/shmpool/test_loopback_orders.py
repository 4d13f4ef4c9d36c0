# SPDX-License-Identifier: Apache-2.0
"""Answers of the in-memory network to order, and how offers go on after them."""

from __future__ import annotations

import pytest
from framegate.schema.errors import InvalidValue
from framegate.shmpool.clock import ManualClock
from framegate.shmpool.transport.interface import OfferBound, Outcome
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.unit.shmpool.loopback_world import CHANNEL, STREAM, network_with, numbers, pair, send


@pytest.mark.parametrize("outcome", list(Outcome))
def test_an_ordered_outcome_is_answered_so_many_times(outcome: Outcome) -> None:
    network = network_with()
    publication, subscription = pair(network)
    network.force_outcome(outcome, times=2)
    assert [publication.try_offer(b"0") for _ in range(2)] == [outcome, outcome]
    send(publication, 1)
    assert numbers(subscription) == [0]
    assert network.counters()["forced"] == 2


def test_an_order_for_one_stream_leaves_the_others_alone() -> None:
    network = network_with()
    ordered, other = pair(network)[0], pair(network, STREAM + 1)[0]
    network.force_outcome(Outcome.NOT_CONNECTED, stream_id=STREAM)
    assert other.try_offer(b"0") > 0
    assert ordered.try_offer(b"0") == Outcome.NOT_CONNECTED


def test_orders_are_used_up_one_after_the_other() -> None:
    network = network_with()
    publication, _ = pair(network)
    network.force_outcome(Outcome.ADMIN_ACTION)
    network.force_outcome(Outcome.NOT_CONNECTED)
    assert [publication.try_offer(b"0") for _ in range(2)] == [Outcome.ADMIN_ACTION, Outcome.NOT_CONNECTED]
    assert publication.try_offer(b"0") > 0


def test_ordered_back_pressure_is_retried_away() -> None:
    network = network_with()
    publication, _ = pair(network)
    network.force_outcome(Outcome.BACK_PRESSURED, times=3)
    send(publication, 1)
    assert publication.counters() == {
        "sent": 1,
        "back_pressured": 3,
        "admin_actions": 0,
        "not_connected": 0,
        "gave_up": 0,
    }


def test_an_offer_gives_up_after_its_attempts() -> None:
    network = network_with()
    client = network.client()
    client.add_subscription(CHANNEL, STREAM)
    publication = client.add_publication(CHANNEL, STREAM, bound=OfferBound(attempts=3))
    network.force_outcome(Outcome.BACK_PRESSURED, times=10)
    assert publication.offer(b"0") == Outcome.BACK_PRESSURED
    assert publication.counters()["back_pressured"] == 3
    assert publication.counters()["gave_up"] == 1


def test_an_offer_gives_up_at_its_deadline() -> None:
    """Each look at this clock takes a nanosecond, so the deadline comes before the attempts are used up."""
    clock = ManualClock()

    def ticking() -> int:
        clock.advance(1)
        return clock()

    network = LoopbackNetwork(ticking)
    client = network.client()
    client.add_subscription(CHANNEL, STREAM)
    publication = client.add_publication(CHANNEL, STREAM, bound=OfferBound(deadline_ns=10))
    network.force_outcome(Outcome.ADMIN_ACTION, times=1000)
    assert publication.offer(b"0") == Outcome.ADMIN_ACTION
    assert 1 < publication.counters()["admin_actions"] <= 11
    assert publication.counters()["gave_up"] == 1


def test_a_claim_can_be_refused_to_order() -> None:
    network = network_with()
    publication, _ = pair(network)
    network.force_outcome(Outcome.NOT_CONNECTED)
    assert publication.claim(4) == Outcome.NOT_CONNECTED


def test_an_order_for_no_answer_is_refused() -> None:
    with pytest.raises(InvalidValue):
        network_with().force_outcome(Outcome.CLOSED, times=0)
