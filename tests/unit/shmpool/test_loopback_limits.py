# SPDX-License-Identifier: Apache-2.0
"""The media driver's death to order, and the bounds of what waits for a caller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from framegate.schema.errors import MediaDriverGone
from framegate.shmpool.transport.interface import RecordKind
from framegate.shmpool.transport.loopback.client import ERRORS_MAX
from framegate.shmpool.transport.loopback.network import LoopbackNetwork
from framegate.shmpool.transport.loopback.subscription import IMAGE_EVENTS_MAX

from tests.unit.shmpool.loopback_world import CHANNEL, STREAM, advance, claimed, network_with, pair


def _uses(network: LoopbackNetwork) -> dict[str, Callable[[], object]]:
    client = network.client()
    subscription = client.add_subscription(CHANNEL, STREAM)
    publication = client.add_publication(CHANNEL, STREAM)
    out = np.zeros(2, "V40")
    return {
        "offer": lambda: publication.offer(b"x"),
        "try_offer": lambda: publication.try_offer(b"x"),
        "offer_batch": lambda: publication.offer_batch(b"xy", 1),
        "claim": lambda: publication.claim(1),
        "poll": subscription.poll,
        "poll_records": lambda: subscription.poll_records(RecordKind(40, 4, 900, 1, True), out),
        "add_publication": lambda: client.add_publication(CHANNEL, STREAM),
        "add_subscription": lambda: client.add_subscription(CHANNEL, STREAM),
        "client": network.client,
    }


@pytest.mark.parametrize("use", _uses(LoopbackNetwork()))
def test_every_use_after_the_drivers_death_says_so(use: str) -> None:
    network = network_with()
    call = _uses(network)[use]
    call()
    network.kill_driver()
    for _ in range(2):
        with pytest.raises(MediaDriverGone):
            call()


def test_everything_can_be_closed_after_the_drivers_death() -> None:
    network = network_with()
    with network.client() as client:
        subscription = client.add_subscription(CHANNEL, STREAM)
        publication = client.add_publication(CHANNEL, STREAM)
        network.kill_driver()
        assert client.is_closed
        assert (publication.is_connected, subscription.is_connected) == (False, False)
        assert client.errors() == ["the media driver is gone"]
    assert publication.is_closed
    assert subscription.is_closed


def test_a_claim_whose_driver_died_cannot_be_committed_and_blocks_nothing() -> None:
    network = network_with()
    publication, _ = pair(network)
    claim = claimed(publication, 1)
    with pytest.raises(MediaDriverGone), claim:
        network.kill_driver()
    publication.close()


def test_image_events_are_bounded_and_the_oldest_make_room() -> None:
    client = network_with().client()
    subscription = client.add_subscription(CHANNEL, STREAM)
    for _ in range(IMAGE_EVENTS_MAX // 2 + 1):
        last = client.add_publication(CHANNEL, STREAM)
        last.close()
    events = subscription.image_events()
    assert len(events) == IMAGE_EVENTS_MAX
    assert (events[-1].is_available, events[-1].session_id) == (False, last.session_id)
    assert subscription.counters()["image_events_dropped"] == 2


def test_errors_are_bounded_and_the_oldest_make_room() -> None:
    network = network_with()
    client = network.client()
    for number in range(ERRORS_MAX + 3):
        network.report_error(f"error {number}")
    errors = client.errors()
    assert (len(errors), errors[-1]) == (ERRORS_MAX, f"error {ERRORS_MAX + 2}")
    assert network.counters()["errors_dropped"] == 3
    assert client.errors() == []


def test_an_image_event_carries_the_time_of_the_clock() -> None:
    network = network_with()
    advance(network, 123)
    _, subscription = pair(network)
    assert [event.at_ns for event in subscription.image_events()] == [123]
