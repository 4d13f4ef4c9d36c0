# SPDX-License-Identifier: Apache-2.0
"""One stream of a join agent: a lease and its regions, kept on the client's thread, read by the engine.

It follows announces, epochs and ends as any subscriber does. Only the reading is the engine's: it hears all streams at
once, so what is told which regions to read is a port of it, and streams that share a descriptor stream are heard once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from framegate.schema import Message
from framegate.schema.merge import ClockDomain
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.consumer.mapping import Layout
from framegate.shmpool.consumer.reader_port import ReaderPort
from framegate.shmpool.consumer.subscriber import Subscriber, Wishes
from framegate.shmpool.marks.continued import is_marked_continued
from framegate.shmpool.marks.ended import former_end, is_marked_ended
from framegate.shmpool.transport.streams import untethered

from framegate._native import AeronSubscription, JoinMailbox

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.client.link import Link

_UNHEARD_NS: Final = 1_000_000_000


class HeardStreams:
    """The descriptor streams that an engine hears, over one Aeron client after another."""

    def __init__(self, mailbox: JoinMailbox) -> None:
        self.mailbox = mailbox
        self.is_read = False
        """Whether an engine reads what is heard. Producers that wait for consumers are told only then."""
        self._link: Link | None = None
        self._heard: set[int] = set()

    def hear(self, link: Link, descriptor_stream: int | None) -> None:
        """Hear a stream, once however many inputs ride on it. On the client's thread."""
        if link is not self._link:
            self.mailbox.deafen()
            self._link, self._heard = link, set()
        stream = link.streams.descriptor if descriptor_stream is None else descriptor_stream
        if stream not in self._heard:
            self._heard.add(stream)
            subscription = link.transport.add_subscription(untethered(link.streams.channel), stream)
            self.mailbox.listen(cast(AeronSubscription, subscription))


class JoinInput(Subscriber):
    """The subscriber of one stream of a join."""

    def __init__(self, client: Client, stream: int, heard_streams: HeardStreams, descriptor_stream: int | None) -> None:
        super().__init__(client, stream, Wishes(descriptor_stream=descriptor_stream))
        self._heard_streams = heard_streams
        self._descriptor_stream = descriptor_stream
        self._own_port = heard_streams.mailbox.port(stream)
        self._announced: tuple[int, bool] = -1, False
        """The newest epoch that was announced, and whether it has a producer."""
        self._left: tuple[int, int | None] | None = None
        """The end of the newest epoch whose regions were taken away."""
        self._marked: tuple[int, int] | None = None
        """The epoch of the newest mark, and since when it is known."""
        self._declared: ShmPoolAnnounce | None = None
        """The newest announce; it says which clock stamps the frames."""
        self._joined: tuple[int | None, int | None] | None = None
        """Epoch and sequence up to which nothing waits for the journal; None where all that is heard is read then."""

    def make_port(self, link: Link) -> ReaderPort:
        """The port is the same on every link; the engine hears the stream on the new one too."""
        self._heard_streams.hear(link, self._descriptor_stream)
        return self._own_port

    def on_message(self, message: Message, now_ns: int) -> None:
        """What a subscriber hears; and first whether anybody writes into the epoch that is announced."""
        if isinstance(message, ShmPoolAnnounce) and message.stream_id == self.stream_id:
            self._declared = message
            self._note_announced((message.epoch, message.producer_id != 0))
        super().on_message(message, now_ns)

    def _note_announced(self, announced: tuple[int, bool]) -> None:
        # Once: it is announced every second, and nobody may be there yet who takes it out of the mailbox.
        if announced > self._announced:
            self._announced = announced
            self._own_port.note_announced(*announced)

    def on_tick(self, now_ns: int) -> None:
        """What a subscriber does; and mappings that the engine has done with are undone here."""
        super().on_tick(now_ns)
        self._heard_streams.mailbox.sweep()

    @property
    def clock_domain(self) -> ClockDomain | None:
        """The clock that stamps the frames of the epoch that is read, once its producer or a frame of it was heard."""
        announced, port = self._declared, self._own_port
        if announced is None:
            return None
        is_read = port.epoch == announced.epoch and port.last_seq is not None
        return ClockDomain(int(announced.announce_clock_domain)) if is_read or announced.producer_id else None

    @property
    def longest_payload(self) -> int | None:
        """The most bytes that a frame of the newest announced epoch can have."""
        return None if self._declared is None else Layout.announced(self._declared).longest_payload

    def note_joined(self) -> None:
        """The engine rests, and what it heard is joined or waits for its partners. On the agent's thread."""
        self._joined = self._own_port.epoch, self._own_port.last_seq

    def seen(self, port: ReaderPort) -> int | None:
        """What was heard while the journal took nothing is not read: it would be overwritten before there is room."""
        if self._joined is None:
            return super().seen(port)
        epoch, seq = self._joined
        return seq if epoch == port.epoch else None

    def _say_hello(self, now_ns: int) -> None:
        # Opening a journal takes a while: a producer that began before it was open would be far ahead.
        if self._heard_streams.is_read:
            super()._say_hello(now_ns)

    @property
    def goes_on(self) -> bool:
        """Whether its source says that the sequences of its present epoch are those that the stream had before."""
        regions = self._regions
        return regions is not None and is_marked_continued(regions.paths[0].rpartition("/")[0], regions.epoch)

    def ended(self, now_ns: int) -> tuple[int, int | None] | None:
        """The newest epoch that a mark says is over, and its last sequence. The engine knows whether that counts."""
        mark = self.newest_mark()
        if mark is None:
            return None
        if self._marked is None or self._marked[0] != mark[0]:
            self._marked = mark[0], now_ns
        # Where nothing was heard of it: it passed before this agent came, or stands in the log and will be heard.
        is_heard = self._own_port.epoch == mark[0] and self._own_port.last_seq is not None
        return mark if is_heard or now_ns - self._marked[1] >= _UNHEARD_NS else None

    def newest_mark(self) -> tuple[int, int | None] | None:
        """The newest epoch that a mark says is over, and its last sequence, however new the mark is."""
        regions, left = self._regions, self._left
        if regions is None:
            return left
        folder = regions.paths[0].rpartition("/")[0]
        is_ended, after = is_marked_ended(folder, regions.epoch)
        former = (regions.epoch, after) if is_ended else former_end(folder, regions.epoch)
        return left if former is None or (left is not None and left[0] > former[0]) else former

    def _note_end(self) -> None:
        regions = self._regions
        if regions is not None:
            is_ended, after = is_marked_ended(regions.paths[0].rpartition("/")[0], regions.epoch)
            if is_ended:
                self._left = regions.epoch, after
