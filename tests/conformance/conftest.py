# SPDX-License-Identifier: Apache-2.0
"""The implementations that one transport suite runs over, and a media driver of its own for the real one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.transport.interface import OfferBound, Publication, Received, Subscription, Transport
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

from tests.own_folder import own_folder

WATCHDOG_NS = 30_000_000_000
_STREAM_IDS = itertools.count(20_000)


@pytest.fixture(scope="session")
def aeron_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The directory of a live media driver that only this session uses; its log stays with the test's files."""
    from framegate.driver.mediadriver import MediaDriver

    log_file = tmp_path_factory.mktemp("driver") / "mediadriver.log"
    with own_folder("conformance") as root, MediaDriver(aeron_dir=str(root / "aeron"), log_file=str(log_file)):
        yield str(root / "aeron")


class Wire:
    """Clients of one network or media driver, a stream that no other test uses, and the waiting they need."""

    channel = "aeron:ipc?term-length=64k"

    def __init__(self, make_client: Callable[[], Transport]) -> None:
        self._make_client = make_client
        self._clients = list[Transport]()
        self.stream_id = next(_STREAM_IDS)
        self.transport = self.connect()

    def connect(self) -> Transport:
        """A further client."""
        self._clients.append(self._make_client())
        return self._clients[-1]

    def publication(
        self, *, channel: str = channel, exclusive: bool = True, bound: OfferBound | None = None
    ) -> Publication:
        """A sender on the test's stream."""
        return self.transport.add_publication(channel, self.stream_id, exclusive=exclusive, bound=bound)

    def subscription(self, *, channel: str = channel) -> Subscription:
        """A receiver on the test's stream."""
        return self.transport.add_subscription(channel, self.stream_id)

    def pair(self, *, channel: str = channel, bound: OfferBound | None = None) -> tuple[Publication, Subscription]:
        """A sender and a receiver that have found each other."""
        subscription = self.subscription(channel=channel)
        publication = self.publication(channel=channel, bound=bound)
        self.until(lambda: publication.is_connected and subscription.image_count == 1, "connected")
        return publication, subscription

    def receive(self, subscription: Subscription, count: int) -> list[Received]:
        """Exactly so many messages, and then none."""
        received = list[Received]()

        def is_complete() -> bool:
            received.extend(subscription.poll())
            return len(received) >= count

        self.until(is_complete, f"{count} messages")
        received.extend(subscription.poll())
        assert len(received) == count
        return received

    def send(self, publication: Publication, message: bytes, meanwhile: Callable[[], object]) -> None:
        """Offer until it is taken, doing ``meanwhile`` after every refusal."""

        def is_sent() -> bool:
            if publication.offer(message) > 0:
                return True
            meanwhile()
            return False

        self.until(is_sent, "room for a message")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition under a watchdog."""
        deadline_ns = monotonic_ns() + WATCHDOG_NS
        while not condition():
            if monotonic_ns() > deadline_ns:
                pytest.fail(f"not {what} within {WATCHDOG_NS / 1e9:g} s; errors: {self.transport.errors()}")
            sleep_ns(100_000)

    def close(self) -> None:
        """Close every client."""
        for client in self._clients:
            client.close()


@pytest.fixture(params=["loopback", "aeron"])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    """What a test of the transport protocol talks through."""
    make = _loopback() if request.param == "loopback" else _aeron(request.getfixturevalue("aeron_dir"))
    wire = Wire(make)
    yield wire
    wire.close()


def _loopback() -> Callable[[], Transport]:
    return LoopbackNetwork().client


def _aeron(aeron_dir: str) -> Callable[[], Transport]:
    from framegate.shmpool.transport.aeron import AeronTransport

    return lambda: AeronTransport(aeron_dir)
