# SPDX-License-Identifier: Apache-2.0
"""A client of the in-memory network. Closing it closes what was opened through it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Self, cast

from framegate.schema.errors import InvalidValue, TransportClosed
from framegate.shmpool.idle import IDLE_NAMES, IdleName
from framegate.shmpool.transport.interface import OfferBound
from framegate.shmpool.transport.loopback.channel import Channel, parse_channel
from framegate.shmpool.transport.loopback.publication import LoopbackPublication
from framegate.shmpool.transport.loopback.subscription import LoopbackSubscription

if TYPE_CHECKING:
    from framegate.shmpool.transport.loopback.network import LoopbackNetwork

ERRORS_MAX: Final = 1024
"""How many errors are kept for the caller. Beyond that the oldest are dropped and counted."""


class LoopbackTransport:
    """A client of a ``LoopbackNetwork``; implements ``Transport``."""

    def __init__(self, network: LoopbackNetwork) -> None:
        self._network = network
        self._publications: list[LoopbackPublication] = []
        self._subscriptions: list[LoopbackSubscription] = []
        self._errors: deque[str] = deque()
        self._is_closed = False

    def add_publication(
        self, channel: str, stream_id: int, *, exclusive: bool = True, bound: OfferBound | None = None
    ) -> LoopbackPublication:
        """Add a sender. Shared senders of one channel and stream share their session, in all clients."""
        parsed = self._parse(channel, stream_id)
        with self._network.lock:
            self._check_usable()
            log = self._network.open_log(parsed, stream_id, exclusive)
            publication = LoopbackPublication(self._network, log, bound or OfferBound())
            self._publications = [known for known in self._publications if not known.is_closed]
            self._publications.append(publication)
            return publication

    def add_subscription(self, channel: str, stream_id: int, *, idle: str = "backoff") -> LoopbackSubscription:
        """Add a receiver. With ``tether=false`` in its channel it is left behind rather than waited for."""
        parsed = self._parse(channel, stream_id)
        if idle not in IDLE_NAMES:
            raise InvalidValue("an idle strategy has one of these names", have=idle, known=",".join(IDLE_NAMES))
        with self._network.lock:
            self._check_usable()
            subscription = self._network.open_subscription(parsed, stream_id, cast("IdleName", idle))
            self._subscriptions = [known for known in self._subscriptions if not known.is_closed]
            self._subscriptions.append(subscription)
            return subscription

    @property
    def is_closed(self) -> bool:
        """True after ``close``, and after the driver was lost."""
        return self._is_closed or not self._network.is_alive

    def errors(self) -> list[str]:
        """The errors since the last call; at most ``ERRORS_MAX``, oldest first."""
        with self._network.lock:
            errors = list(self._errors)
            self._errors.clear()
            return errors

    def note_error(self, text: str) -> int:
        """Queue an error. Returns how many older ones were dropped for it."""
        dropped = len(self._errors) == ERRORS_MAX
        if dropped:
            self._errors.popleft()
        self._errors.append(text)
        return int(dropped)

    def close(self) -> None:
        """Close the client with its publications and subscriptions; none of them if one has an open claim."""
        with self._network.lock:
            if self._is_closed:
                return
            for publication in self._publications:
                publication.check_no_open_claim()
            self._is_closed = True
            for publication in self._publications:
                publication.close()
            for subscription in self._subscriptions:
                subscription.close()
            self._network.on_client_closed(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _parse(self, channel: str, stream_id: int) -> Channel:
        if not -(2**31) <= stream_id < 2**31:
            raise InvalidValue("a stream id is a signed 32-bit number", have_stream_id=stream_id)
        return parse_channel(channel, self._network.term_bytes, self._network.mtu)

    def _check_usable(self) -> None:
        self._network.check_alive()
        if self._is_closed:
            raise TransportClosed("the client is closed")
