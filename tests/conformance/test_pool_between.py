# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""Barriers, watermarks and signals between a native producer's descriptors, over a real media driver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from framegate.schema import decode_any
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalCategory, SignalKind, Watermark
from framegate.schema.errors import BarrierInjectionFailed, NotAttached
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from framegate._native import CommandWord, PoolProducer, bench_publish
from tests.conformance.pool_checks import pipes, world
from tests.conformance.pool_world import EPOCH, STREAM_ID, WATCHDOG_NS, Pipe, Pipes, PoolWorld, until

FRAME = np.zeros(3, np.uint8)
OWN = 9


class Sending:
    """A producer with a consumer's own stream beside the shared one, and both as they are heard."""

    def __init__(self, world: PoolWorld, pipes: Pipes) -> None:
        self.shared, self.own = pipes.from_producer, Pipe(pipes._client)
        self.producer = PoolProducer(self.shared.publication, STREAM_ID, dtype=None, shape=None)
        self.producer.attach(world.native)
        self.producer.add_branch(OWN, self.own.publication, 0)
        self.word = CommandWord.anonymous()
        self.producer.inject_by(self.word)

    def publish(self, seq: int | None = None) -> None:
        self.producer.publish(FRAME, None, seq=seq)

    def heard(self, pipe: Pipe) -> list[Any]:
        messages = list[Any]()
        while found := pipe.subscription.poll():
            messages += [told(decode_any(each.data)) for each in found]
        return messages

    def fill_own(self) -> list[Any]:
        """Publish until the consumer's own stream, which nobody reads, takes nothing; what came on the shared one."""
        shared = list[Any]()
        while self.counts("branch_descriptors_lost") == [0]:
            self.publish()
            shared += self.heard(self.shared)
        return shared

    def until_sent(self, count: int) -> None:
        """Wait until so many messages have gone between the frames."""

        def have_gone() -> bool:
            self.producer.send_due(monotonic_ns())
            return self.counts("between_sent") == [count]

        until(have_gone, "sent")

    def both(self) -> list[Any]:
        """What came on the two streams, which is the same."""
        shared = self.heard(self.shared)
        assert self.heard(self.own) == shared
        return shared

    def counts(self, *names: str) -> list[int]:
        counters = self.producer.counters()
        return [counters[name] for name in names]


def told(message: object) -> Any:
    match message:
        case FrameDescriptor():
            return message.seq
        case CheckpointBarrier():
            assert (message.stream_id, message.source_epoch) == (STREAM_ID, EPOCH)
            return "barrier", message.checkpoint_id, message.after_seq
        case ControlSignal():
            return "signal", message.after_seq
        case Watermark():
            return "watermark", message.timestamp_ms
    raise AssertionError(message)


def signal(kind: SignalKind = SignalKind.SYNC_TEST) -> bytes:
    """Its place is wrong: the producer knows better."""
    return ControlSignal(
        category=SignalCategory.BARRIER,
        kind=kind,
        barrier_id=0,
        stream_id=STREAM_ID,
        source_epoch=EPOCH,
        after_seq=77,
        pipeline="",
    ).encode()


def watermark(ms: int) -> bytes:
    return Watermark(timestamp_ms=ms, stream_id=STREAM_ID, source_epoch=EPOCH).encode()


@pytest.fixture
def sending(world: PoolWorld, pipes: Pipes) -> Iterator[Sending]:
    sending = Sending(world, pipes)
    yield sending
    sending.producer.detach()
    sending.own.publication.close()
    sending.own.subscription.close()


def test_a_barrier_that_is_asked_for_goes_before_the_next_frame_on_every_stream(sending: Sending) -> None:
    sending.publish()
    sending.publish()
    sending.word.inject(7, 1, False)
    sending.publish()
    assert sending.both() == [0, 1, ("barrier", 7, 1), 2]
    assert sending.counts("barriers_sent", "barriers_injected", "frames") == [1, 1, 3]


