# SPDX-License-Identifier: Apache-2.0
"""The harm that the in-memory network does to order, and that a seed repeats it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from framegate.schema.errors import InvalidValue
from framegate.shmpool.transport.interface import Outcome, RecordKind, Transport
from framegate.shmpool.transport.loopback.faults import FaultRule, Faults
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.unit.shmpool.loopback_world import CHANNEL, MS, STREAM, advance, claimed, network_with, numbers, pair, send


def test_the_network_is_a_transport() -> None:
    transport: Transport = LoopbackNetwork().client()
    assert not transport.is_closed


def test_loss_drops_about_its_share_and_says_how_many() -> None:
    network = network_with(FaultRule(loss=0.3))
    publication, subscription = pair(network)
    send(publication, 400)
    found = numbers(subscription)
    assert found == sorted(set(found))
    assert network.counters()["lost"] == 400 - len(found)
    assert 60 < network.counters()["lost"] < 180


def test_each_receiver_has_a_fate_of_its_own() -> None:
    network = network_with(FaultRule(loss=0.5))
    publication, first = pair(network)
    second = network.client().add_subscription(CHANNEL, STREAM)
    send(publication, 100)
    assert numbers(first) != numbers(second)


def test_what_was_lost_holds_nobody_back() -> None:
    network = network_with(FaultRule(loss=1.0), window_bytes=1024)
    publication, subscription = pair(network)
    for number in range(100):
        send(publication, 1, number)
        assert numbers(subscription) == []
    assert publication.counters()["back_pressured"] == 0


def test_duplicates_arrive_twice_at_the_same_position() -> None:
    network = network_with(FaultRule(duplicate=1.0))
    publication, subscription = pair(network)
    send(publication, 3)
    received = subscription.poll()
    assert [int(message.data) for message in received] == [0, 0, 1, 1, 2, 2]
    assert received[0] == received[1]
    assert network.counters()["duplicated"] == 3


def test_claims_suffer_as_offers_do() -> None:
    network = network_with(FaultRule(duplicate=1.0))
    publication, subscription = pair(network)
    with claimed(publication, 1) as room:
        room[:] = b"5"
    assert numbers(subscription) == [5, 5]


def test_a_delayed_message_comes_when_it_is_due() -> None:
    network = network_with(FaultRule(delay_ns=(MS, MS)))
    publication, subscription = pair(network)
    send(publication, 1)
    advance(network, MS - 1)
    assert numbers(subscription) == []
    advance(network, 1)
    assert numbers(subscription) == [0]
    assert network.counters()["delayed"] == 1


def test_delays_keep_the_order_of_a_session() -> None:
    network = network_with(FaultRule(delay_ns=(0, MS)))
    publication, subscription = pair(network)
    send(publication, 100)
    found = list[int]()
    for _ in range(20):
        found += numbers(subscription)
        advance(network, MS // 20)
    found += numbers(subscription)
    assert found == list(range(100))


def test_delays_reorder_when_asked_and_lose_nothing() -> None:
    network = network_with(FaultRule(delay_ns=(0, MS), may_reorder=True))
    publication, subscription = pair(network)
    send(publication, 100)
    advance(network, MS)
    found = numbers(subscription)
    assert found != sorted(found)
    assert sorted(found) == list(range(100))


def test_nothing_overtakes_an_open_claim() -> None:
    network = network_with(FaultRule(delay_ns=(0, MS), may_reorder=True))
    publication, subscription = pair(network)
    with claimed(publication, 1) as room:
        send(publication, 3)
        advance(network, 10 * MS)
        assert numbers(subscription) == []
        room[:] = b"9"
    advance(network, 10 * MS)
    assert sorted(numbers(subscription)) == [0, 1, 2, 9]


def test_a_delayed_message_counts_as_not_consumed() -> None:
    network = network_with(FaultRule(delay_ns=(MS, MS)), window_bytes=1024)
    publication, subscription = pair(network)
    send(publication, 16)
    subscription.poll()
    assert publication.offer(b"16") == Outcome.BACK_PRESSURED
    advance(network, MS)
    assert numbers(subscription) == list(range(16))
    send(publication, 1, 16)


def test_a_poll_on_an_injected_clock_never_waits() -> None:
    """The clock stands still, so waiting would never end."""
    publication, subscription = pair(network_with())
    out = np.zeros(2, "V40")
    assert subscription.poll(timeout_ns=10**18) == []
    assert subscription.poll_records(RecordKind(40, 4, 900, 1, True), out, timeout_ns=10**18) == 0
    send(publication, 1)
    assert numbers(subscription) == [0]


def test_back_pressure_on_an_injected_clock_is_answered_at_once() -> None:
    publication, _ = pair(network_with(window_bytes=64))
    send(publication, 1)
    assert publication.offer(b"1") == Outcome.BACK_PRESSURED
    assert publication.counters()["back_pressured"] == publication.counters()["gave_up"] == 1


def test_a_rule_touches_only_its_stream() -> None:
    network = network_with(FaultRule(stream_id=STREAM, loss=1.0))
    lossy, good = pair(network), pair(network, STREAM + 1)
    for publication, _ in (lossy, good):
        send(publication, 5)
    assert numbers(lossy[1]) == []
    assert numbers(good[1]) == list(range(5))


def test_a_rule_touches_only_messages_that_match() -> None:
    publication, subscription = pair(network_with(FaultRule(matches=lambda message: message == b"3", loss=1.0)))
    send(publication, 5)
    assert numbers(subscription) == [0, 1, 2, 4]


def test_the_first_rule_that_covers_a_message_decides() -> None:
    spare, lose = FaultRule(matches=lambda message: message == b"3"), FaultRule(loss=1.0)
    publication, subscription = pair(network_with(spare, lose))
    send(publication, 5)
    assert numbers(subscription) == [3]


def test_faults_can_be_changed_while_the_network_runs() -> None:
    network = network_with()
    publication, subscription = pair(network)
    send(publication, 1)
    network.faults = Faults((FaultRule(loss=1.0),))
    send(publication, 1, 1)
    network.faults = Faults()
    send(publication, 1, 2)
    assert numbers(subscription) == [0, 2]


@pytest.mark.parametrize("wrong", [{"loss": 1.1}, {"duplicate": -0.1}, {"delay_ns": (2, 1)}, {"delay_ns": (-1, 1)}])
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        FaultRule(**wrong)


def _run(seed: int) -> list[tuple[int, int]]:
    rule = FaultRule(loss=0.2, duplicate=0.2, delay_ns=(0, MS), may_reorder=True)
    network = network_with(rule, seed=seed)
    publication, subscription = pair(network)
    seen = list[tuple[int, int]]()
    for step in range(200):
        send(publication, 1, step)
        seen += [(step, number) for number in numbers(subscription)]
        advance(network, MS // 10)
    return seen


def test_the_same_seed_repeats_the_same_harm() -> None:
    assert _run(81726) == _run(81726)


def test_another_seed_does_other_harm() -> None:
    assert _run(1) != _run(2)


def test_sessions_repeat_with_the_seed() -> None:
    assert pair(network_with(seed=5))[0].session_id == pair(network_with(seed=5))[0].session_id


def test_a_rule_throws_as_many_dice_whatever_its_numbers() -> None:
    """So that changing one probability leaves the other faults of a run where they were."""
    lossless, lossy = (
        network_with(FaultRule(loss=loss, duplicate=0.3), seed=3, window_bytes=1 << 20) for loss in (0.0, 0.2)
    )
    twice = list[set[int]]()
    for network in (lossless, lossy):
        publication, subscription = pair(network)
        send(publication, 200)
        found = numbers(subscription)
        twice.append({number for number in found if found.count(number) == 2})
    assert twice[1] < twice[0]
