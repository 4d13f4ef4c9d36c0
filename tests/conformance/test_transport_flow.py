# SPDX-License-Identifier: Apache-2.0
"""What an offer answers when the message is not simply taken, and that nothing is lost by it."""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.schema.errors import InvalidValue
from framegate.shmpool.transport.interface import OfferBound, Outcome, Publication, Received, Subscription

if TYPE_CHECKING:
    from tests.conformance.conftest import Wire

SHORT_BOUND = OfferBound(attempts=20, deadline_ns=1_000_000)
MESSAGE = struct.Struct("<Q1016x")


def test_without_a_subscriber_the_answer_is_not_connected(wire: Wire) -> None:
    publication = wire.publication()
    assert not publication.is_connected
    assert publication.offer(b"x") == Outcome.NOT_CONNECTED
    assert publication.claim(1) == Outcome.NOT_CONNECTED
    assert publication.counters() | {"not_connected": 2} == publication.counters()
    assert publication.counters()["gave_up"] == publication.counters()["sent"] == 0


def test_a_sender_notices_that_the_last_subscriber_left(wire: Wire) -> None:
    """Not at once: Aeron may still take a few messages, which nobody will receive."""
    publication, subscription = wire.pair()
    subscription.close()
    wire.until(lambda: publication.try_offer(b"x") == Outcome.NOT_CONNECTED, "noticed")
    wire.until(lambda: not publication.is_connected, "shown")


def test_one_attempt_shows_the_rotation_of_a_term(wire: Wire) -> None:
    publication, subscription = wire.pair()
    answers = Counter[Outcome]()
    sent = 0
    while publication.position < 3 * 64 * 1024:
        answer = publication.try_offer(MESSAGE.pack(sent))
        if isinstance(answer, Outcome):
            answers[answer] += 1
            subscription.poll()
        else:
            sent += 1
    assert answers[Outcome.ADMIN_ACTION] >= 2
    counters = publication.counters()
    assert counters["admin_actions"] == answers[Outcome.ADMIN_ACTION]
    assert counters["back_pressured"] == answers[Outcome.BACK_PRESSURED]
    assert counters["sent"] == sent


def test_an_offer_hides_the_rotation_of_a_term(wire: Wire) -> None:
    publication, subscription = wire.pair()
    received = list[Received]()
    for number in range(200):
        answer = publication.offer(MESSAGE.pack(number))
        assert answer != Outcome.ADMIN_ACTION
        if answer == Outcome.BACK_PRESSURED:
            wire.send(publication, MESSAGE.pack(number), lambda: received.extend(subscription.poll()))
        received.extend(subscription.poll())
    received += wire.receive(subscription, 200 - len(received))
    assert _numbers(received) == list(range(200))
    assert publication.counters()["admin_actions"] >= 3


def test_a_subscriber_that_does_not_poll_causes_back_pressure_and_loses_nothing(wire: Wire) -> None:
    publication, subscription = wire.pair(bound=SHORT_BOUND)
    taken = _fill(publication)
    counters = publication.counters()
    assert counters["sent"] == taken
    assert counters["back_pressured"] > 1
    assert counters["gave_up"] == 1
    received = wire.receive(subscription, taken)
    wire.send(publication, MESSAGE.pack(taken), lambda: None)
    received += wire.receive(subscription, 1)
    assert _numbers(received) == list(range(taken + 1))


def test_one_attempt_does_not_count_as_giving_up(wire: Wire) -> None:
    publication, _ = wire.pair()
    number = 0
    while publication.try_offer(MESSAGE.pack(number)) > 0:
        number += 1
    assert publication.counters()["gave_up"] == 0


def test_the_number_of_attempts_ends_an_offer(wire: Wire) -> None:
    publication, _ = wire.pair(bound=OfferBound(attempts=1, deadline_ns=3_600_000_000_000))
    _fill(publication)
    counters = publication.counters()
    assert counters["back_pressured"] + counters["admin_actions"] == counters["gave_up"] == 1


def test_a_batch_is_taken_whole(wire: Wire) -> None:
    publication, subscription = wire.pair()
    batch = b"".join(struct.pack("<Q", number) for number in range(100))
    result = publication.offer_batch(batch, 8)
    assert (result.sent, result.outcome) == (100, None)
    received = [struct.unpack("<Q", message.data)[0] for message in wire.receive(subscription, 100)]
    assert received == list(range(100))


def test_a_batch_may_be_an_array_of_records(wire: Wire) -> None:
    publication, subscription = wire.pair()
    records = np.zeros(3, np.dtype([("seq", "<u8"), ("kind", "u1")]))
    records["seq"] = [5, 6, 7]
    assert publication.offer_batch(records, records.itemsize).sent == 3
    received = b"".join(message.data for message in wire.receive(subscription, 3))
    assert np.frombuffer(received, records.dtype)["seq"].tolist() == [5, 6, 7]


