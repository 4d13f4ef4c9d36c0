# SPDX-License-Identifier: Apache-2.0
"""Follows a stream's regions for whatever reads them (PROTOCOL 5 and 7): maps, lets go, says hello, keeps count.

Everything here happens on the client's thread, except where a method says otherwise. How frames are read is not known
here: a ``ReaderPort`` is told what to read, and says how far it came.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from framegate.schema import Message
from framegate.schema.driver import Role, ShmAttachResponse, ShmLeaseRevoked
from framegate.schema.errors import FramegateError, NotAttached
from framegate.schema.wire import ConsumerConfig, FrameProgress, Mode, QosConsumer, ShmPoolAnnounce
from framegate.shmpool.client.hello import hello_of
from framegate.shmpool.client.leaseholder import Leaseholder
from framegate.shmpool.client.progress import ProgressFilter
from framegate.shmpool.client.regions import open_announced, open_regions
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.consumer.absence import Absence
from framegate.shmpool.consumer.mapping import Decision, Layout, Mapping
from framegate.shmpool.consumer.reader_port import ReaderPort
from framegate.shmpool.consumer.streams import ConsumerStreams
from framegate.shmpool.marks.ended import former_end, is_marked_ended

from framegate._native import PoolRegions

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.client.link import Link

_HELLO_NS: Final = 1_000_000_000
_SAYS_A_RING: Final = 4
_SWITCH_GRACE_NS: Final = 2_000_000_000
"""After another descriptor stream was taken up it may repeat what the old one brought."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a consumer wants of its stream beside the frames."""

    max_rate_hz: int = 0
    own_stream: bool = False
    descriptor_stream: int | None = None
    """Where the stream's descriptors are, if not on the stream that all share."""
    on_progress: Callable[[FrameProgress], None] | None = None


