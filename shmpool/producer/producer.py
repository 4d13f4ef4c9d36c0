# SPDX-License-Identifier: Apache-2.0
"""The producer of a stream: it writes frames into the ring and announces them (PROTOCOL 4 and 7)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import EllipsisType
from typing import TYPE_CHECKING, Final, Self, cast

from framegate.schema import Message
from framegate.schema.control import (
    ControlSignal,
    InjectBarrier,
    PipelineAnnounce,
    SignalCategory,
    SignalKind,
    Watermark,
)
from framegate.schema.driver import LeaseRevokeReason, Role, ShmAttachResponse, ShmLeaseRevoked
from framegate.schema.errors import (
    BarrierInjectionFailed,
    ClientStalled,
    InvalidValue,
    MediaDriverGone,
    NoPermission,
    NotAttached,
    TransportClosed,
)
from framegate.schema.wire import (
    ConsumerConfig,
    ConsumerHello,
    DataSourceAnnounce,
    DataSourceMeta,
    FrameProgress,
    Mode,
    QosConsumer,
    QosProducer,
)
from framegate.shmpool.client.clients_here import keep
from framegate.shmpool.client.declaration import declaration_of
from framegate.shmpool.client.leaseholder import Leaseholder
from framegate.shmpool.client.progress import ProgressThrottle
from framegate.shmpool.client.regions import open_regions
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.marks.continued import mark_continued
from framegate.shmpool.marks.ended import mark_ended
from framegate.shmpool.producer.audience import Audience
from framegate.shmpool.producer.command_word import EPOCH_MAX, can_carry
from framegate.shmpool.producer.granted_streams import GrantedStreams
from framegate.shmpool.producer.requested_barriers import RequestedBarriers
from framegate.shmpool.producer.sent_barrier import SentBarrier
from framegate.shmpool.transport.interface import OfferBound, Publication, Subscription
from framegate.shmpool.transport.streams import untethered

from framegate._native import AeronPublication, AeronSubscription, FrameClaim, PoolProducer, PoolRegions

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.client.link import Link
    from typing_extensions import Buffer

_QOS_NS: Final = 1_000_000_000
DESCRIPTOR_BOUND: Final = OfferBound(attempts=1_000, deadline_ns=1_000_000)
"""A descriptor that is not taken within a millisecond is given up and counted, because a camera cannot wait."""
DEFAULT_PIPELINE: Final = "default"
_U64_MAX: Final = (1 << 64) - 1
_GONE: Final = (MediaDriverGone, ClientStalled, TransportClosed)
_log = logging.getLogger(__name__)


class Producer(Leaseholder):
    """The only producer of a stream; a context manager.

    ``publish`` copies an array in and returns its sequence; ``claim`` lends a slot to fill in place. Sequences count
    from 0 in every epoch. If the lease is lost, the producer attaches again by itself; until then publishing raises
    ``NotAttached``.
    """

    def __init__(
        self,
        client: Client,
        stream: int,
        *,
        shape: Sequence[int] | None,
        dtype: str | None,
        name: str = "",
        descriptor_stream: int | None = None,
        pipeline: str | None = DEFAULT_PIPELINE,
        barrier_interval_s: float | None = None,
        position: int = 0,
        continues: bool = False,
        clock: str | None = None,
        frame_bytes_max: int | None = None,
    ) -> None:
        declared = declaration_of(stream, clock, shape, dtype, frame_bytes_max)
        super().__init__(client, stream, Role.PRODUCER, declared)
        self._is_realtime = clock == "realtime"
        self.name = name
        self.pipeline = pipeline
        """The pipeline whose coordinator may request barriers; None sends only the barriers that the caller gives."""
        self._position = position
        self._continues = continues
        self.audience = Audience(stream)
        self._shape = shape
        self._dtype = dtype
        self._descriptor_stream = descriptor_stream
        self._native: PoolProducer | None = None
        self._barriers = RequestedBarriers(self, pipeline, barrier_interval_s)
        self._link: Link | None = None
        self._regions: PoolRegions | None = None
        self._folder_of_ring: str | None = None
        self._meta_version = 0
        self._meta: DataSourceMeta | None = None
        self._qos_at_ns = 0
        self._nslots = 0
        self._reported_lost = 0
        self._ended = False
        self._is_copy = False
        self._heard = threading.Condition()
        self._own_streams = GrantedStreams(DESCRIPTOR_BOUND)
        self._opened: list[Publication | Subscription] = []
        self._past: dict[str, int] = {}
        self._progress = ProgressThrottle(stream)
        self._progress_lock = threading.Lock()

    # --- for users ---------------------------------------------------------------------------------------

    def publish(
        self,
        array: Buffer,
        timestamp_ns: int | EllipsisType | None = ...,
        *,
        descriptor_timestamp_ns: int | None = None,
        trace_id: int = 0,
        seq: int | None = None,
        position: int | None = None,
    ) -> int:
        """Copy an array into the next slot and announce it. Returns its sequence.

        ``timestamp_ns`` is the capture time in the producer's clock. If it is left out, it is now; None means that
        there is none. ``seq`` skips ahead. ``position`` is where a source that can go back stands after the frame;
        ``sent_barriers`` gives it for the barriers that follow. Raises ``WrongArray`` or ``FrameTooLarge`` before
        anything is written.
        """
        native = self._native
        if native is None:
            raise self._away()
        try:
            published = native.publish(array, timestamp_ns, descriptor_timestamp_ns, trace_id, seq, position)
        except _GONE as death:
            raise self._away() from death
        if position is not None:
            self._position = position
        return published

    def publish_batch(self, arrays: Buffer, timestamp_ns: int | EllipsisType | None = ...) -> int:
        """Publish ``arrays[0]``, ``arrays[1]``, ... of a C-contiguous array in one call. Returns how many."""
        try:
            return self._attached().publish_batch(arrays, timestamp_ns)
        except _GONE as death:
            raise self._away() from death

    def claim(
        self,
        timestamp_ns: int | EllipsisType | None = ...,
        *,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
        descriptor_timestamp_ns: int | None = None,
        trace_id: int = 0,
        seq: int | None = None,
    ) -> FrameClaim:
        """Lend the next slot: fill ``claim.array`` in a ``with`` block. Its end commits; an exception abandons it."""
        return self._attached().claim(
            timestamp_ns,
            shape=shape,
            dtype=dtype,
            descriptor_timestamp_ns=descriptor_timestamp_ns,
            trace_id=trace_id,
            seq=seq,
        )

    def progress(self, claim: FrameClaim, filled_bytes: int) -> bool:
        """Report that the first ``filled_bytes`` of a claimed frame are written. Returns whether anything was sent.

        Nothing is sent if no consumer asked for progress, and little soon after the last message: call this as often as
        you like. Raises ``InvalidValue`` for more bytes than the frame has.

        ```
        with cam.claim() as slot:
            for row, line in enumerate(lines):
                slot.array[row] = line
                cam.progress(slot, (row + 1) * slot.array.strides[0])
        ```
        """
        if not self.audience.wants_progress:
            return False
        array = claim.array
        with self._progress_lock:
            messages = self._progress.report(
                epoch=self._epoch(),
                seq=claim.seq,
                filled_bytes=filled_bytes,
                total_bytes=array.nbytes,
                major_bytes=array.strides[0] if array.ndim > 1 else 0,
                now_ns=monotonic_ns(),
            )
        with suppress(*_GONE):
            return self._send_progress(messages)
        return False

    def watermark(self, timestamp_ms: int) -> None:
        """Announce, between the frames, that no frame older than this follows."""
        message = Watermark(timestamp_ms=timestamp_ms, stream_id=self.stream_id, source_epoch=self._epoch())
        self.send_between(message.encode())

    def barrier(self, checkpoint_id: int, epoch: int = 0, *, unaligned: bool = False) -> bool:
        """Send a checkpoint barrier of the caller's own here, between two frames; returns as ``send_between`` does.

        Barriers of coordinators and intervals need no call: they are sent by themselves, even while user code computes.
        Raises InvalidValue for id 0 and for an epoch above 2^48 - 1.
        """
        if not can_carry(checkpoint_id, epoch):
            raise InvalidValue(
                "no barrier can have this value",
                stream=self.stream_id,
                checkpoint_id=checkpoint_id,
                epoch=epoch,
                epoch_max=EPOCH_MAX,
            )
        try:
            return self._taken(self._attached().send_barrier(checkpoint_id, epoch, unaligned))
        except _GONE as death:
            raise self._away() from death

    def send_between(self, message: bytes) -> bool:
        """Put a message of schema 920 between the descriptors, at the same place of every descriptor stream.

        Returns False if a stream is full. The message is then sent when the stream has space, and its ``after_seq`` is
        set for that place. Raises BarrierInjectionFailed if too many messages wait already, or if the message fits no
        fragment.
        """
        try:
            return self._taken(self._attached().send(message))
        except _GONE as death:
            raise self._away() from death

    def sent_barriers(self) -> list[SentBarrier]:
        """The checkpoint barriers that were sent since the last call, oldest first. Only the newest 16 are kept."""
        return self._barriers.take_sent()

    def _taken(self, is_sent: bool | None) -> bool:
        if is_sent is None:
            raise BarrierInjectionFailed(
                "too many messages wait for room between the frames",
                stream=self.stream_id,
                hint="A subscriber of the descriptors does not read: end it, or send less between the frames.",
            )
        return is_sent

    def signal(self, kind: SignalKind | str, barrier_id: int | None = None) -> bool:
        """Send a signal here, between two frames; returns as ``send_between`` does.

        ``kind`` is SyncTest, or StreamGracefulEnd, which is ``end``. All producers of a pipeline give the same
        ``barrier_id``, which only grows: agents forward such a signal when all their inputs have delivered it. They
        forward a signal without an id at once. Raises InvalidValue for another kind, or an id below 1.

        ```
        for cam in (left, right):
            cam.signal("SyncTest", 7)
        ```
        """
        found = _signal_kind(kind)
        if barrier_id is not None and not 0 < barrier_id <= _U64_MAX:
            raise InvalidValue("the id of a signal that waits for all", stream=self.stream_id, barrier_id=barrier_id)
        if found is SignalKind.STREAM_GRACEFUL_END:
            self.end(barrier_id or 0, instant=barrier_id is None)
            return True
        return self.send_between(self._signal(found, barrier_id or 0, is_instant=barrier_id is None))

    def end(self, barrier_id: int = 0, *, instant: bool = False) -> None:
        """Announce that no frame follows. Consumers end when they have read everything; later ones learn it from a
        mark.

        ``barrier_id`` is that of a pipeline that ends as a whole; 0 ends this stream alone. An ``instant`` end also
        ends every agent that joins this stream, even if its other inputs go on.
        """
        after = self.last_seq
        self.send_between(self._signal(SignalKind.STREAM_GRACEFUL_END, barrier_id, is_instant=instant))
        self._ended = True
        if self._folder_of_ring is not None:
            mark_ended(self._folder_of_ring, self._epoch(), after)

    def _signal(self, kind: SignalKind, barrier_id: int, *, is_instant: bool) -> bytes:
        return ControlSignal(
            category=SignalCategory.INSTANT if is_instant else SignalCategory.BARRIER,
            kind=kind,
            barrier_id=barrier_id,
            stream_id=self.stream_id,
            source_epoch=self._epoch(),
            after_seq=self.last_seq,
            # The end of a single stream does not concern the pipeline.
            pipeline=(self.pipeline or "") if barrier_id else "",
        ).encode()

    def describe(self, attributes: Mapping[str, str]) -> int:
        """Give later frames this metadata. Returns its version, which those frames carry."""
        self._meta_version += 1
        self._meta = DataSourceMeta(
            stream_id=self.stream_id,
            meta_version=self._meta_version,
            timestamp_ns=monotonic_ns(),
            attributes=tuple(
                DataSourceMeta.Attribute(key=key, format="text/plain", value=value.encode())
                for key, value in attributes.items()
            ),
        )
        if self._native is not None:
            self._native.set_meta_version(self._meta_version)
        with suppress(*_GONE):
            # The metadata is sent again every second.
            self._announce_source()
        return self._meta_version

    def wait_consumers(self, count: int, timeout_s: float | None = None) -> bool:
        """Wait until this many consumers have mapped this producer's epoch. Returns whether they have."""
        with self._heard:
            return self._heard.wait_for(lambda: self._ready_consumers() >= count, timeout_s)

    @property
    def consumers(self) -> int:
        """How many consumers have mapped this producer's epoch."""
        return self._ready_consumers()

    def wait_seen(self, seq: int, timeout_s: float | None = None) -> bool:
        """Wait until every consumer has reported that it saw a sequence of this epoch. Returns whether all have.

        Consumers report when they have read another quarter of the ring, and once a second. Without consumers there is
        nothing to wait for.
        """
        with self._heard:
            return self._heard.wait_for(lambda: self._is_seen(seq), timeout_s)

    def _is_seen(self, seq: int) -> bool:
        slowest = self.audience.slowest(self.lease.epoch or 0)
        return slowest is None or slowest >= seq

    @property
    def nslots(self) -> int:
        """How many slots the stream's ring has; 0 before the first lease."""
        return self._nslots

    @property
    def last_seq(self) -> int | None:
        """The last published sequence of this epoch; None before the first."""
        return self._native.last_seq if self._native is not None else None

    @property
    def epoch(self) -> int | None:
        """The epoch in which frames are published; None while detached."""
        return self.lease.epoch if self.is_attached else None

    def counters(self) -> dict[str, int]:
        """How many frames, bytes and descriptors went which way, over all epochs and media drivers."""
        now = self._native.counters() if self._native is not None else {}
        found = {name: now.get(name, 0) + self._past.get(name, 0) for name in now or self._past}
        return {**found, "own_streams_refused": self._own_streams.refused}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def native(self) -> PoolProducer | None:
        """The native producer, for engines that publish without Python. It changes with the Aeron client."""
        return self._native

    # --- on the client's thread ----------------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Open the descriptor stream on a new link."""
        self._link = link
        own, channel = self._descriptor_stream, link.streams.channel
        stream = link.streams.descriptor if own is None else own
        publication = link.transport.add_publication(channel, stream, bound=DESCRIPTOR_BOUND)
        pace = link.transport.add_subscription(untethered(channel), stream)
        self._opened = [publication, pace]
        self._native = PoolProducer(
            cast(AeronPublication, publication),
            self.stream_id,
            dtype=self._dtype,
            shape=self._shape,
            pace=cast(AeronSubscription, pace),
            is_realtime=self._is_realtime,
        )
        self._native.set_position(self._position)
        self._barriers.inject()

    def on_link_lost(self, reason: str) -> None:
        """Drop what was opened on the lost link."""
        super().on_link_lost(reason)
        self._barriers.note_lost(monotonic_ns())
        self._barriers.keep_sent()
        self._past = self.counters()
        self._native = None
        self._own_streams.forget()
        self._link = None

    def leave(self) -> None:
        """Close the streams."""
        with suppress(*_GONE):
            self._barriers.tell_lost(monotonic_ns())
        for consumer_id in self._own_streams.consumers():
            self._forget(consumer_id)
        for each in self._opened:
            each.close()
        self._opened = []
        self._barriers.let_go()

    def map_lease(self, response: ShmAttachResponse, now_ns: int) -> None:
        """Write into the regions of the lease from now on."""
        assert self._native is not None  # noqa: S101  (for the type checker: a lease needs a link)
        epoch, nslots = response.epoch or 0, response.header_nslots or 0
        if self.lease.declaration is not None:
            longest = max((pool.stride_bytes for pool in response.payload_pools), default=0)
            self.lease.declaration.check(self.stream_id, longest)
        regions = open_regions(
            stream_id=response.stream_id or 0,
            epoch=epoch,
            nslots=nslots,
            header_uri=response.header_region_uri,
            pools=response.payload_pools,
            allowed=self.client.allowed,
            writable=True,
        )
        self._folder_of_ring = regions.paths[0].rpartition("/")[0]
        self._nslots = nslots
        if self._continues:
            # Before anything can be sent: barriers are sent by themselves as soon as there are regions.
            self._mark_continued(self._folder_of_ring, epoch)
        self._barriers.on_regions(self._folder_of_ring, epoch)
        # A driver may have made the regions long ago, and leave it to the producer to refresh their activity.
        regions.refresh_activity(now_ns)
        self._native.attach(regions)
        self._regions = regions
        self._native.set_meta_version(self._meta_version or None)
        self.audience.on_epoch(epoch)
        self._qos_at_ns = now_ns
        self._ended = False

    def _mark_continued(self, folder: str, epoch: int) -> None:
        try:
            mark_continued(folder, epoch)
        except OSError as refused:
            what = f"it cannot be said that the epoch goes on with the one before: {refused.strerror or refused}"
            raise NoPermission(what, stream=self.stream_id, path=folder) from refused

    def unmap(self, _reason: str) -> None:
        """Stop writing."""
        if self._native is not None:
            self._native.detach()
        if self._regions is not None:
            self._regions.close()
            self._regions = None

    def disown(self) -> None:
        """Leave the ring to the process that writes it, after a fork."""
        super().disown()
        keep((self._native, self._regions))
        self._native, self._is_copy = None, True

    def on_message(self, message: Message, now_ns: int) -> None:
        """Handle messages about the lease, and those of the stream's consumers."""
        super().on_message(message, now_ns)
        match message:
            case ConsumerHello() if message.stream_id == self.stream_id:
                self.audience.on_hello(message, now_ns)
                self._progress.policy = self.audience.progress_policy()
            case QosConsumer() if message.stream_id == self.stream_id:
                self.audience.on_qos(message, now_ns, self.last_seq)
                with self._heard:
                    self._heard.notify_all()
            case InjectBarrier() if message.pipeline == self.pipeline:
                self._barriers.on_inject_barrier(message)
            case PipelineAnnounce() if message.pipeline == self.pipeline:
                self._barriers.leave_to_coordinator()
            case ConsumerConfig() if message.stream_id == self.stream_id:
                self._grant(message)
            case ShmLeaseRevoked() if (message.stream_id, message.role) == (self.stream_id, Role.CONSUMER):
                if message.reason == LeaseRevokeReason.DETACHED:
                    self.audience.leave(message.client_id)
                self._forget(message.client_id)

    def on_tick(self, now_ns: int) -> None:
        """Send due barriers and late progress, and drop silent consumers; send QoS and metadata once a second."""
        super().on_tick(now_ns)
        self._barriers.send_due(now_ns)
        for consumer_id in self.audience.stale(now_ns):
            self._forget(consumer_id)
        if not self.is_attached:
            return
        with self._progress_lock:
            waited = self._progress.poll(now_ns)
        self._send_progress(waited)
        if now_ns >= self._qos_at_ns:
            self._qos_at_ns = now_ns + _QOS_NS
            if self._regions is not None:
                self._regions.refresh_activity(now_ns)
            self._send_qos()
            self._announce_source()
            self._report_lost()

    def _grant(self, config: ConsumerConfig) -> None:
        """Open or close a consumer's own streams, as the driver says. The driver repeats it with every hello."""
        link, consumer_id = self._link, config.consumer_id
        if self._native is None or link is None or consumer_id not in self.audience:
            return
        max_rate_hz = self.audience.max_rate_hz(consumer_id) if config.mode is Mode.RATE_LIMITED else 0
        self._own_streams.take_up(config, max_rate_hz, link.transport, self._native)

    def _forget(self, consumer_id: int) -> None:
        self.audience.forget(consumer_id)
        self._own_streams.close(consumer_id, self._native)
        with self._heard:
            # A thread that waits for the slowest consumer need not wait for this one.
            self._heard.notify_all()

    def _send_progress(self, messages: list[FrameProgress]) -> bool:
        """Send progress to the consumers that asked: on their own control streams, or else on the shared one."""
        link = self._link
        if link is None or not messages:
            return False
        ways = self._own_streams.progress_ways(self.audience.wants_progress, link.control)
        for message in messages:
            data = message.encode()
            for way in ways:
                # Progress is a hint, so it is not sent a second time.
                way.try_offer(data)
        return bool(ways)

    def _send_qos(self) -> None:
        last = self.last_seq
        if self._link is not None and last is not None:
            message = QosProducer(
                stream_id=self.stream_id, producer_id=self.lease.client_id, epoch=self._epoch(), current_seq=last
            )
            self._link.qos.offer(message.encode())

    def _announce_source(self) -> None:
        if self._link is None or not self.lease.is_attached:
            return
        announce = DataSourceAnnounce(
            stream_id=self.stream_id,
            producer_id=self.lease.client_id,
            epoch=self._epoch(),
            meta_version=self._meta_version,
            name=self.name,
            summary="",
        )
        self._link.metadata.offer(announce.encode())
        if self._meta is not None:
            self._link.metadata.offer(self._meta.encode())

    def _report_lost(self) -> None:
        lost = self.counters().get("descriptors_lost", 0)
        if lost > self._reported_lost:
            _log.warning(
                "stream %s: %d descriptors could not be offered within their bound: a subscriber does not keep up",
                self.stream_text,
                lost - self._reported_lost,
            )
            self._reported_lost = lost

    # --- on either ---------------------------------------------------------------------------------------

    def _attached(self) -> PoolProducer:
        native = self._native
        if native is None:
            raise self._away()
        return native

    def _away(self) -> NotAttached:
        if self._is_copy:
            return NotAttached(
                "the producer belongs to the process that this one was forked from",
                stream=self.stream_id,
                hint="A stream has one producer: publish in the other process, or make a producer of another stream.",
            )
        # The client's thread may not have noticed yet. For the caller it makes no difference.
        return NotAttached("the producer has no media driver now", stream=self.stream_id)

    def _epoch(self) -> int:
        return self.lease.epoch or 0

    def _ready_consumers(self) -> int:
        return self.audience.ready(self._epoch()) if self.lease.is_attached else 0


_SIGNAL_KINDS: Final = {"StreamGracefulEnd": SignalKind.STREAM_GRACEFUL_END, "SyncTest": SignalKind.SYNC_TEST}


def _signal_kind(kind: SignalKind | str) -> SignalKind:
    found = _SIGNAL_KINDS.get(kind) if isinstance(kind, str) else SignalKind(kind)
    if found is None:
        raise InvalidValue(f"one of {', '.join(_SIGNAL_KINDS)}", kind=kind)
    return found