def test_a_batch_that_back_pressure_cuts_says_how_much_was_taken(wire: Wire) -> None:
    publication, subscription = wire.pair(bound=SHORT_BOUND)
    batch = b"".join(MESSAGE.pack(number) for number in range(200))
    received = list[Received]()
    result = publication.offer_batch(batch, MESSAGE.size)
    assert 0 < result.sent < 200
    assert result.outcome == Outcome.BACK_PRESSURED
    assert publication.counters()["sent"] == result.sent
    received += wire.receive(subscription, result.sent)
    sent = result.sent
    while sent < 200:
        sent += publication.offer_batch(batch[sent * MESSAGE.size :], MESSAGE.size).sent
        received.extend(subscription.poll())
    received += wire.receive(subscription, 200 - len(received))
    assert _numbers(received) == list(range(200))


def test_an_empty_batch_is_taken(wire: Wire) -> None:
    publication, _ = wire.pair()
    result = publication.offer_batch(b"", 8)
    assert (result.sent, result.outcome) == (0, None)


@pytest.mark.parametrize(("length", "message_bytes"), [(17, 8), (16, 0)])
def test_a_batch_that_is_not_whole_messages_is_refused(wire: Wire, length: int, message_bytes: int) -> None:
    publication, subscription = wire.pair()
    with pytest.raises(InvalidValue):
        publication.offer_batch(bytes(length), message_bytes)
    assert publication.counters()["sent"] == 0
    assert subscription.poll() == []


def test_a_stream_ends_at_its_last_position(wire: Wire) -> None:
    """The publication is placed 64 bytes before the end of the last term there can be."""
    place = "init-term-id=0|term-id=2147483647|term-offset=65472"
    publication, subscription = wire.pair(channel=f"{wire.channel}|{place}")
    assert publication.position == 2**47 - 64
    assert publication.offer(b"last") == 2**47
    assert publication.offer(b"none") == Outcome.MAX_POSITION
    assert wire.receive(subscription, 1)[0].data == b"last"


def test_each_exclusive_publication_is_a_session_of_its_own(wire: Wire) -> None:
    subscription = wire.subscription()
    senders = [wire.publication() for _ in range(3)]
    assert len({sender.session_id for sender in senders}) == 3
    wire.until(lambda: subscription.image_count == 3, "three images")
    for number, sender in enumerate(senders):
        wire.send(sender, b"%d" % number, lambda: None)
    by_session = {message.session_id: message.data for message in wire.receive(subscription, 3)}
    assert by_session == {sender.session_id: b"%d" % number for number, sender in enumerate(senders)}


def test_shared_publications_are_one_session_until_the_last_is_closed(wire: Wire) -> None:
    subscription = wire.subscription()
    first, second = (wire.publication(exclusive=False) for _ in range(2))
    assert first.session_id == second.session_id
    wire.until(lambda: first.is_connected and second.is_connected and subscription.image_count == 1, "connected")
    first.offer(b"first")
    second.offer(b"second")
    first.close()
    second.offer(b"third")
    assert [message.data for message in wire.receive(subscription, 3)] == [b"first", b"second", b"third"]
    assert subscription.image_count == 1
    second.close()
    wire.until(lambda: _is_image_gone(subscription), "gone")


def test_an_image_comes_and_goes_once_with_its_session(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(b"x")
    wire.receive(subscription, 1)
    publication.close()
    events = list[tuple[bool, int]]()

    def is_gone() -> bool:
        subscription.poll()
        for event in subscription.image_events():
            assert event.source.startswith("aeron:ipc")
            assert event.at_ns > 0
            events.append((event.is_available, event.session_id))
        return not subscription.image_count and len(events) >= 2

    wire.until(is_gone, "gone")
    assert events == [(True, publication.session_id), (False, publication.session_id)]
    assert subscription.image_events() == []
    assert subscription.counters()["image_events_dropped"] == 0


def test_what_a_closed_publication_sent_still_arrives(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(b"last words")
    publication.close()
    assert wire.receive(subscription, 1)[0].data == b"last words"
    wire.until(lambda: _is_image_gone(subscription), "gone")


def _is_image_gone(subscription: Subscription) -> bool:
    assert subscription.poll() == []
    return subscription.image_count == 0


def _fill(publication: Publication) -> int:
    """Send until back-pressure; how many messages were taken."""
    number = 0
    while (answer := publication.offer(MESSAGE.pack(number))) > 0:
        number += 1
    assert answer == Outcome.BACK_PRESSURED
    assert number > 0
    return number


def _numbers(received: list[Received]) -> list[int]:
    return [MESSAGE.unpack(message.data)[0] for message in received]