def test_numbers_that_were_left_out_are_not_before_a_barrier(sending: Sending) -> None:
    """Nor is a frame that is still being filled."""
    sending.publish(5)
    with sending.producer.claim(None, shape=[3], dtype="uint8", seq=10):
        sending.word.inject(7, 1, False)
        sending.producer.send_due(monotonic_ns())
        sending.word.inject(8, 1, False)
    assert sending.both() == [5, ("barrier", 7, 5), ("barrier", 8, 5), 10]
    assert sending.producer.last_seq == 10


def _b21(sending: Sending, *, is_kept_alive: bool) -> None:
    """No frame comes: the stream is slow, or its producer inside user code."""
    sending.word.inject(7, 1, False)
    if is_kept_alive:
        sending.producer.send_due(monotonic_ns())
    assert sending.both() == [("barrier", 7, None)]


def test_b21_a_silent_source_injects_all_the_same(sending: Sending) -> None:
    _b21(sending, is_kept_alive=True)


def test_b21_the_original_reading_waits_for_the_next_frame(sending: Sending) -> None:
    """Where the injector is polled in the read loop alone, nothing is sent."""
    with pytest.raises(AssertionError):
        _b21(sending, is_kept_alive=False)


def test_p13_a_barriers_place_is_where_it_was_sent_and_not_where_it_was_asked_for(sending: Sending) -> None:
    sending.fill_own()
    sending.word.inject(7, 1, False)
    asked_behind = sending.producer.last_seq
    for _ in range(3):
        sending.publish()
    sent_behind = sending.producer.last_seq
    sending.heard(sending.own)
    sending.until_sent(1)
    assert sending.heard(sending.own)[-1] == ("barrier", 7, sent_behind)
    assert asked_behind is not None
    assert sent_behind == asked_behind + 3


def test_a_silent_producer_sends_what_is_due(sending: Sending) -> None:
    sending.word.inject(7, 1, True)
    sending.producer.send_due(monotonic_ns())
    assert sending.both() == [("barrier", 7, None)]
    sending.producer.send_due(monotonic_ns())
    assert sending.both() == []


def test_batches_and_native_loops_send_it_too(sending: Sending) -> None:
    sending.word.inject(7, 1, False)
    sending.producer.publish_batch(np.zeros((2, 3), np.uint8), None)
    sending.word.inject(8, 1, False)
    bench_publish(sending.producer, 3, 1, False)
    assert sending.both() == [("barrier", 7, None), 0, 1, ("barrier", 8, 1), 2]


def test_watermarks_and_signals_stand_in_their_place(sending: Sending) -> None:
    assert sending.producer.send(watermark(4)) is True
    sending.publish()
    assert sending.producer.send(signal()) is True
    assert sending.producer.send_barrier(3, 0, False) is True
    sending.publish()
    assert sending.both() == [("watermark", 4), 0, ("signal", 0), ("barrier", 3, 0), 1]


def test_a_message_that_no_fragment_holds_is_refused_and_the_next_one_goes(sending: Sending) -> None:
    with pytest.raises(BarrierInjectionFailed, match=f"stream={STREAM_ID}"):
        sending.producer.send(bytes(2_000))
    assert sending.producer.send(watermark(4)) is True
    assert sending.both() == [("watermark", 4)]


def test_after_a_graceful_end_no_barrier_follows(sending: Sending) -> None:
    sending.publish()
    sending.producer.send(signal(SignalKind.STREAM_GRACEFUL_END))
    sending.word.inject(7, 1, False)
    sending.producer.send_due(monotonic_ns())
    assert sending.both() == [0, ("signal", 0)]


