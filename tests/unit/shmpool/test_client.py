# SPDX-License-Identifier: Apache-2.0
"""The client's thread: every member hears everything, and what one is refused, or raises, is not the others' affair."""

from __future__ import annotations

import logging
import threading

import pytest
from framegate.schema import Message
from framegate.schema.driver import ShmDriverShutdown, ShutdownReason
from framegate.schema.errors import ChannelRefused, MediaDriverNotFound
from framegate.shmpool.client import link as link_module
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.clock import ManualClock, monotonic_ns
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.joins.map_world import STREAMS
from tests.unit.watchdog import until


class Member:
    """Remembers what it was called with."""

    def __init__(self, fail: Exception | None = None) -> None:
        self.heard: list[Message] = []
        self.ticks = 0
        self.lost: list[str] = []
        self.links = 0
        self.closes = 0
        self._fail = fail

    def on_link(self, _link: Link) -> None:
        self.links += 1

    def on_link_lost(self, reason: str) -> None:
        self.lost.append(reason)

    def on_message(self, message: Message, _now_ns: int) -> None:
        self.heard.append(message)
        if self._fail is not None:
            raise self._fail

    def on_tick(self, _now_ns: int) -> None:
        self.ticks += 1

    def close(self) -> None:
        self.closes += 1


def joined(client: Client, *members: Member) -> None:
    with client.turn:
        client._members.extend(members)


SAID = ShmDriverShutdown(timestamp_ns=1, reason=ShutdownReason.NORMAL)


def test_every_member_hears_every_message_and_rubbish_is_counted(client: Client, network: LoopbackNetwork) -> None:
    members = Member(), Member()
    joined(client, *members)
    peer = network.client().add_publication(STREAMS.channel, STREAMS.control)
    peer.offer(b"rubbish")
    peer.offer(SAID.encode())
    until(lambda: all(member.heard for member in members))
    assert [member.heard for member in members] == [[SAID], [SAID]]
    assert client.foreign_messages == 1


def test_what_one_member_is_refused_costs_the_others_nothing(
    client: Client, network: LoopbackNetwork, caplog: pytest.LogCaptureFixture
) -> None:
    refused, other = Member(ChannelRefused("no such channel")), Member()
    joined(client, refused, other)
    peer = network.client().add_publication(STREAMS.channel, STREAMS.control)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            peer.offer(SAID.encode())
        until(lambda: len(other.heard) == 3)
    assert len(refused.heard) == 3
    assert "no such channel" in caplog.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_that_ends_the_thread_takes_the_leases_away(client: Client, network: LoopbackNetwork) -> None:
    """Nobody would keep them alive: so nobody may go on writing by them."""
    broken, other = Member(ZeroDivisionError("a defect")), Member()
    joined(client, broken, other)
    network.client().add_publication(STREAMS.channel, STREAMS.control).offer(SAID.encode())
    until(lambda: other.lost)
    assert broken.lost == other.lost == ["the client's thread failed"]


def test_a_media_driver_that_dies_is_told_to_all_and_the_next_one_taken_up(
    client: Client, network: LoopbackNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = Member()
    joined(client, member)
    until(lambda: member.ticks)
    successor = LoopbackNetwork()
    monkeypatch.setattr(link_module, "AeronTransport", lambda *_: successor.client())
    network.kill_driver()
    until(lambda: member.links)
    assert len(member.lost) == 1
    successor.client().add_publication(STREAMS.channel, STREAMS.control).offer(SAID.encode())
    until(lambda: member.heard)


def test_close_closes_every_member_and_ends_the_thread(client: Client) -> None:
    member = Member()
    joined(client, member)
    client.close()
    client.close()
    assert member.closes >= 1
    assert not any(thread.name == "framegate-client" and thread.is_alive() for thread in threading.enumerate())


def test_without_a_media_driver_there_is_no_client() -> None:
    with pytest.raises(MediaDriverNotFound):
        Client(aeron_dir="/nowhere", base_dirs=[], wait_driver_s=0)


def test_the_join_time_is_when_a_sender_of_announces_became_available(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(monotonic_ns())
    network = LoopbackNetwork(clock)
    monkeypatch.setattr(link_module, "AeronTransport", lambda *_: network.client())
    link = Link("played", STREAMS, 1)
    before_ns = link.joined_at_ns
    clock.advance(60_000_000_000)
    link.note_images()
    assert link.joined_at_ns == before_ns
    network.client().add_publication(STREAMS.channel, STREAMS.announce)
    link.note_images()
    assert link.joined_at_ns == clock()
