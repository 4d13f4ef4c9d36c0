# SPDX-License-Identifier: Apache-2.0
"""One stream of a join agent: a lease and its regions, kept on the client's thread, read by the engine.

It follows announces, epochs and ends as any subscriber does. Only the reading is the engine's: it hears all streams at
once, so what is told which regions to read is a port of it, and streams that share a descriptor stream are heard once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from framegate.schema import Message
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.continued import is_marked_continued
from framegate.shmpool.ended import is_marked_ended
from framegate.shmpool.reader_port import ReaderPort
from framegate.shmpool.streams import untethered
from framegate.shmpool.subscriber import Subscriber, Wishes

from framegate._native import AeronSubscription, JoinMailbox

if TYPE_CHECKING:
    from framegate.shmpool.client import Client
    from framegate.shmpool.link import Link

_UNHEARD_NS: Final = 1_000_000_000


class Ears:
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

    def __init__(self, client: Client, stream: int, ears: Ears, descriptor_stream: int | None) -> None:
        super().__init__(client, stream, Wishes(descriptor_stream=descriptor_stream))
        self._ears = ears
        self._descriptor_stream = descriptor_stream
        self._marked_since_ns: int | None = None
        self._own_port = ears.mailbox.port(stream)
        self._vacant_epoch = -1
        """The newest that was announced without a producer."""
        self._joined: tuple[int | None, int | None] | None = None
        """Epoch and sequence up to which nothing waits for the journal; None where all that is heard is read then."""

    def make_port(self, link: Link) -> ReaderPort:
        """The port is the same on every link; the engine hears the stream on the new one too."""
        self._ears.hear(link, self._descriptor_stream)
        return self._own_port

    def on_message(self, message: Message, now_ns: int) -> None:
        """What a subscriber hears; and first whether anybody writes into the epoch that is announced."""
        if isinstance(message, ShmPoolAnnounce) and (message.stream_id, message.producer_id) == (self.stream_id, 0):
            self._note_vacant(message.epoch)
        super().on_message(message, now_ns)

    def _note_vacant(self, epoch: int) -> None:
        # Once: it is announced every second, and nobody may be there yet who takes it out of the mailbox.
        if epoch > self._vacant_epoch:
            self._vacant_epoch = epoch
            self._own_port.note_vacant(epoch)

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
        if self._ears.is_read:
            super()._say_hello(now_ns)

    @property
    def goes_on(self) -> bool:
        """Whether its source says that the sequences of its present epoch are those that the stream had before."""
        regions = self._regions
        return regions is not None and is_marked_continued(regions.paths[0].rpartition("/")[0], regions.epoch)

    def ended(self, now_ns: int) -> tuple[int, int | None] | None:
        """The epoch that a mark beside the regions says is over, and its last sequence, when all that can come of it
        was seen; the signal may have passed while this agent was down."""
        regions, port = self._regions, self.port
        if regions is None or port is None or not self.has_finished():
            self._marked_since_ns = None
            return None
        if port.last_seq is None:
            # Nothing was heard of it: it passed before this agent came, or stands in the log and will be heard.
            self._marked_since_ns = self._marked_since_ns or now_ns
            if now_ns - self._marked_since_ns < _UNHEARD_NS:
                return None
        return regions.epoch, is_marked_ended(regions.paths[0].rpartition("/")[0], regions.epoch)[1]
