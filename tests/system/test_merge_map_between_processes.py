# SPDX-License-Identifier: Apache-2.0
"""A MergeMap asked for and announced between real processes: the same values and the same bytes at both ends."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING, Any, cast

import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.schema.merge import SequenceMergeMapAnnounce, SequenceMergeMapRequest
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Publication, Subscription

from tests.system.programs.map_peer import CONTROL_CHANNEL, CONTROL_STREAM, OUT_EPOCH, OUT_STREAM, THE_MAP

if TYPE_CHECKING:
    from framegate._native import AeronSubscription
    from tests.system.conftest import Program, System

THE_REQUEST = SequenceMergeMapRequest(out_stream_id=OUT_STREAM, epoch=OUT_EPOCH)
THE_FOUR = {
    ("sent", "requester", "SequenceMergeMapRequest", len(THE_REQUEST.encode())),
    ("received", "authority", "SequenceMergeMapRequest", len(THE_REQUEST.encode())),
    ("sent", "authority", "SequenceMergeMapAnnounce", len(THE_MAP.encode())),
    ("received", "requester", "SequenceMergeMapAnnounce", len(THE_MAP.encode())),
}
"""A slow machine may show one of them more than once: the requester asks again until it is answered."""


class Ends:
    """This process as one end of the exchange: what it hears, what it says, and the channels that its peer needs."""

    def __init__(self, transport: AeronTransport, kind: str) -> None:
        if kind == "ipc":
            self.heard_on = self.said_on = "aeron:ipc?term-length=64k"
            self.hears = transport.add_subscription(self.heard_on, CONTROL_STREAM)
        else:
            # The port of what this end hears is the system's choice, and so is the peer's, made by a socket.
            self.hears = transport.add_subscription("aeron:udp?endpoint=127.0.0.1:0", CONTROL_STREAM)
            self.heard_on = f"aeron:udp?endpoint={cast('AeronSubscription', self.hears).resolved_endpoint()}"
            self.said_on = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        self.says = transport.add_publication(self.said_on, CONTROL_STREAM)


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def say_until_answered(system: System, says: Publication, message: bytes, hears: Subscription, kind: type) -> bytes:
    """Send a message again and again until one of a kind comes back: the first may find nobody connected."""

    def answer() -> bytes | None:
        says.offer(message)
        return next((data for data in heard(hears) if is_a(kind, data)), None)

    return system.until(answer, f"answered with {kind.__name__}")


def heard(hears: Subscription) -> list[bytes]:
    return [received.data for received in hears.poll(timeout_ns=20_000_000)]


def is_a(kind: type, data: bytes) -> bool:
    from framegate.schema import decode_any

    return isinstance(decode_any(data), kind)


def start_peer(system: System, role: str, aeron_dir: str, *, request: str, announce: str) -> Program:
    words = ["--aeron-dir", aeron_dir, "--request-channel", request, "--announce-channel", announce, "--seconds", "60"]
    return system.own_program("map_peer", role, *words)


@pytest.mark.parametrize("kind", ["ipc", "udp"])
def test_an_authority_in_another_process_answers_with_its_map(
    kind: str, media_driver: MediaDriver, system: System
) -> None:
    with AeronTransport(media_driver.aeron_dir) as transport:
        ends = Ends(transport, kind)
        authority = start_peer(
            system, "authority", media_driver.aeron_dir, request=ends.said_on, announce=ends.heard_on
        )
        data = say_until_answered(system, ends.says, THE_REQUEST.encode(), ends.hears, SequenceMergeMapAnnounce)
        assert data == THE_MAP.encode()
        assert SequenceMergeMapAnnounce.decode(data) == THE_MAP
        received = authority.says(event="received", message="SequenceMergeMapRequest")
        assert received["bytes"] == len(THE_REQUEST.encode())


@pytest.mark.parametrize("kind", ["ipc", "udp"])
def test_a_requester_in_another_process_asks_for_the_map_of_its_output(
    kind: str, media_driver: MediaDriver, system: System
) -> None:
    with AeronTransport(media_driver.aeron_dir) as transport:
        ends = Ends(transport, kind)
        requester = start_peer(
            system, "requester", media_driver.aeron_dir, request=ends.heard_on, announce=ends.said_on
        )
        data = requester.until(
            lambda: next((data for data in heard(ends.hears) if is_a(SequenceMergeMapRequest, data)), None), "asking"
        )
        assert data == THE_REQUEST.encode()
        assert SequenceMergeMapRequest.decode(data) == THE_REQUEST
        system.until(lambda: ends.says.offer(THE_MAP.encode()) > 0, "answered")
        assert requester.says(event="received")["text"] == (
            f"output {OUT_STREAM}, epoch {OUT_EPOCH}: 10001 OFFSET 0, 10002 WINDOW 5"
        )
        assert requester.wait() == 0, requester


def test_an_authority_is_silent_about_an_output_that_is_not_its_own(media_driver: MediaDriver, system: System) -> None:
    """It is asked for a foreign output and then for its own; its first answer comes after the second."""
    with AeronTransport(media_driver.aeron_dir) as transport:
        ends = Ends(transport, "ipc")
        authority = start_peer(
            system, "authority", media_driver.aeron_dir, request=ends.said_on, announce=ends.heard_on
        )
        foreign = SequenceMergeMapRequest(out_stream_id=OUT_STREAM + 1, epoch=OUT_EPOCH)
        stale = SequenceMergeMapRequest(out_stream_id=OUT_STREAM, epoch=OUT_EPOCH + 1)
        # IPC is one log for both directions: this end hears itself, so being connected does not mean being heard.
        system.until(lambda: ends.hears.image_count == 2, "the authority's publication seen")
        for request in (foreign, stale, THE_REQUEST):
            assert ends.says.offer(request.encode()) > 0
        authority.says(event="sent")
        told = [(found["event"], found["text"]) for found in authority.objects()]
        assert told[0] == ("received", f"output {OUT_STREAM}, epoch {OUT_EPOCH}")
        assert [event for event, _ in told] == ["received", "sent"]


def exchange(system: System, aeron_dir: str, *, request: str, announce: str) -> list[dict[str, Any]]:
    """Let an authority and a requester meet; every message that either tells of, in the order of its time."""
    authority, requester = (
        start_peer(system, role, aeron_dir, request=request, announce=announce) for role in ("authority", "requester")
    )
    assert requester.wait() == 0, requester
    authority.send(signal.SIGTERM)
    assert authority.wait() == 0, authority
    return sorted(requester.objects() + authority.objects(), key=lambda message: int(message["at_ns"]))


@pytest.mark.parametrize("kind", ["ipc", "udp"])
def test_two_processes_meet_and_each_tells_what_it_sent_and_received(
    kind: str, media_driver: MediaDriver, system: System
) -> None:
    channels = {"request": CONTROL_CHANNEL, "announce": CONTROL_CHANNEL}
    if kind == "udp":
        channels = {name: f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for name in channels}
    messages = exchange(system, media_driver.aeron_dir, **channels)
    assert {(each["event"], each["role"], each["message"], each["bytes"]) for each in messages} == THE_FOUR
    assert [each["at_ns"] for each in messages] == sorted(each["at_ns"] for each in messages)
    for message in ("SequenceMergeMapRequest", "SequenceMergeMapAnnounce"):
        assert len({each["text"] for each in messages if each["message"] == message}) == 1


def test_a_requester_that_has_no_time_to_be_answered_fails(media_driver: MediaDriver, system: System) -> None:
    requester = system.own_program("map_peer", "requester", "--aeron-dir", media_driver.aeron_dir, "--seconds", "0")
    assert requester.wait() == 1, requester
