# SPDX-License-Identifier: Apache-2.0
"""Who listens to a stream, as its producer hears it (PROTOCOL 7.2)."""

from __future__ import annotations

from dataclasses import replace

from framegate.schema.wire import Bool, Mode
from framegate.shmpool.client.progress import ProgressPolicy
from framegate.shmpool.producer.audience import MAX_CONSUMERS, STALE_NS, Audience

from tests.unit.shmpool.hello_messages import CONSUMER, hello, qos
from tests.unit.shmpool.lease_messages import STREAM


def test_a_consumer_is_ready_when_its_qos_names_the_epoch_and_a_hello_is_not_enough() -> None:
    audience = Audience(STREAM)
    audience.on_hello(hello(), 0)
    assert audience.ready(5) == 0
    audience.on_qos(qos(epoch=4), 0)
    assert audience.ready(5) == 0
    audience.on_qos(qos(epoch=5), 0)
    audience.on_qos(qos(2, epoch=5), 0)
    assert audience.ready(5) == 2


def test_a_new_epoch_has_nobody_yet() -> None:
    audience = Audience(STREAM)
    audience.on_qos(qos(epoch=5), 0)
    audience.on_epoch(6)
    assert (audience.ready(5), audience.ready(6)) == (0, 0)


def test_a_consumer_is_stale_only_when_neither_hello_nor_qos_came_for_five_periods() -> None:
    audience = Audience(STREAM)
    audience.on_hello(hello(1), 0)
    audience.on_hello(hello(2), 0)
    audience.on_hello(hello(3), 0)
    audience.on_hello(hello(2), 1)
    audience.on_qos(qos(3), 1)
    assert list(audience.stale(STALE_NS)) == []
    assert list(audience.stale(STALE_NS + 1)) == [1]
    audience.forget(1)
    audience.forget(1)
    assert 1 not in audience
    assert list(audience.stale(STALE_NS + 2)) == [2, 3]


def test_the_newest_hello_says_the_rate() -> None:
    audience = Audience(STREAM)
    assert audience.max_rate_hz(CONSUMER) == 0
    audience.on_hello(hello(mode=Mode.RATE_LIMITED, max_rate_hz=30), 0)
    assert audience.max_rate_hz(CONSUMER) == 30
    audience.on_hello(hello(), 1)
    assert audience.max_rate_hz(CONSUMER) == 0


def test_progress_is_for_those_who_asked_at_the_smallest_that_they_offered() -> None:
    audience = Audience(STREAM)
    audience.on_hello(hello(1, progress_interval_us=1, progress_bytes_delta=1), 0)
    assert audience.wants_progress == []
    assert audience.progress_policy() == ProgressPolicy()
    wish = {"supports_progress": Bool.TRUE, "progress_interval_us": 900, "progress_bytes_delta": 10_000}
    audience.on_hello(hello(2, **wish), 0)
    audience.on_hello(hello(3, **{**wish, "progress_interval_us": 500, "progress_major_delta_units": 4}), 0)
    assert audience.wants_progress == [2, 3]
    assert audience.progress_policy() == ProgressPolicy(500_000, 10_000, 4)
    audience.forget(3)
    assert audience.progress_policy() == ProgressPolicy(900_000, 10_000, None)


def test_no_more_than_the_bound_are_remembered_and_the_rest_is_counted() -> None:
    audience = Audience(STREAM)
    for consumer_id in range(MAX_CONSUMERS + 3):
        audience.on_qos(qos(consumer_id), 0)
    assert (audience.ready(5), audience.ignored) == (MAX_CONSUMERS, 3)


def test_the_slowest_is_known_of_those_who_have_mapped_the_epoch() -> None:
    audience = Audience(STREAM)
    assert audience.slowest(5) is None
    for consumer_id, epoch, last_seq in ((1, 5, 40), (2, 5, 30), (3, 4, 2)):
        audience.on_qos(replace(qos(consumer_id, epoch), last_seq_seen=last_seq), 0)
    assert audience.slowest(5) == 30
    audience.forget(2)
    assert audience.slowest(5) == 40


def test_a_consumer_that_comes_late_or_again_lacks_nothing_of_what_was_sent_before() -> None:
    """It hears of it no more, so a producer that goes by its readers must not wait until it says so."""
    audience = Audience(STREAM)
    audience.on_qos(qos(1), 0)
    audience.on_qos(qos(2), 0, sent_seq=70)
    assert audience.slowest(5) == 0
    audience.on_qos(replace(qos(1), last_seq_seen=90), 0, sent_seq=95)
    assert audience.slowest(5) == 70
    audience.forget(1)
    audience.on_qos(qos(1), 0, sent_seq=120)
    audience.on_qos(replace(qos(2), last_seq_seen=125), 0, sent_seq=130)
    assert audience.slowest(5) == 120
