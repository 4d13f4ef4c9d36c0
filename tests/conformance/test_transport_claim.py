# SPDX-License-Identifier: Apache-2.0
"""Claims: a message filled in place is seen when its block is left, or never."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.schema.errors import ClaimStillViewed, MessageTooLong
from framegate.shmpool.transport.interface import Claim, Outcome, Publication

if TYPE_CHECKING:
    from tests.conformance.conftest import Wire


class Interrupted(Exception):
    """What a claim's block fails with."""


def claimed(publication: Publication, length: int) -> Claim:
    claim = publication.claim(length)
    assert not isinstance(claim, Outcome)
    return claim


def fill_and_fail(publication: Publication) -> None:
    try:
        with claimed(publication, 8) as room:
            room[:] = b"unwanted"
            publication.offer(b"behind")
            raise Interrupted
    except Interrupted:
        return
    pytest.fail("the exception was swallowed")


def test_leaving_the_block_sends_the_message(wire: Wire) -> None:
    publication, subscription = wire.pair()
    claim = claimed(publication, 5)
    with claim as room:
        assert (len(room), room.readonly) == (5, False)
        room[:] = b"claim"
    received = wire.receive(subscription, 1)
    assert [message.data for message in received] == [b"claim"]
    assert received[0].position == claim.position == publication.position
    assert publication.counters()["sent"] == 1


def test_a_claim_of_no_bytes_is_a_message(wire: Wire) -> None:
    publication, subscription = wire.pair()
    with claimed(publication, 0) as room:
        assert len(room) == 0
    assert wire.receive(subscription, 1)[0].data == b""


def test_a_message_behind_an_open_claim_waits(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(b"before")
    with claimed(publication, 5) as room:
        assert publication.offer(b"behind") > 0
        assert wire.receive(subscription, 1)[0].data == b"before"
        assert subscription.poll(timeout_ns=1_000_000) == []
        room[:] = b"claim"
    assert [message.data for message in wire.receive(subscription, 2)] == [b"claim", b"behind"]


def test_an_exception_abandons_the_message_and_frees_those_behind(wire: Wire) -> None:
    publication, subscription = wire.pair()
    fill_and_fail(publication)
    assert [message.data for message in wire.receive(subscription, 1)] == [b"behind"]


def test_a_claim_that_is_dropped_frees_those_behind(wire: Wire) -> None:
    publication, subscription = wire.pair()
    claim = claimed(publication, 8)
    publication.offer(b"behind")
    assert subscription.poll() == []
    del claim
    gc.collect()
    assert [message.data for message in wire.receive(subscription, 1)] == [b"behind"]
    publication.close()


def test_the_longest_claim_is_one_fragment(wire: Wire) -> None:
    publication, subscription = wire.pair()
    longest = publication.max_claim_bytes
    with pytest.raises(MessageTooLong):
        publication.claim(longest + 1)
    with claimed(publication, longest) as room:
        room[:] = b"c" * longest
    assert wire.receive(subscription, 1)[0].data == b"c" * longest


def test_the_room_is_unusable_after_the_block(wire: Wire) -> None:
    publication, _ = wire.pair()
    with claimed(publication, 5) as room:
        pass
    with pytest.raises(ValueError, match="released"):
        room[0] = 1
    with pytest.raises(ValueError, match="released"):
        bytes(room)


def test_the_room_is_unusable_after_a_failed_block(wire: Wire) -> None:
    publication, _ = wire.pair()
    with pytest.raises(Interrupted), claimed(publication, 5) as room:
        raise Interrupted
    with pytest.raises(ValueError, match="released"):
        room[0] = 1


def test_a_view_that_outlives_the_block_abandons_the_message(wire: Wire) -> None:
    publication, subscription = wire.pair()
    with pytest.raises(ClaimStillViewed), claimed(publication, 4) as room:
        array = np.frombuffer(room, np.uint8)
    del array, room
    publication.offer(b"behind")
    assert [message.data for message in wire.receive(subscription, 1)] == [b"behind"]


def test_an_array_that_is_gone_before_the_end_of_the_block_does_no_harm(wire: Wire) -> None:
    publication, subscription = wire.pair()
    with claimed(publication, 4) as room:
        np.frombuffer(room, np.uint8)[:] = 7
    assert wire.receive(subscription, 1)[0].data == b"\x07" * 4


def test_closing_with_an_open_claim_is_refused(wire: Wire) -> None:
    publication, subscription = wire.pair()
    with claimed(publication, 4) as room:
        with pytest.raises(ClaimStillViewed):
            publication.close()
        room[:] = b"good"
    assert wire.receive(subscription, 1)[0].data == b"good"
    publication.close()
    assert publication.is_closed


def test_closing_the_transport_with_an_open_claim_closes_nothing(wire: Wire) -> None:
    client = wire.connect()
    subscription = wire.subscription()
    bystander = client.add_publication(wire.channel, wire.stream_id)
    publication = client.add_publication(wire.channel, wire.stream_id)
    wire.until(lambda: publication.is_connected and bystander.is_connected, "connected")
    with claimed(publication, 4) as room:
        with pytest.raises(ClaimStillViewed):
            client.close()
        assert (client.is_closed, publication.is_closed, bystander.is_closed) == (False, False, False)
        room[:] = b"good"
    assert wire.receive(subscription, 1)[0].data == b"good"
    client.close()
    assert (client.is_closed, publication.is_closed, bystander.is_closed) == (True, True, True)