class Subscriber(Leaseholder):
    """A consumer's lease and all that hangs on it. Subclasses make the port, poll it, and tell of ends they read."""

    def __init__(self, client: Client, stream: int, wishes: Wishes) -> None:
        super().__init__(client, stream, Role.CONSUMER)
        self.mapping = Mapping(stream, client.times)
        self.progress = ProgressFilter(stream)
        self.streams = ConsumerStreams(wishes.max_rate_hz, wishes.descriptor_stream)
        self.port: ReaderPort | None = None
        self._former_port: ReaderPort | None = None
        """Of a link that is gone; its counters hold until there is another."""
        self._wishes = wishes
        self._link: Link | None = None
        self._regions: PoolRegions | None = None
        self._absence = Absence()
        self._past: dict[str, int] = {}
        self._ended_epoch: int | None = None
        self._left_epoch: int | None = None
        self._came_in: int | None = None
        """The epoch that was mapped first. A log can hold what was sent before: where somebody does not read, whoever
        comes is given all that he has not read."""
        self._hello_at_ns = 0
        self._said_seen: tuple[int | None, int | None] = None, None
        self._regressions = 0
        self._regressions_count_from_ns = 0
        self._map_failure = ""

    # --- for subclasses ----------------------------------------------------------------------------------

    def make_port(self, link: Link) -> ReaderPort:
        """What reads the stream on this link, a new port or the same again.

        One that reads alone takes its subscription from ``self.streams.open_shared(link)``; an engine that hears the
        descriptors of many streams opens its own, and gives a port that it serves.
        """
        raise NotImplementedError

    def change_stream(self, read_rest: Callable[[], bool]) -> None:
        """Go over to the descriptor stream that was assigned, if it is there. On whichever thread polls.

        ``read_rest`` polls the present stream once more; whether anything was left on it. It is gone over only then.
        """
        with self.client.turn:
            if self.port is not None and self.streams.can_take_up and not read_rest():
                self.streams.take_up()
                self._regressions_count_from_ns = monotonic_ns() + _SWITCH_GRACE_NS

    def seen(self, port: ReaderPort) -> int | None:
        """The sequence up to which a producer paced by readers may count frames as read; None before the first."""
        return port.last_seq

    def on_end_read(self, epoch: int) -> None:
        """The port read the signal that nothing follows in that epoch. On any thread."""
        self._ended_epoch = max(self._ended_epoch or 0, epoch)

    def on_frame_read(self, epoch: int) -> None:
        """The port read a frame of that epoch, the newest so far: an end of an epoch before is over. On any thread."""
        if self._ended_epoch is not None and epoch > self._ended_epoch:
            self._ended_epoch = None

    def on_end_known(self, epoch: int, after_seq: int | None) -> None:
        """An epoch ended after that frame, as its mark says. On any thread."""

    def on_leaving(self) -> None:
        """The regions are about to go: nothing more comes of them. On the client's thread."""

    # --- for users, on any thread ------------------------------------------------------------------------

    def has_finished(self) -> bool:
        """Whether the producer said that no frame follows, and all before were read. Ask when nothing more comes."""
        ended = self._ended_epoch
        return (ended is not None and ended >= (self._came_in or 0)) or self._is_marked_ended()

    @property
    def epoch(self) -> int | None:
        """The epoch that is mapped; None while none is."""
        return self.port.epoch if self.port is not None else None

    def counters(self) -> dict[str, int]:
        """Frames by what became of them, over all epochs and media drivers."""
        with self.client.turn:
            if self.port is not None:
                self._count_absence(self.port)
            port = self.port or self._former_port
            now = port.counters() if port is not None else {}
            return {name: now.get(name, 0) + self._past.get(name, 0) for name in {**self._past, **now}}

    def _is_marked_ended(self) -> bool:
        """Only a consumer that has read everything, or came too late for anything, believes the mark."""
        regions, port = self._regions, self.port
        if regions is None or port is None or port.epoch != regions.epoch:
            return False
        ended, after = is_marked_ended(_folder(regions), regions.epoch)
        has_ended = ended and (port.last_seq is None or after is None or port.last_seq >= after)
        if has_ended:
            self.on_end_known(regions.epoch, after)
        return has_ended

    def _count_absence(self, port: ReaderPort) -> None:
        last_seq, counters = port.last_seq, port.counters()
        if port.last_seq == last_seq:
            # Else another thread reads just now: the next look counts.
            self._count("gap_drops", self._absence.missed(port.epoch, last_seq, counters))

    def _count(self, name: str, more: int) -> None:
        self._past[name] = self._past.get(name, 0) + more

    # --- on the client's thread ----------------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Listen to the descriptor stream anew."""
        self._link = link
        port, former = self.make_port(link), self._former_port
        if former is not None and former is not port:
            for name, value in former.counters().items():
                self._count(name, value)
        self.streams.on_link(link, port)
        self._regressions = port.counters().get("regressions", 0)
        self.port, self._former_port = port, None

    def on_link_lost(self, reason: str) -> None:
        """Keep what was counted."""
        super().on_link_lost(reason)
        self._former_port, self.port = self.port or self._former_port, None
        self._link = None
        self.streams.on_link_lost()

    def leave(self) -> None:
        """Close the streams."""
        self.streams.close()

    def map_lease(self, response: ShmAttachResponse, now_ns: int) -> None:
        """Read the regions that the driver names; a newer epoch comes as an announce."""
        epoch = response.epoch or 0
        if epoch < self.mapping.highest_epoch:
            return
        regions = open_regions(
            stream_id=response.stream_id or 0,
            epoch=epoch,
            nslots=response.header_nslots or 0,
            header_uri=response.header_region_uri,
            pools=response.payload_pools,
            allowed=self.client.allowed,
            writable=False,
        )
        self._map(regions, Layout.answered(response), now_ns)

    def unmap(self, _reason: str) -> None:
        """Let the regions go. Frames that were given out keep theirs mapped."""
        self._note_end()
        self.on_leaving()
        self.mapping.on_unmapped()
        self.progress.on_unmapped()
        port = self.port
        if port is not None:
            self._count_absence(port)
            self._absence.on_left(port.epoch, port.last_seq)
            port.detach()
        if self._regions is not None:
            self._left_epoch = self._regions.epoch
        self._regions = None

    def on_message(self, message: Message, now_ns: int) -> None:
        """The lease's messages, announces, and what the driver assigns."""
        super().on_message(message, now_ns)
        match message:
            case ShmPoolAnnounce() if message.stream_id == self.stream_id:
                self._on_announce(message, now_ns)
            case ShmLeaseRevoked() if (message.stream_id, message.role) == (self.stream_id, Role.PRODUCER):
                self.mapping.on_producer_revoked(now_ns)
            case ConsumerConfig() if (message.stream_id, message.consumer_id) == (self.stream_id, self.lease.client_id):
                self.streams.on_config(message)
            case FrameProgress():
                self._hear_progress(message)

    def on_tick(self, now_ns: int) -> None:
        """Hello and QoS once a second; regions that nobody vouches for."""
        super().on_tick(now_ns)
        if not self.lease.is_attached:
            return
        self._check_regions(now_ns)
        for message in self.streams.progress():
            self._hear_progress(message)
        if now_ns >= self._hello_at_ns:
            self._say_hello(now_ns)
        elif self._has_come_on():
            self._say_qos(Mode.RATE_LIMITED if self._wishes.max_rate_hz else Mode.STREAM)

    def _check_regions(self, now_ns: int) -> None:
        if self._regions is not None:
            reason = self.mapping.must_unmap(now_ns, self._regions.activity())
            if reason is not None:
                self._let_go(reason)

    def _let_go(self, reason: str) -> None:
        self.note_detach(reason)
        _log.warning("%s unmapped its regions: %s", self, reason)
        self.unmap(reason)

    def _on_announce(self, announce: ShmPoolAnnounce, now_ns: int) -> None:
        if not self.lease.is_attached or self._link is None:
            return
        self.mapping.join_time_ns = self._link.joined_at_ns
        match self.mapping.on_announce(announce, now_ns, realtime_ns()):
            case Decision.REMAP:
                self._remap(announce, now_ns)
            case Decision.UNMAP:
                self._let_go("the announce describes other regions than are mapped")
            case Decision.KEEP if self._regions is not None and self._regions.mapped_epoch() != announce.epoch:
                self._let_go("the superblock changed under the announce")

    def _remap(self, announce: ShmPoolAnnounce, now_ns: int) -> None:
        try:
            regions = open_announced(announce, self.client.allowed)
        except FramegateError as failure:
            # The announced regions cannot be used: neither can the old ones, which are no longer the stream's.
            if self.mapping.epoch is not None or failure.message != self._map_failure:
                _log.warning("%s cannot map what was announced: %s", self, failure)
            self._map_failure = failure.message
            self.mapping.on_unusable(announce.epoch)
            self.note_detach(failure.message)
            self.unmap(failure.message)
            return
        mark = regions.activity()
        if mark is None or not self.mapping.is_active(mark[0], now_ns):
            # What a dead owner left: it is as if nothing had been announced.
            self.mapping.ignored_stale += 1
            regions.close()
            return
        self._map(regions, Layout.announced(announce), now_ns)

    def _map(self, regions: PoolRegions, layout: Layout, now_ns: int) -> None:
        port = self.port
        if port is None:
            raise NotAttached("the consumer has no media driver now", stream=self.stream_id)
        self._note_end()
        former = former_end(_folder(regions), regions.epoch)
        if former is not None and former[0] == self._left_epoch:
            # It ended while this was away; whoever comes later begins with what is announced now.
            self.on_end_known(*former)
        self._absence.on_returned(port.counters())
        port.attach(regions)
        self._regions = regions
        self._came_in = self._came_in or regions.epoch
        mark = regions.activity()
        self.mapping.on_mapped(regions.epoch, now_ns, layout, mark[1] if mark else None)
        self.progress.on_mapped(regions.epoch, regions.nslots, layout.longest_payload)
        self.streams.back_to_shared()
        # At once: a producer may be waiting for its consumers.
        self._say_hello(now_ns)

    def _note_end(self) -> None:
        """Before regions go: an end whose signal was missed is known by the mark beside them."""
        if self._regions is not None:
            ended, after = is_marked_ended(_folder(self._regions), self._regions.epoch)
            if ended:
                self.on_end_read(self._regions.epoch)
                self.on_end_known(self._regions.epoch, after)

    def _hear_progress(self, message: FrameProgress) -> None:
        on_progress = self._wishes.on_progress
        if on_progress is None or not self.progress.admits(message):
            return
        try:
            on_progress(message)
        except Exception:
            # The user's own; the thread that keeps the leases must go on.
            _log.exception("%s: on_progress raised", self)

    def _say_hello(self, now_ns: int) -> None:
        self._hello_at_ns = now_ns + _HELLO_NS
        link, port = self._link, self.port
        if link is None or port is None:
            return
        wishes = self._wishes
        hello = hello_of(
            self.stream_id,
            self.lease.client_id,
            channel=link.streams.channel,
            max_rate_hz=wishes.max_rate_hz,
            own_stream=wishes.own_stream,
            hears_progress=wishes.on_progress is not None,
        )
        link.control.offer(hello.encode())
        self._say_qos(hello.mode)
        self._check_order(port.counters().get("regressions", 0), now_ns)

    def _has_come_on(self) -> bool:
        """Whether a quarter of the ring was read since that was last said: a replay at full speed goes by it."""
        regions, port = self._regions, self.port
        seen = None if port is None else self.seen(port)
        if regions is None or port is None or seen is None:
            return False
        epoch, seq = self._said_seen
        said = seq if epoch == port.epoch and seq is not None else -1
        return seen - said >= max(regions.nslots // _SAYS_A_RING, 1)

    def _say_qos(self, mode: Mode) -> None:
        link, port = self._link, self.port
        if link is None or port is None:
            return
        seen = self.seen(port)
        self._said_seen = port.epoch, seen
        counters, epoch = self.counters(), self.mapping.epoch or 0
        qos = QosConsumer(
            stream_id=self.stream_id,
            consumer_id=self.lease.client_id,
            epoch=epoch,
            # What was mapped last may not be what is read yet.
            last_seq_seen=(seen or 0) if port.epoch == epoch else 0,
            drops_gap=counters.get("gap_drops", 0),
            drops_late=counters.get("late_drops", 0),
            mode=mode,
        )
        link.qos.offer(qos.encode())

    def _check_order(self, regressions: int, now_ns: int) -> None:
        """Sequences that go back within an epoch are a second writer's: let go until the next announce."""
        if regressions > self._regressions and now_ns >= self._regressions_count_from_ns and self._regions is not None:
            self._let_go("a sequence went back within its epoch")
        self._regressions = regressions


def _folder(regions: PoolRegions) -> str:
    return regions.paths[0].rpartition("/")[0]
