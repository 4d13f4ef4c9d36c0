# SPDX-License-Identifier: Apache-2.0
"""Which streams one consumer hears: the shared descriptor stream, or what it was granted of its own (PROTOCOL 7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from framegate.schema.errors import MessageError
from framegate.schema.wire import ConsumerConfig, FrameProgress, Mode
from framegate.shmpool.consumer.reader_port import ReaderPort
from framegate.shmpool.transport.interface import Subscription
from framegate.shmpool.transport.streams import is_of_this_host, untethered

from framegate._native import AeronSubscription

if TYPE_CHECKING:
    from framegate.shmpool.client.link import Link

_NONE: Final = ("", 0)


class _Rate(NamedTuple):
    """Who holds the rate that the consumer asked for."""

    held_here_hz: int
    is_capped: bool
    """Whether the sender enforces it."""


class ConsumerStreams:
    """Subscriptions come and go on the client's thread; the reader's goes over to another one by itself.

    A stream of the consumer's own begins with the descriptors that follow its grant, and until they have been read
    the shared one has what came before. So the new one is taken up when the old one was read to its end.
    """

    def __init__(self, max_rate_hz: int, descriptor_stream: int | None = None) -> None:
        self.hears: Subscription | None = None
        self.will_hear: Subscription | None = None
        self.hears_progress: Subscription | None = None
        self._max_rate_hz = max_rate_hz
        self._descriptor_stream = descriptor_stream
        self._rate = self._rate_there = _Rate(max_rate_hz, is_capped=False)
        self._link: Link | None = None
        self._port: ReaderPort | None = None
        self._assigned = self._own_control = _NONE

    def open_shared(self, link: Link) -> AeronSubscription:
        """A subscription to the stream that all consumers hear, closed with the others: for a port that reads alone."""
        channel, stream = self._shared(link)
        self.hears = link.transport.add_subscription(untethered(channel), stream)
        return cast(AeronSubscription, self.hears)

    def on_link(self, link: Link, port: ReaderPort) -> None:
        """A new Aeron client, and what reads the shared stream there."""
        self._link, self._port = link, port
        self.will_hear = self.hears_progress = None
        self._assigned, self._own_control = self._shared(link), _NONE
        self._rate = self._rate_there = _Rate(self._max_rate_hz, is_capped=False)
        port.limit_rate(self._max_rate_hz)

    def on_link_lost(self) -> None:
        """Everything was closed with it."""
        self._link = self._port = None
        self.hears = self.will_hear = self.hears_progress = None

    def on_config(self, config: ConsumerConfig) -> None:
        """Streams of our own, or the shared ones again; half a pair, or one to another host, counts as none."""
        link = self._link
        if link is None:
            return
        own = _pair(config.descriptor_channel, config.descriptor_stream_id)
        # Whoever holds us to a rate on a stream of our own needs no help there.
        is_held = own != _NONE and config.mode is Mode.RATE_LIMITED and self._max_rate_hz > 0
        rate = _Rate(0, is_capped=True) if is_held else _Rate(self._max_rate_hz, is_capped=False)
        self._assign(self._shared(link) if own == _NONE else own, rate)
        self._assign_control(_pair(config.control_channel, config.control_stream_id))

    def back_to_shared(self) -> None:
        """A new producer knows of no streams of our own until the driver has answered the next hello."""
        if self._link is not None:
            self._assign(self._shared(self._link), _Rate(self._max_rate_hz, is_capped=False))

    @property
    def can_take_up(self) -> bool:
        """Whether another stream waits, and its sender is there."""
        return self.will_hear is not None and self.will_hear.is_connected

    def take_up(self) -> None:
        """Go over to the stream that waits; the present one was read to its end."""
        coming, old = self.will_hear, self.hears
        if coming is None or self._port is None:
            return
        self.hears, self.will_hear = coming, None
        self._port.listen(cast(AeronSubscription, coming), self._rate_there.is_capped)
        self._limit(self._rate_there)
        if old is not None:
            old.close()

    def progress(self) -> list[FrameProgress]:
        """What came on the control stream of our own; nothing but progress is believed there."""
        received = self.hears_progress.poll() if self.hears_progress is not None else []
        return [message for data in received if (message := _progress_of(data.data)) is not None]

    def close(self) -> None:
        """Close them all."""
        for subscription in (self.hears, self.will_hear, self.hears_progress):
            if subscription is not None:
                subscription.close()

    def _shared(self, link: Link) -> tuple[str, int]:
        """The stream's descriptor stream: the one of its own that is configured, else the one of all streams."""
        own = self._descriptor_stream
        return link.streams.channel, link.streams.descriptor if own is None else own

    def _assign(self, place: tuple[str, int], rate: _Rate) -> None:
        self._rate_there = rate
        if self._link is None or place == self._assigned:
            if self.will_hear is None:
                self._go_by(rate)
            return
        coming = self._link.transport.add_subscription(untethered(place[0]), place[1])
        before, self.will_hear, self._assigned = self.will_hear, coming, place
        if before is not None:
            before.close()

    def _assign_control(self, place: tuple[str, int]) -> None:
        if self._link is None or place == self._own_control:
            return
        if self.hears_progress is not None:
            self.hears_progress.close()
        self._own_control, self.hears_progress = place, None
        if place != _NONE:
            self.hears_progress = self._link.transport.add_subscription(untethered(place[0]), place[1])

    def _go_by(self, rate: _Rate) -> None:
        """The rate on the stream that is heard already."""
        if self._port is not None and self.hears is not None and rate.is_capped != self._rate.is_capped:
            self._port.listen(cast(AeronSubscription, self.hears), rate.is_capped)
        self._limit(rate)

    def _limit(self, rate: _Rate) -> None:
        if self._port is not None and rate.held_here_hz != self._rate.held_here_hz:
            self._port.limit_rate(rate.held_here_hz)
        self._rate = rate


def _pair(channel: str, stream_id: int) -> tuple[str, int]:
    return (channel, stream_id) if stream_id and is_of_this_host(channel) else _NONE


def _progress_of(data: bytes) -> FrameProgress | None:
    try:
        return FrameProgress.decode(data)
    except MessageError:
        return None
