# SPDX-License-Identifier: Apache-2.0
"""Signals of the control channel with several heads: what one head skipped or repeated holds up nothing."""

from __future__ import annotations

import pytest
from framegate.joinbarrier.checkpoint.control_channel import ControlChannel
from framegate.joinbarrier.checkpoint.signals import BarrierSignal, InstantSignal, Signal

END = BarrierSignal("StreamGracefulEnd", 9)


def sync(barrier_id: int) -> BarrierSignal:
    return BarrierSignal("SyncTest", barrier_id)


def handled(channel: ControlChannel, *signals: Signal) -> list[Signal]:
    return [each for each in map(channel.hear, signals) if each is not None]


def test_a_signal_is_handled_once_when_every_head_has_sent_it() -> None:
    channel = ControlChannel(2)
    assert handled(channel, sync(5), sync(5), sync(5), sync(6), sync(6)) == [sync(5), sync(6)]
    assert channel.counts == {"aligned": 2, "repeated": 1}


def test_a_member_that_starts_late_and_hears_only_a_forward_still_handles_the_end() -> None:
    """It never heard the heads send 5, so one arrival of it is all that it will ever have."""
    channel = ControlChannel(2)
    assert handled(channel, sync(5), sync(6), sync(6), END, END) == [sync(6), END]
    assert channel.counts == {"aligned": 2, "given_up": 1}


def test_a_head_that_skips_a_signal_does_not_hold_up_the_end() -> None:
    channel = ControlChannel(2)
    assert handled(channel, sync(7), sync(8), END, END) == [END]
    assert channel.counts == {"aligned": 1, "given_up": 2}


def test_a_head_that_is_ahead_by_a_signal_costs_none() -> None:
    channel = ControlChannel(2)
    assert handled(channel, sync(7), sync(8), sync(7), sync(8)) == [sync(7), sync(8)]
    assert channel.counts == {"aligned": 2}


def test_a_repeat_of_an_older_signal_is_ignored() -> None:
    channel = ControlChannel(2)
    assert handled(channel, sync(5), sync(5), sync(6), sync(6), sync(5)) == [sync(5), sync(6)]
    assert handled(channel, sync(7), sync(7), END, END) == [sync(7), END]
    assert channel.counts == {"aligned": 4, "repeated": 1}


def test_instant_signals_wait_for_nobody() -> None:
    channel = ControlChannel(2)
    assert handled(channel, sync(5), InstantSignal("SyncTest")) == [InstantSignal("SyncTest")]


@pytest.mark.parametrize("many", [65, 1_000])
def test_signals_that_wait_are_bounded_and_the_lowest_are_given_up(many: int) -> None:
    channel = ControlChannel(2)
    assert handled(channel, *map(sync, range(1, many + 1))) == []
    assert channel.counts == {"given_up": many - 64}
    assert handled(channel, sync(many)) == [sync(many)]
