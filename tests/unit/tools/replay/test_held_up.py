# SPDX-License-Identifier: Apache-2.0
"""How long a replay at full speed waits for its consumers, and for which of them it does not."""

from __future__ import annotations

import logging

import pytest
from framegate.schema.errors import ReplayHeldUp
from framegate.schema.wire import Mode, QosConsumer
from framegate.shmpool.producer.audience import Audience
from framegate.tools.replay.held_up import DEAF_AFTER_NS, SAY_AFTER_NS, HeldUp

STREAM, EPOCH, SENT = 10_001, 7, 63
SECOND = 1_000_000_000


def say(audience: Audience, consumer: int, seen: int, now_ns: int, epoch: int = EPOCH) -> None:
    message = QosConsumer(
        stream_id=STREAM,
        consumer_id=consumer,
        epoch=epoch,
        last_seq_seen=seen,
        drops_gap=0,
        drops_late=0,
        mode=Mode.STREAM,
    )
    audience.on_qos(message, now_ns)


def waited(seen: int, seconds: int, epoch: int = EPOCH, begins_at: int = 0) -> None:
    """Wait so long for a consumer that says the same each second."""
    audience, held_up = Audience(STREAM), HeldUp(STREAM, EPOCH, SENT, 0)
    for second in range(seconds):
        if second >= begins_at:
            say(audience, 42, seen, second * SECOND, epoch)
        held_up.check(audience, second * SECOND)


def test_a_consumer_that_never_sees_anything_is_named_at_the_end() -> None:
    waited(0, DEAF_AFTER_NS // SECOND)
    with pytest.raises(ReplayHeldUp) as caught:
        waited(0, DEAF_AFTER_NS // SECOND + 1)
    assert caught.value.facts == {"stream": STREAM, "consumer": 42, "sent_seq": SENT, "waited_s": 30}


def test_a_consumer_that_came_late_has_its_time_from_then() -> None:
    waited(0, 49, begins_at=20)
    with pytest.raises(ReplayHeldUp):
        waited(0, 51, begins_at=20)


@pytest.mark.parametrize(("seen", "epoch"), [(1, EPOCH), (0, EPOCH - 1)], ids=["slow", "of another epoch"])
def test_a_consumer_that_has_seen_something_is_waited_for(seen: int, epoch: int) -> None:
    waited(seen, 10 * DEAF_AFTER_NS // SECOND, epoch)


def test_a_long_wait_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        waited(5, SAY_AFTER_NS // SECOND)
        assert caplog.records == []
        waited(5, 100)
    assert [record.getMessage() for record in caplog.records] == [
        "stream 10001: the replay waits for its slowest consumer, which has seen up to 5 of 63"
    ]
