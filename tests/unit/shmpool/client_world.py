# SPDX-License-Identifier: Apache-2.0
"""A producer or consumer without processes: real regions in shared memory, loopback streams, and a played native half.

The test is the driver and the peers: it feeds messages and ticks, and reads what was sent on every stream.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar, cast

import pytest
from framegate.schema import Message, decode_any
from framegate.schema.driver import ResponseCode, ShmAttachRequest, ShmAttachResponse
from framegate.schema.wire import ClockDomain, FrameProgress, ShmPoolAnnounce
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.owner_times import OwnerTimes
from framegate.shmpool.client.stream_names import StreamNames
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.consumer import consumer as consumer_module
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.producer import producer as producer_module
from framegate.shmpool.producer.producer import Producer
from framegate.shmpool.transport.interface import Subscription
from framegate.shmpool.transport.loopback.network import LoopbackNetwork
from framegate.shmpool.transport.streams import Streams

from framegate._native import PoolRegions

STREAM = 10_001
NSLOTS = 8
STRIDE = 4_096
LEASE = 77
_Member = TypeVar("_Member", Producer, Consumer)


class PlayedBatch(list[Any]):
    """Stands in for ``FrameBatch``."""

    @property
    def epoch(self) -> int | None:
        return self[-1].epoch if self else None


class PlayedPool:
    """Stands in for ``PoolProducer`` and ``PoolConsumer``: remembers what it was told."""

    def __init__(self, *args: object, **_options: object) -> None:
        self.made_with = args
        self.regions: PoolRegions | None = None
        self.branches: dict[int, tuple[Any, int]] = {}
        self.added = 0
        self.heard: list[Any] = []
        self.sent: list[bytes] = []
        self.answer: bool | None = True
        self.barriers: list[tuple[int, int, bool]] = []
        self.words: list[tuple[Any, int | None]] = []
        self.has_coordinator = False
        self.looked_at_ns: int | None = None
        self.lost_barrier: tuple[int, int] | None = None
        self.position = 0
        self.sent_barriers: list[tuple[int, int, int, int | None, int]] = []
        self.failure: Exception | None = None
        self.frames: list[Any] = []
        self.event_queue: list[tuple[bytes, int | None, int | None]] = []
        self.capped: list[bool] = []
        self.rate_hz: int | None = None
        self.last_seq: int | None = None
        self.end: tuple[int, int] | None = None
        self.meta_version: int | None = None
        self.values = {"frames": 0, "gap_drops": 0, "late_drops": 0, "regressions": 0, "descriptors_lost": 0}

    def attach(self, regions: PoolRegions) -> None:
        self.regions = regions

    def detach(self) -> None:
        self.regions = None

    @property
    def is_attached(self) -> bool:
        return self.regions is not None

    @property
    def epoch(self) -> int | None:
        return self.regions.epoch if self.regions else None

    def set_meta_version(self, version: int | None) -> None:
        self.meta_version = version

    def add_branch(self, consumer_id: int, publication: Any, max_rate_hz: int) -> None:
        self.added += 1
        self.branches[consumer_id] = (publication, max_rate_hz)

    def remove_branch(self, consumer_id: int) -> None:
        self.branches.pop(consumer_id, None)

    def listen(self, subscription: Any, capped: bool = False) -> None:
        self.heard.append(subscription)
        self.capped.append(capped)

    @property
    def next_seq(self) -> int | None:
        return None if self.regions is None else 0 if self.last_seq is None else self.last_seq + 1

    def note_end(self, epoch: int, after_seq: int) -> None:
        self.end = epoch, after_seq

    def settle(self) -> None:
        pass

    def lapped(self, epoch: int, seq: int) -> int:
        return seq + NSLOTS // 2 if self.regions is not None and epoch == self.regions.epoch else seq

    def limit_rate(self, max_rate_hz: int) -> None:
        self.rate_hz = max_rate_hz

    def publish(self, *_array: object, **_options: object) -> int:
        if self.failure is not None:
            raise self.failure
        return 0

    def set_position(self, position: int) -> None:
        self.position = position

    def take_sent_barriers(self) -> list[tuple[int, int, int, int | None, int]]:
        taken, self.sent_barriers = self.sent_barriers, []
        return taken

    publish_batch = publish

    def send(self, message: bytes) -> bool | None:
        if self.failure is not None:
            raise self.failure
        self.sent.append(message)
        return self.answer

    def send_barrier(self, checkpoint_id: int, epoch: int, unaligned: bool) -> bool | None:
        if self.failure is not None:
            raise self.failure
        self.barriers.append((checkpoint_id, epoch, unaligned))
        return self.answer

    def inject_by(self, word: Any, interval_ns: int | None = None) -> None:
        self.words.append((word, interval_ns))

    def leave_to_coordinator(self) -> None:
        self.has_coordinator = True

    def send_due(self, now_ns: int) -> tuple[int, int] | None:
        self.looked_at_ns = now_ns
        lost, self.lost_barrier = self.lost_barrier, None
        return lost

    def poll(self, limit: int, _timeout_ns: int) -> PlayedBatch:
        taken, self.frames = self.frames[:limit], self.frames[limit:]
        return PlayedBatch(taken)

    @property
    def has_events(self) -> bool:
        return bool(self.event_queue)

    def events(self) -> list[tuple[bytes, int | None, int | None]]:
        events, self.event_queue = self.event_queue, []
        return events

    def counters(self) -> dict[str, int]:
        return dict(self.values)


class World(Generic[_Member]):
    """One member, and everything around it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network = LoopbackNetwork()
        self.streams = Streams(channel="aeron:ipc")
        self.control_messages: list[Message] = []
        self._heard_streams: dict[int, Subscription] = {}
        self._opened: list[PoolRegions] = []
        transport = self.network.client()
        self.transport = transport
        self.peer = self.network.client()
        for stream in (self.streams.control, self.streams.qos, self.streams.metadata):
            self._heard_streams[stream] = self.peer.add_subscription(self.streams.channel, stream)
        self.link = SimpleNamespace(
            streams=self.streams,
            transport=transport,
            control=transport.add_publication(self.streams.channel, self.streams.control),
            qos=transport.add_publication(self.streams.channel, self.streams.qos),
            metadata=transport.add_publication(self.streams.channel, self.streams.metadata),
            joined_at_ns=0,
        )
        self.client = SimpleNamespace(
            chance=random.Random(5),
            allowed=[str(folder)],
            names=StreamNames(folder),
            turn=threading.RLock(),
            times=OwnerTimes(),
            aeron_dir=str(folder / "aeron"),
            send=lambda message: self.link.control.offer(message.encode()) > 0,
            remove=lambda member: None,
        )
        self.member: _Member
        self.now_ns = monotonic_ns()

    def heard(self, stream: int) -> list[Message]:
        """What was sent on a stream since the last look."""
        return [decode_any(received.data) for received in self._heard_streams[stream].poll(1_000)]

    def control(self) -> list[Message]:
        return self.heard(self.streams.control)

    def listen(self, channel: str, stream: int) -> Subscription:
        """Hear another stream from now on."""
        self._heard_streams[stream] = self.peer.add_subscription(channel, stream)
        return self._heard_streams[stream]

    def play(self, member: _Member) -> _Member:
        self.member = member
        member.on_link(cast(Any, self.link))
        return member

    @property
    def native(self) -> PlayedPool:
        """The played half of a producer, or of a consumer."""
        return cast(PlayedPool, self.member._native)

    def tick(self, seconds: float = 0.0) -> None:
        self.now_ns += int(seconds * 1e9)
        self.member.on_tick(self.now_ns)

    def tell(self, message: Message) -> None:
        self.member.on_message(message, self.now_ns)

    def make(self, epoch: int) -> PoolRegions:
        """The regions of an epoch, as a driver makes them."""
        folder = self.folder / str(epoch)
        folder.mkdir()
        regions = PoolRegions.create(
            str(folder),
            stream_id=STREAM,
            epoch=epoch,
            nslots=NSLOTS,
            pools=[(1, STRIDE)],
            mode=0o600,
            prefault=False,
            require_hugepages=False,
            lock=False,
            now_ns=self.now_ns,
        )
        self._opened.append(regions)
        return regions

    def answer(self, epoch: int, **changes: Any) -> ShmAttachResponse:
        """Answer the attach that waits with the regions of an epoch."""
        (request,) = [message for message in self.control() if isinstance(message, ShmAttachRequest)]
        ring, pool = self.uris(epoch)
        fields: dict[str, Any] = {
            "code": ResponseCode.OK,
            "lease_id": LEASE,
            "stream_id": STREAM,
            "epoch": epoch,
            "layout_version": 1,
            "header_nslots": NSLOTS,
            "header_slot_bytes": 256,
            "payload_pools": (
                ShmAttachResponse.PayloadPool(pool_id=1, pool_nslots=NSLOTS, stride_bytes=STRIDE, region_uri=pool),
            ),
            "header_region_uri": ring,
        }
        response = ShmAttachResponse(correlation_id=request.correlation_id, **{**fields, **changes})
        self.tell(response)
        return response

    def announce(self, epoch: int, producer_id: int = 0, **changes: Any) -> ShmPoolAnnounce:
        ring, pool = self.uris(epoch)
        fields: dict[str, Any] = {
            "announce_timestamp_ns": self.now_ns,
            "announce_clock_domain": ClockDomain.MONOTONIC,
            "layout_version": 1,
            "header_nslots": NSLOTS,
            "header_slot_bytes": 256,
            "payload_pools": (
                ShmPoolAnnounce.PayloadPool(pool_id=1, pool_nslots=NSLOTS, stride_bytes=STRIDE, region_uri=pool),
            ),
            "header_region_uri": ring,
        }
        message = ShmPoolAnnounce(stream_id=STREAM, producer_id=producer_id, epoch=epoch, **{**fields, **changes})
        self.tell(message)
        return message

    def uris(self, epoch: int) -> tuple[str, str]:
        folder = self.folder / str(epoch)
        return f"shm:file?path={folder}/header.ring", f"shm:file?path={folder}/1.pool"

    def attach(self, epoch: int) -> PoolRegions:
        """Ask, and be granted."""
        self.tick()
        regions = self.make(epoch)
        self.answer(epoch)
        return regions

    def close(self) -> None:
        self.member.close()
        for regions in self._opened:
            regions.close()
        self.transport.close()
        self.peer.close()


def as_client(world: World[Any]) -> Client:
    return cast(Client, world.client)


@contextmanager
def producer_world(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[World[Producer]]:
    monkeypatch.setattr(producer_module, "PoolProducer", PlayedPool)
    world: World[Producer] = World(folder)
    world.play(Producer(as_client(world), STREAM, **{"shape": (4,), "dtype": "uint8", **options}))
    yield world
    world.close()


@contextmanager
def consumer_world(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    on_progress: Callable[[FrameProgress], None] | None = None,
    **options: Any,
) -> Iterator[World[Consumer]]:
    monkeypatch.setattr(consumer_module, "PoolConsumer", PlayedPool)
    monkeypatch.setattr(consumer_module, "FrameBatch", PlayedBatch)
    world: World[Consumer] = World(folder)
    world.play(Consumer(as_client(world), STREAM, on_progress=on_progress, **options))
    yield world
    world.close()