def test_what_finds_a_full_stream_goes_later_whole_and_at_its_later_place(sending: Sending) -> None:
    """P13, and PROTOCOL 12.4: neither dropped, nor at two places."""
    shared = sending.fill_own()
    sending.word.inject(7, 1, False)
    sending.publish()
    assert sending.producer.send(watermark(4)) is False
    sending.publish()
    shared += sending.heard(sending.shared)
    own = sending.heard(sending.own)
    assert all(isinstance(each, int) for each in [*own, *shared])
    last = sending.producer.last_seq
    sending.until_sent(2)
    sending.publish()
    assert sending.both() == [("barrier", 7, last), ("watermark", 4), (last or 0) + 1]
    assert sending.counts("barriers_sent", "between_sent", "between_delayed", "between_lost") == [1, 2, 2, 0]


def test_a_consumer_that_reads_nothing_for_a_second_holds_nobody_up_for_longer(sending: Sending) -> None:
    sending.fill_own()
    sending.word.inject(7, 1, False)
    heard = list[Any]()

    def has_come() -> bool:
        sending.producer.send_due(monotonic_ns())
        heard.extend(sending.heard(sending.shared))
        return bool(heard)

    until(has_come, "sent")
    assert heard == [("barrier", 7, sending.producer.last_seq)]
    assert sending.counts("branch_between_lost") == [1]
    assert ("barrier", 7, sending.producer.last_seq) not in sending.heard(sending.own)


def test_an_epoch_that_ends_loses_what_waits_and_tells_its_barrier_once(sending: Sending, world: PoolWorld) -> None:
    sending.fill_own()
    sending.word.inject(7, 3, False)
    assert sending.producer.send_due(monotonic_ns()) is None
    sending.producer.detach()
    assert sending.producer.send_due(monotonic_ns()) == (7, 3)
    assert sending.producer.send_due(monotonic_ns()) is None
    with pytest.raises(NotAttached):
        sending.producer.send_barrier(8, 3, False)
    # What is asked for meanwhile is sent in the next epoch.
    sending.word.inject(9, 3, False)
    assert sending.producer.send_due(monotonic_ns()) is None
    sending.heard(sending.own)
    sending.heard(sending.shared)
    sending.producer.attach(world.native)
    sending.until_sent(1)
    assert sending.both() == [("barrier", 9, None)]


def test_a_silent_stream_is_not_blocked_by_what_stands_between_its_frames(world: PoolWorld, pipes: Pipes) -> None:
    """The producer's own subscription, which keeps the stream moving, must be read by what stands between too."""
    pipe = pipes.from_producer
    pace = pipes._client.add_subscription(
        "aeron:ipc?term-length=64k", pipe.publication.stream_id, idle="backoff", timeout_ns=WATCHDOG_NS
    )
    producer = PoolProducer(pipe.publication, STREAM_ID, dtype=None, shape=None, pace=pace)
    producer.attach(world.native)
    try:
        for number in range(4_000):
            producer.send(watermark(number))
            pipe.subscription.poll()

            def has_gone(number: int = number) -> bool:
                producer.send_due(monotonic_ns())
                return producer.counters()["between_sent"] == number + 1

            until(has_gone, "sent")
    finally:
        pace.close()


def test_barriers_from_two_threads_stand_in_one_order(sending: Sending) -> None:
    """Frames by one thread, what no frame takes along by another: as in a producer."""
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            sending.producer.send_due(monotonic_ns())
            sleep_ns(50_000)

    thread = threading.Thread(target=look)
    thread.start()
    heard, own = list[Any](), list[Any]()
    try:
        for seq in range(2_000):
            if seq % 50 == 0:
                sending.word.inject(1 + seq // 50, 0, False)
            sending.publish()
            heard += sending.heard(sending.shared)
            own += sending.heard(sending.own)
    finally:
        done.set()
        thread.join()
    sending.producer.send_due(monotonic_ns())
    heard += sending.heard(sending.shared)
    assert own + sending.heard(sending.own) == heard
    frames = [each for each in heard if isinstance(each, int)]
    assert frames == list(range(2_000))
    barriers = [(index, each) for index, each in enumerate(heard) if not isinstance(each, int)]
    assert [each[1] for _, each in barriers] == list(range(1, 41))
    for count, (index, (_, _, after)) in enumerate(barriers):
        assert (after if after is not None else -1) + 1 == index - count
