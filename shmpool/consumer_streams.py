# SPDX-License-Identifier: Apache-2.0
"""Which streams one consumer hears: the shared descriptor stream, or what it was granted of its own (PROTOCOL 7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from framegate.schema.errors import MessageError
from framegate.schema.wire import ConsumerConfig, FrameProgress, Mode
from framegate.shmpool.streams import is_of_this_host, untethered
from framegate.shmpool.transport import Subscription

from framegate._native import AeronSubscription, PoolConsumer

if TYPE_CHECKING:
    from framegate.shmpool.client import Link

_NONE: Final = ("", 0)


class ConsumerStreams:
    """Subscriptions come and go on the client's thread; the reader's goes over to another one by itself.

    A stream of the consumer's own begins with the descriptors that follow its grant, and until they have been read
    the shared one has what came before. So the new one is taken up when the old one was read to its end.
    """

    def __init__(self, max_rate_hz: int) -> None:
        self.hears: Subscription | None = None
        self.will_hear: Subscription | None = None
        self.hears_progress: Subscription | None = None
        self._max_rate_hz = max_rate_hz
        self._limit_hz = self._limit_there_hz = max_rate_hz
        self._link: Link | None = None
        self._native: PoolConsumer | None = None
        self._assigned = self._own_control = _NONE

    def on_link(self, link: Link, stream_id: int) -> PoolConsumer:
        """A new Aeron client: begin with the shared stream; what reads it."""
        self._link = link
        channel, stream = link.streams.channel, link.streams.descriptor
        self.hears = link.transport.add_subscription(untethered(channel), stream)
        self.will_hear = self.hears_progress = None
        self._assigned, self._own_control = (channel, stream), _NONE
        self._native = PoolConsumer(cast(AeronSubscription, self.hears), stream_id)
        self._native.limit_rate(self._max_rate_hz)
        self._limit_hz = self._limit_there_hz = self._max_rate_hz
        return self._native

    def on_link_lost(self) -> None:
        """Everything was closed with it."""
        self._link = self._native = None

    def on_config(self, config: ConsumerConfig) -> None:
        """Streams of our own, or the shared ones again; half a pair, or one to another host, counts as none."""
        link = self._link
        if link is None:
            return
        own = _pair(config.descriptor_channel, config.descriptor_stream_id)
        # Whoever holds us to a rate on a stream of our own needs no help there.
        is_held = own != _NONE and config.mode is Mode.RATE_LIMITED
        shared = (link.streams.channel, link.streams.descriptor)
        self._assign(shared if own == _NONE else own, 0 if is_held else self._max_rate_hz)
        self._assign_control(_pair(config.control_channel, config.control_stream_id))

    def back_to_shared(self) -> None:
        """A new producer knows of no streams of our own until the driver has answered the next hello."""
        if self._link is not None:
            self._assign((self._link.streams.channel, self._link.streams.descriptor), self._max_rate_hz)

    def take_up(self, native: PoolConsumer) -> None:
        """Go over to the stream that waits; the present one was read to its end."""
        coming, old = self.will_hear, self.hears
        if coming is None or native is not self._native:
            return
        native.listen(cast(AeronSubscription, coming))
        self.hears, self.will_hear = coming, None
        self._limit(self._limit_there_hz)
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

    def _assign(self, place: tuple[str, int], max_rate_hz: int) -> None:
        self._limit_there_hz = max_rate_hz
        if self._link is None or place == self._assigned:
            if self.will_hear is None:
                self._limit(max_rate_hz)
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

    def _limit(self, max_rate_hz: int) -> None:
        if self._native is not None and max_rate_hz != self._limit_hz:
            self._limit_hz = max_rate_hz
            self._native.limit_rate(max_rate_hz)


def _pair(channel: str, stream_id: int) -> tuple[str, int]:
    return (channel, stream_id) if stream_id and is_of_this_host(channel) else _NONE


def _progress_of(data: bytes) -> FrameProgress | None:
    try:
        return FrameProgress.decode(data)
    except MessageError:
        return None
