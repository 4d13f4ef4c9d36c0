# SPDX-License-Identifier: Apache-2.0
"""What every transport keeps: messages arrive whole, in order and once; ends are clean and final."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.schema.errors import ChannelRefused, InvalidValue, MessageTooLong, TransportClosed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.interface import Outcome, Received

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tests.conformance.conftest import Wire

BIG_CHANNEL = "aeron:ipc?term-length=4m"


def test_a_message_arrives_with_its_session_and_position(wire: Wire) -> None:
    publication, subscription = wire.pair()
    position = publication.offer(b"one message")
    assert position > 0
    assert wire.receive(subscription, 1) == [Received(b"one message", publication.session_id, position)]
    assert publication.position == position
    assert publication.stream_id == subscription.stream_id == wire.stream_id


def test_positions_count_whole_frames(wire: Wire) -> None:
    """A frame is a 32-byte header and the message, aligned to 32; a long message takes several frames."""
    publication, _ = wire.pair()
    payload = publication.max_claim_bytes
    framed = {0: 32, 1: 64, 32: 64, 33: 96, payload: payload + 32, payload + 1: payload + 32 + 64}
    for length, taken in framed.items():
        before = publication.position
        assert publication.offer(bytes(length)) == before + taken


def test_ten_thousand_messages_over_many_terms_arrive_once_and_in_order(wire: Wire) -> None:
    publication, subscription = wire.pair()
    received = list[Received]()
    for number in range(10_000):
        wire.send(publication, struct.pack("<Q", number), lambda: received.extend(subscription.poll(256)))
        if number % 100 == 99:
            received.extend(subscription.poll(256))
    received += wire.receive(subscription, 10_000 - len(received))
    assert [struct.unpack("<Q", message.data)[0] for message in received] == list(range(10_000))
    assert publication.counters()["admin_actions"] > 0
    assert publication.counters()["sent"] == subscription.counters()["messages"] == 10_000


def test_a_message_of_no_bytes_is_a_message(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(b"")
    publication.offer(b"x")
    assert [message.data for message in wire.receive(subscription, 2)] == [b"", b"x"]


def test_any_contiguous_buffer_is_a_message(wire: Wire) -> None:
    publication, subscription = wire.pair()
    records = np.zeros(2, np.dtype([("seq", "<u8"), ("kind", "u1")]))
    buffers: list[Buffer] = [bytearray(b"ab"), memoryview(b"cd"), np.arange(4, dtype="<u4"), records]
    for buffer in buffers:
        assert publication.offer(buffer) > 0
    assert [message.data for message in wire.receive(subscription, 4)] == [bytes(buffer) for buffer in buffers]


def test_a_buffer_with_gaps_is_refused(wire: Wire) -> None:
    publication, subscription = wire.pair()
    with pytest.raises(InvalidValue):
        publication.offer(np.arange(8, dtype="u1")[::2])
    publication.offer(b"after")
    assert wire.receive(subscription, 1)[0].data == b"after"


def test_long_messages_of_two_senders_are_assembled_whole(wire: Wire) -> None:
    subscription = wire.subscription(channel=BIG_CHANNEL)
    senders = [wire.publication(channel=BIG_CHANNEL) for _ in range(2)]
    wire.until(lambda: subscription.image_count == 2 and all(s.is_connected for s in senders), "connected")
    wanted = {sender.session_id: list[bytes]() for sender in senders}
    for number in range(3):
        for sender in senders:
            message = _pattern(300_000, seed=sender.session_id + number)
            wanted[sender.session_id].append(message)
            assert sender.offer(message) > 0
    found = {session_id: list[bytes]() for session_id in wanted}
    for received in wire.receive(subscription, 6):
        found[received.session_id].append(received.data)
    assert found == wanted


def test_a_message_longer_than_the_channel_takes_is_refused(wire: Wire) -> None:
    publication, subscription = wire.pair()
    longest = publication.max_message_bytes
    assert longest == 64 * 1024 // 8
    for refused in (publication.offer, publication.try_offer):
        with pytest.raises(MessageTooLong):
            refused(bytes(longest + 1))
    with pytest.raises(MessageTooLong):
        publication.offer_batch(bytes(2 * (longest + 1)), longest + 1)
    assert publication.offer(bytes(longest)) > 0
    assert len(wire.receive(subscription, 1)[0].data) == longest


def test_two_subscriptions_both_get_everything(wire: Wire) -> None:
    first, second = wire.subscription(), wire.subscription()
    publication = wire.publication()
    wire.until(lambda: first.image_count == second.image_count == 1 and publication.is_connected, "connected")
    for number in range(100):
        assert publication.offer(b"%d" % number) > 0
    assert wire.receive(first, 100) == wire.receive(second, 100)


def test_two_clients_exchange_messages(wire: Wire) -> None:
    other = wire.connect()
    subscription = other.add_subscription(wire.channel, wire.stream_id)
    publication = wire.publication()
    wire.until(lambda: publication.is_connected and subscription.is_connected, "connected")
    publication.offer(b"across")
    assert wire.receive(subscription, 1)[0].data == b"across"


def test_streams_do_not_mix(wire: Wire) -> None:
    publication, subscription = wire.pair()
    stranger = wire.transport.add_subscription(wire.channel, wire.stream_id + 1_000_000)
    publication.offer(b"mine")
    assert wire.receive(subscription, 1)[0].data == b"mine"
    assert stranger.poll() == []
    assert not stranger.is_connected


def test_a_poll_takes_no_more_than_its_limit(wire: Wire) -> None:
    publication, subscription = wire.pair()
    for number in range(10):
        publication.offer(b"%d" % number)
    polls = [len(subscription.poll(3, timeout_ns=5_000_000_000)) for _ in range(3)]
    assert all(1 <= count <= 3 for count in polls)
    wire.receive(subscription, 10 - sum(polls))


def test_a_poll_with_a_timeout_waits_for_the_first_message(wire: Wire) -> None:
    publication, subscription = wire.pair()
    began_ns = monotonic_ns()
    assert subscription.poll(timeout_ns=2_000_000) == []
    assert monotonic_ns() - began_ns >= 2_000_000
    sender = threading.Timer(0.02, publication.offer, [b"later"])
    sender.start()
    assert [message.data for message in subscription.poll(timeout_ns=30_000_000_000)] == [b"later"]
    sender.join()


def test_two_threads_on_one_subscription_lose_nothing(wire: Wire) -> None:
    """They share the messages between them; which one gets which is open."""
    publication, subscription = wire.pair()
    count = 5_000
    taken = [list[bytes](), list[bytes]()]
    is_over = threading.Event()

    def poll(mine: list[bytes]) -> None:
        while not is_over.is_set():
            mine.extend(message.data for message in subscription.poll(16, timeout_ns=1_000_000))

    threads = [threading.Thread(target=poll, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    try:
        for number in range(count):
            wire.send(publication, struct.pack("<Q", number), lambda: None)
        wire.until(lambda: sum(map(len, taken)) >= count, "all taken")
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert sorted(struct.unpack("<Q", data)[0] for data in taken[0] + taken[1]) == list(range(count))


@pytest.mark.parametrize(
    "channel",
    [
        "nonsense",
        "",
        "http:ipc",
        "aeron:pigeon",
        "aeron:udp",
        "aeron:ipc?term-length=many",
        "aeron:ipc?term-length=32k",
        "aeron:ipc?term-length=96k",
        "aeron:ipc?mtu=1400",
        "aeron:ipc?term-id=1",
    ],
)
def test_a_channel_that_is_none_is_refused(wire: Wire, channel: str) -> None:
    with pytest.raises(ChannelRefused):
        wire.transport.add_publication(channel, wire.stream_id)


def test_a_subscription_to_a_channel_that_is_none_is_refused(wire: Wire) -> None:
    with pytest.raises(ChannelRefused):
        wire.transport.add_subscription("nonsense", wire.stream_id)


def test_an_unknown_idle_strategy_is_refused(wire: Wire) -> None:
    with pytest.raises(InvalidValue):
        wire.transport.add_subscription(wire.channel, wire.stream_id, idle="doze")


def test_a_closed_publication_answers_closed(wire: Wire) -> None:
    publication, _ = wire.pair()
    assert (publication.is_closed, publication.is_connected) == (False, True)
    publication.close()
    publication.close()
    assert (publication.is_closed, publication.is_connected) == (True, False)
    assert publication.offer(b"x") == publication.try_offer(b"x") == Outcome.CLOSED
    batch = publication.offer_batch(b"xy", 1)
    assert (batch.sent, batch.outcome) == (0, Outcome.CLOSED)
    with pytest.raises(TransportClosed):
        publication.claim(1)


def test_a_closed_subscription_cannot_be_polled(wire: Wire) -> None:
    _, subscription = wire.pair()
    assert (subscription.is_closed, subscription.image_count, subscription.is_connected) == (False, 1, True)
    subscription.close()
    subscription.close()
    assert (subscription.is_closed, subscription.image_count, subscription.is_connected) == (True, 0, False)
    with pytest.raises(TransportClosed):
        subscription.poll()


def test_closing_a_transport_closes_what_it_opened(wire: Wire) -> None:
    with wire.connect() as client:
        publication = client.add_publication(wire.channel, wire.stream_id)
        subscription = client.add_subscription(wire.channel, wire.stream_id)
        opened = (client, publication, subscription)
        assert [thing.is_closed for thing in opened] == [False] * 3
    client.close()
    assert [thing.is_closed for thing in opened] == [True] * 3
    assert publication.offer(b"x") == Outcome.CLOSED
    with pytest.raises(TransportClosed):
        subscription.poll()
    with pytest.raises(TransportClosed):
        client.add_publication(wire.channel, wire.stream_id)
    with pytest.raises(TransportClosed):
        client.add_subscription(wire.channel, wire.stream_id)


def test_a_healthy_transport_reports_no_errors(wire: Wire) -> None:
    wire.pair()
    assert wire.transport.errors() == []


def _pattern(length: int, seed: int) -> bytes:
    return np.random.default_rng(abs(seed)).integers(0, 256, length, np.uint8).tobytes()
