# SPDX-License-Identifier: Apache-2.0
"""A consumer of a stream: iterate it, poll it, or await it (PROTOCOL 5 and 7)."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final, Self, cast

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
from framegate.schema.wire import Bool, ConsumerConfig, ConsumerHello, Mode, QosConsumer, ShmPoolAnnounce
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.ended import is_marked_ended
from framegate.shmpool.lease import LAYOUT_VERSION
from framegate.shmpool.leaseholder import Leaseholder
from framegate.shmpool.mapping import Decision, Mapping
from framegate.shmpool.regions import open_announced, open_regions
from framegate.shmpool.streams import untethered

from framegate._native import AeronSubscription, Frame, PoolConsumer, PoolRegions

if TYPE_CHECKING:
    from framegate.shmpool.client import Client, Link

_HELLO_NS: Final = 1_000_000_000
_WAIT_SLICE_NS: Final = 50_000_000
_BATCH: Final = 64


class Consumer(Leaseholder):
    """One consumer; a context manager and an iterator of ``Frame``.

    Iterating ends at the stream's end, or when no frame came for ``timeout_s``. Lost frames are gaps, counted in
    ``counters()``: ``gap_drops`` never came, ``late_drops`` came and were overwritten before they were read.
    """

    def __init__(self, client: Client, stream: int, *, timeout_s: float | None = None, max_rate_hz: int = 0) -> None:
        super().__init__(client, stream, Role.CONSUMER)
        self.timeout_s = timeout_s
        self.mapping = Mapping(stream)
        self._max_rate_hz = max_rate_hz
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
        while frames := self._next_batch():
            yield from frames

    async def __aiter__(self) -> AsyncIterator[Frame]:
        while frames := await asyncio.to_thread(self._next_batch):
            for frame in frames:
                yield frame

    def poll(self, limit: int = _BATCH, timeout_s: float = 0.0) -> list[Frame]:
        """Frames that are there, at most ``limit``; waits up to ``timeout_s`` for the first."""
        native = self._native
        if native is None:
            # Between two media drivers; the client's thread is at it.
            self._relinked.wait(timeout_s)
            return []
        try:
            frames = native.poll(limit, int(timeout_s * 1e9))
        except (MediaDriverGone, ClientStalled, TransportClosed):
            if self.is_closed:
                raise
            self._relinked.wait(timeout_s)
            return []
        self._take_events(native)
        return frames

    def has_finished(self) -> bool:
        """Whether the producer said that no frame follows, and all before were read. Ask after an empty ``poll``."""
        return self._ended_epoch is not None or self._is_marked_ended()

    @property
    def epoch(self) -> int | None:
        """The epoch that is mapped; None while none is."""
        return self._native.epoch if self._native is not None else None

    def counters(self) -> dict[str, int]:
        """Frames by what became of them, over all epochs and media drivers."""
        now = self._native.counters() if self._native is not None else {}
        return {name: now.get(name, 0) + self._past.get(name, 0) for name in {**self._past, **now}}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """After ``close``."""
        return self.lease.state.value == "closed"

    def _next_batch(self) -> list[Frame]:
        """Frames, or an empty list at the end or when the time is up."""
        deadline_ns = None if self.timeout_s is None else monotonic_ns() + int(self.timeout_s * 1e9)
        while not self.is_closed:
            frames = self.poll(_BATCH, _WAIT_SLICE_NS / 1e9)
            if frames:
                if self._ended_epoch is not None and frames[-1].epoch > self._ended_epoch:
                    self._ended_epoch = None
                return frames
            if self.has_finished():
                return []
            if deadline_ns is not None and monotonic_ns() >= deadline_ns:
                return []
        return []

    def _take_events(self, native: PoolConsumer) -> None:
        for data in native.events():
            try:
                message = decode_any(data)
            except MessageError:
                continue
            if isinstance(message, ControlSignal) and message.kind is SignalKind.STREAM_GRACEFUL_END:
                self._ended_epoch = message.source_epoch

    def _is_marked_ended(self) -> bool:
        """Only a consumer that has read everything, or came too late for anything, believes the mark."""
        regions, native = self._regions, self._native
        if regions is None or native is None or native.epoch != regions.epoch:
            return False
        ended, after = is_marked_ended(regions.paths[0].rpartition("/")[0], regions.epoch)
        return ended and (native.last_seq is None or after is None or native.last_seq >= after)

    # --- on the client's thread ----------------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Listen to the descriptor stream anew."""
        self._link = link
        self.mapping.join_time_ns = link.joined_at_ns
        subscription = link.transport.add_subscription(untethered(link.streams.channel), link.streams.descriptor)
        native = PoolConsumer(cast(AeronSubscription, subscription), self.stream_id)
        native.limit_rate(self._max_rate_hz)
        self._native = native
        self._relinked.set()

    def on_link_lost(self, reason: str) -> None:
        """Keep what was counted."""
        super().on_link_lost(reason)
        native, self._native = self._native, None
        self._relinked.clear()
        if native is not None:
            for name, value in native.counters().items():
                self._past[name] = self._past.get(name, 0) + value

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
        self._map(regions, now_ns)

    def unmap(self, _reason: str) -> None:
        """Let the regions go. Frames that were given out keep theirs mapped."""
        self.mapping.on_unmapped()
        if self._native is not None:
            self._native.detach()
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
                self._on_config(message)

    def on_tick(self, now_ns: int) -> None:
        """Hello and QoS once a second; regions that nobody vouches for."""
        super().on_tick(now_ns)
        if not self.lease.is_attached:
            return
        if self._regions is not None:
            activity = self._regions.activity()
            reason = self.mapping.must_unmap(now_ns, activity[0] if activity else None)
            if reason is not None:
                self.detach_reasons.append(reason)
                self.unmap(reason)
        if now_ns >= self._hello_at_ns:
            self._say_hello(now_ns)

    def _on_announce(self, announce: ShmPoolAnnounce, now_ns: int) -> None:
        if not self.lease.is_attached:
            return
        match self.mapping.on_announce(announce, now_ns, realtime_ns()):
            case Decision.REMAP:
                self._remap(announce, now_ns)
            case Decision.KEEP if self._regions is not None and self._regions.mapped_epoch() != announce.epoch:
                self.detach_reasons.append("the superblock changed under the announce")
                self.unmap("the superblock changed under the announce")

    def _remap(self, announce: ShmPoolAnnounce, now_ns: int) -> None:
        try:
            regions = open_announced(announce, self.client.allowed)
        except FramegateError as failure:
            # The announced regions cannot be used: neither can the old ones, which are no longer the stream's.
            self._map_failure = str(failure)
            self.detach_reasons.append(failure.message)
            self.unmap(failure.message)
            return
        self._map(regions, now_ns)

    def _map(self, regions: PoolRegions, now_ns: int) -> None:
        native = self._native
        if native is None:
            raise NotAttached("the consumer has no media driver now", stream=self.stream_id)
        native.attach(regions)
        self._regions = regions
        self.mapping.on_mapped(regions.epoch, now_ns)
        # At once: a producer may be waiting for its consumers.
        self._say_hello(now_ns)

    def _say_hello(self, now_ns: int) -> None:
        self._hello_at_ns = now_ns + _HELLO_NS
        link, native = self._link, self._native
        if link is None or native is None:
            return
        hello = ConsumerHello(
            stream_id=self.stream_id,
            consumer_id=self.lease.client_id,
            supports_shm=Bool.TRUE,
            supports_progress=Bool.FALSE,
            mode=Mode.RATE_LIMITED if self._max_rate_hz else Mode.STREAM,
            max_rate_hz=self._max_rate_hz,
            expected_layout_version=LAYOUT_VERSION,
            descriptor_stream_id=0,
            control_stream_id=0,
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

    def _on_config(self, config: ConsumerConfig) -> None:
        """A descriptor stream of our own, or the shared one again; half a pair counts as none."""
        link, native = self._link, self._native
        if link is None or native is None:
            return
        channel, stream = link.streams.channel, link.streams.descriptor
        if config.descriptor_channel and config.descriptor_stream_id:
            channel, stream = config.descriptor_channel, config.descriptor_stream_id
        native.listen(cast(AeronSubscription, link.transport.add_subscription(untethered(channel), stream)))
