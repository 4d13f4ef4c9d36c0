# SPDX-License-Identifier: Apache-2.0
"""A consumer of a stream: iterate it, poll it, or await it (PROTOCOL 5 and 7)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Final, Self

from framegate.schema import Message, decode_any
from framegate.schema.control import ControlSignal, SignalKind
from framegate.schema.driver import Role, ShmAttachResponse, ShmLeaseRevoked
from framegate.schema.errors import (
    ClientStalled,
    FramegateError,
    MediaDriverGone,
    MessageError,
    NotAttached,
    TransportClosed,
)
from framegate.schema.wire import (
    Bool,
    ConsumerConfig,
    ConsumerHello,
    FrameProgress,
    Mode,
    QosConsumer,
    ShmPoolAnnounce,
)
from framegate.shmpool.absence import Absence
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.consumer_streams import ConsumerStreams
from framegate.shmpool.ended import is_marked_ended
from framegate.shmpool.lease import LAYOUT_VERSION
from framegate.shmpool.leaseholder import Leaseholder
from framegate.shmpool.mapping import Decision, Layout, Mapping
from framegate.shmpool.progress import ProgressFilter
from framegate.shmpool.regions import open_announced, open_regions

from framegate._native import Frame, PoolConsumer, PoolRegions

if TYPE_CHECKING:
    from framegate.shmpool.client import Client, Link

_HELLO_NS: Final = 1_000_000_000
_WAIT_SLICE_NS: Final = 50_000_000
_BATCH: Final = 64
_SWITCH_GRACE_NS: Final = 2_000_000_000
"""After another descriptor stream was taken up it may repeat what the old one brought."""
_WISH_DESCRIPTOR: Final = 31_000
_WISH_CONTROL: Final = 32_000
"""Any number that is not 0 asks; the driver picks the ids. These begin the ranges of PROTOCOL 7.1."""
_log = logging.getLogger(__name__)


class Consumer(Leaseholder):
    """One consumer; a context manager and an iterator of ``Frame``.

    Iterating ends at the stream's end, or when no frame came for ``timeout_s``. Lost frames are gaps, counted in
    ``counters()``: ``gap_drops`` never came, ``late_drops`` came and were overwritten before they were read.
    """

    def __init__(
        self,
        client: Client,
        stream: int,
        *,
        timeout_s: float | None = None,
        max_rate_hz: int = 0,
        own_stream: bool = False,
        on_progress: Callable[[FrameProgress], None] | None = None,
    ) -> None:
        super().__init__(client, stream, Role.CONSUMER)
        self.timeout_s = timeout_s
        self.mapping = Mapping(stream)
        self.progress = ProgressFilter(stream)
        self._max_rate_hz = max_rate_hz
        self._wants_own_stream = own_stream
        self._on_progress = on_progress
        self.streams = ConsumerStreams(max_rate_hz)
        self._absence = Absence()
        self._regressions = 0
        self._regressions_count_from_ns = 0
        self._native: PoolConsumer | None = None
        self._link: Link | None = None
        self._regions: PoolRegions | None = None
        self._hello_at_ns = 0
        self._ended_epoch: int | None = None
        self._map_failure: str = ""
        self._relinked = threading.Event()
        self._past: dict[str, int] = {}
        self._ready: deque[Frame] = deque()

    # --- for users ---------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Frame]:
        while self._ready or self._refill():
            yield self._ready.popleft()

    async def __aiter__(self) -> AsyncIterator[Frame]:
        # A thread that outlives a cancelled wait leaves what it read in `_ready`, for whoever asks next.
        while bool(self._ready) or await asyncio.to_thread(self._refill):
            yield self._ready.popleft()

    def poll(self, limit: int = _BATCH, timeout_s: float = 0.0) -> list[Frame]:
        """Frames that are there, at most ``limit``; waits up to ``timeout_s`` for the first."""
        if self._ready:
            return [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
        native = self._native
        if native is None:
            # Between two media drivers; the client's thread is at it.
            self._wait_for_link(timeout_s)
            return []
        try:
            frames = native.poll(limit, int(timeout_s * 1e9))
        except (MediaDriverGone, ClientStalled, TransportClosed):
            if self.is_closed:
                raise
            if native is self._native:
                # The client's thread has not seen it yet.
                self._relinked.clear()
            self._wait_for_link(timeout_s)
            return []
        self._take_events(native)
        if frames and self._ended_epoch is not None and frames[-1].epoch > self._ended_epoch:
            self._ended_epoch = None
        if self.streams.will_hear is not None:
            self._change_stream(native)
        return frames

    def has_finished(self) -> bool:
        """Whether the producer said that no frame follows, and all before were read. Ask after an empty ``poll``."""
        return not self._ready and (self._ended_epoch is not None or self._is_marked_ended())

    @property
    def epoch(self) -> int | None:
        """The epoch that is mapped; None while none is."""
        return self._native.epoch if self._native is not None else None

    def counters(self) -> dict[str, int]:
        """Frames by what became of them, over all epochs and media drivers."""
        with self.client.turn:
            native = self._native
            if native is not None:
                self._count_absence(native)
            now = native.counters() if native is not None else {}
            return {name: now.get(name, 0) + self._past.get(name, 0) for name in {**self._past, **now}}

    def _count_absence(self, native: PoolConsumer) -> None:
        last_seq, counters = native.last_seq, native.counters()
        if native.last_seq == last_seq:
            # Else another thread reads just now: the next look counts.
            missed = self._absence.missed(native.epoch, last_seq, counters)
            self._past["gap_drops"] = self._past.get("gap_drops", 0) + missed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _change_stream(self, native: PoolConsumer) -> None:
        """To the one that was assigned, when it is there and the present one has been read to its end."""
        with self.client.turn:
            coming = self.streams.will_hear
            if coming is None or not coming.is_connected or native is not self._native:
                return
            rest = native.poll(_BATCH, 0)
            self._ready.extend(rest)
            if not rest:
                self.streams.take_up(native)
                self._regressions_count_from_ns = monotonic_ns() + _SWITCH_GRACE_NS

    def _wait_for_link(self, timeout_s: float) -> None:
        if self.is_closed:
            raise TransportClosed("the consumer is closed", stream=self.stream_id)
        self._relinked.wait(timeout_s)

    def _refill(self) -> bool:
        """Read a batch; False at the end, after ``close``, or when the time is up."""
        deadline_ns = None if self.timeout_s is None else monotonic_ns() + int(self.timeout_s * 1e9)
        while not self.is_closed:
            try:
                self._ready.extend(self.poll(_BATCH, _WAIT_SLICE_NS / 1e9))
            except TransportClosed:
                # Another thread closed it; anything else goes on by itself.
                return False
            if self._ready:
                return True
            if self.has_finished() or (deadline_ns is not None and monotonic_ns() >= deadline_ns):
                return False
        return False

    def _take_events(self, native: PoolConsumer) -> None:
        for data in native.events():
            try:
                message = decode_any(data)
            except MessageError:
                continue
            if isinstance(message, ControlSignal) and message.kind is SignalKind.STREAM_GRACEFUL_END:
                self._ended_epoch = max(self._ended_epoch or 0, message.source_epoch)

    def _is_marked_ended(self) -> bool:
        """Only a consumer that has read everything, or came too late for anything, believes the mark."""
        regions, native = self._regions, self._native
        if regions is None or native is None or native.epoch != regions.epoch:
            return False
        ended, after = is_marked_ended(_folder(regions), regions.epoch)
        return ended and (native.last_seq is None or after is None or native.last_seq >= after)

    # --- on the client's thread ----------------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Listen to the descriptor stream anew."""
        self._link = link
        self._native = self.streams.on_link(link, self.stream_id)
        self._regressions = 0
        self._relinked.set()

    def on_link_lost(self, reason: str) -> None:
        """Keep what was counted."""
        super().on_link_lost(reason)
        native, self._native = self._native, None
        self._link = None
        self.streams.on_link_lost()
        self._relinked.clear()
        if native is not None:
            for name, value in native.counters().items():
                self._past[name] = self._past.get(name, 0) + value

    def leave(self) -> None:
        """Close the streams."""
        self._relinked.set()
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
        self.mapping.on_unmapped()
        self.progress.on_unmapped()
        native = self._native
        if native is not None:
            self._count_absence(native)
            self._absence.on_left(native.epoch, native.last_seq)
            native.detach()
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
        native, link = self._native, self._link
        if native is None or link is None:
            raise NotAttached("the consumer has no media driver now", stream=self.stream_id)
        self._note_end()
        self._absence.on_returned(native.counters())
        native.attach(regions)
        self._regions = regions
        mark = regions.activity()
        self.mapping.on_mapped(regions.epoch, now_ns, layout, mark[1] if mark else None)
        self.progress.on_mapped(regions.epoch, regions.nslots, layout.longest_payload)
        self.streams.back_to_shared()
        # At once: a producer may be waiting for its consumers.
        self._say_hello(now_ns)

    def _note_end(self) -> None:
        """Before regions go: an end whose signal was missed is known by the mark beside them."""
        if self._regions is not None:
            ended, _after = is_marked_ended(_folder(self._regions), self._regions.epoch)
            if ended:
                self._ended_epoch = max(self._ended_epoch or 0, self._regions.epoch)

    def _hear_progress(self, message: FrameProgress) -> None:
        if self._on_progress is None or not self.progress.admits(message):
            return
        try:
            self._on_progress(message)
        except Exception:
            # The user's own; the thread that keeps the leases must go on.
            _log.exception("%s: on_progress raised", self)

    def _say_hello(self, now_ns: int) -> None:
        self._hello_at_ns = now_ns + _HELLO_NS
        link, native = self._link, self._native
        if link is None or native is None:
            return
        asks, hears = self._wants_own_stream, self._on_progress is not None
        hello = ConsumerHello(
            stream_id=self.stream_id,
            consumer_id=self.lease.client_id,
            supports_shm=Bool.TRUE,
            supports_progress=Bool.TRUE if hears else Bool.FALSE,
            mode=Mode.RATE_LIMITED if self._max_rate_hz else Mode.STREAM,
            max_rate_hz=self._max_rate_hz,
            expected_layout_version=LAYOUT_VERSION,
            descriptor_stream_id=_WISH_DESCRIPTOR if asks else 0,
            descriptor_channel=link.streams.channel if asks else "",
            control_stream_id=_WISH_CONTROL if asks and hears else 0,
            control_channel=link.streams.channel if asks and hears else "",
        )
        link.control.offer(hello.encode())
        counters = self.counters()
        qos = QosConsumer(
            stream_id=self.stream_id,
            consumer_id=self.lease.client_id,
            epoch=self.mapping.epoch or 0,
            last_seq_seen=native.last_seq or 0,
            drops_gap=counters.get("gap_drops", 0),
            drops_late=counters.get("late_drops", 0),
            mode=hello.mode,
        )
        link.qos.offer(qos.encode())
        self._check_order(native.counters()["regressions"], now_ns)

    def _check_order(self, regressions: int, now_ns: int) -> None:
        """Sequences that go back within an epoch are a second writer's: let go until the next announce."""
        if regressions > self._regressions and now_ns >= self._regressions_count_from_ns and self._regions is not None:
            self._let_go("a sequence went back within its epoch")
        self._regressions = regressions


def _folder(regions: PoolRegions) -> str:
    return regions.paths[0].rpartition("/")[0]
