# SPDX-License-Identifier: Apache-2.0
"""One stream of a join agent: the client's thread keeps its lease and its regions, and the engine reads it.

It follows announces, epochs and ends as every subscriber does. Only the reading is the engine's, which hears all
streams at once. So the subscriber hands regions to a port of the engine, and streams that share a descriptor stream are
heard once.
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
    """The descriptor streams that an engine hears, on one Aeron client after another."""

    def __init__(self, mailbox: JoinMailbox) -> None:
        self.mailbox = mailbox
        self.is_read = False
        """Whether an engine reads the streams. Only then are producers told that they have a consumer."""
        self._link: Link | None = None
        self._heard: set[int] = set()

    def hear(self, link: Link, descriptor_stream: int | None) -> None:
        """Make the engine hear a stream, once for all inputs that use it. Call this on the client's thread."""
        if link is not self._link:
            self.mailbox.deafen()
            self._link, self._heard = link, set()
        stream = link.streams.descriptor if descriptor_stream is None else descriptor_stream
        if stream not in self._heard:
            self._heard.add(stream)
            subscription = link.transport.add_subscription(untethered(link.streams.channel), stream)
            self.mailbox.listen(cast(AeronSubscription, subscription))


class JoinInput(Subscriber):
    """The subscriber for one stream of a join."""

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
        """The epoch of the newest mark, and the time since when it is known."""
        self._declared: ShmPoolAnnounce | None = None
        """The newest announce, which names the clock that stamps the frames."""
        self._joined: tuple[int | None, int | None] | None = None
        """Epoch and sequence up to which every frame is joined or waiting; None if every heard frame counts as read."""

    def make_port(self, link: Link) -> ReaderPort:
        """Return the port, which is the same on every link, and make the engine hear the stream on the new link."""
        self._heard_streams.hear(link, self._descriptor_stream)
        return self._own_port

    def on_message(self, message: Message, now_ns: int) -> None:
        """Note whether the announced epoch has a producer, then do what a subscriber does."""
        if isinstance(message, ShmPoolAnnounce) and message.stream_id == self.stream_id:
            self._declared = message
            self._note_announced((message.epoch, message.producer_id != 0))
        super().on_message(message, now_ns)

    def _note_announced(self, announced: tuple[int, bool]) -> None:
        # Only once: announces come every second, and perhaps no engine empties the mailbox yet.
        if announced > self._announced:
            self._announced = announced
            self._own_port.note_announced(*announced)

    def on_tick(self, now_ns: int) -> None:
        """Do what a subscriber does, and unmap regions that the engine no longer needs."""
        super().on_tick(now_ns)
        self._heard_streams.mailbox.sweep()

    @property
    def clock_domain(self) -> ClockDomain | None:
        """The clock that stamps the frames of the current epoch; None until its producer or one of its frames is
        heard."""
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
        """Note that the engine is idle: what it heard is joined or waits for partners. Call this on the agent's
        thread."""
        self._joined = self._own_port.epoch, self._own_port.last_seq

    def seen(self, port: ReaderPort) -> int | None:
        """The sequence up to which frames count as read. Frames that wait for space in the journal do not count."""
        if self._joined is None:
            return super().seen(port)
        epoch, seq = self._joined
        return seq if epoch == port.epoch else None

    def _say_hello(self, now_ns: int) -> None:
        # Opening a journal takes a while: a producer that began earlier would be far ahead by then.
        if self._heard_streams.is_read:
            super()._say_hello(now_ns)

    @property
    def goes_on(self) -> bool:
        """Whether the source says that its present epoch goes on with the sequences of an earlier one."""
        regions = self._regions
        return regions is not None and is_marked_continued(regions.paths[0].rpartition("/")[0], regions.epoch)

    def ended(self, now_ns: int) -> tuple[int, int | None] | None:
        """The newest epoch that a mark ended, and its last sequence. The engine decides whether the end counts yet."""
        mark = self.newest_mark()
        if mark is None:
            return None
        if self._marked is None or self._marked[0] != mark[0]:
            self._marked = mark[0], now_ns
        # No frame of it was heard: it passed before this agent came, or it is still in the log and will be heard.
        is_heard = self._own_port.epoch == mark[0] and self._own_port.last_seq is not None
        return mark if is_heard or now_ns - self._marked[1] >= _UNHEARD_NS else None

    def newest_mark(self) -> tuple[int, int | None] | None:
        """The newest epoch that a mark ended, and its last sequence, however new the mark is."""
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
