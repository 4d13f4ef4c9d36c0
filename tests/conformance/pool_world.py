# SPDX-License-Identifier: Apache-2.0
"""Region files of a test's own, with writers and readers of both implementations over them.

A writer gives the descriptor of each frame, and a reader is asked about one descriptor at a time, so any writer goes
with any reader. The native ones speak through a media driver: what a native producer sends is taken from its stream,
and what a native consumer hears is offered to it on another.
"""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pytest
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.spec.pool import DropCause, Expected, ReferenceReader, ReferenceRegions, ReferenceWriter

from framegate._native import AeronClient, AeronPublication, Frame, PoolConsumer, PoolProducer, PoolRegions
from tests.own_folder import own_folder

Array = np.ndarray[Any, Any]

WATCHDOG_NS: Final = 30_000_000_000
STREAM_ID: Final = 10_000
EPOCH: Final = 7
RING: Final = Expected(stream_id=STREAM_ID, epoch=EPOCH, nslots=4)
POOLS: Final = {1: 64, 2: 256, 3: 4096}
_STREAM_IDS: Final = itertools.count(30_000)


class View(Protocol):
    """What a frame of either implementation can do."""

    @property
    def array(self) -> Array: ...
    def is_valid(self) -> bool: ...
    def copy(self) -> Array: ...
    def tobytes(self) -> bytes: ...


@dataclass(frozen=True)
class Taken:
    """A frame that a reader took, and its view."""

    seq: int
    timestamp_ns: int | None
    descriptor_timestamp_ns: int | None
    meta_version: int | None
    trace_id: int | None
    dtype: str
    shape: tuple[int, ...]
    view: View


class PoolWriter(Protocol):
    """A writer of either implementation, from sequence 0."""

    def publish(
        self,
        array: Array,
        *,
        timestamp_ns: int | None = None,
        descriptor_timestamp_ns: int | None = None,
        trace_id: int = 0,
        seq: int | None = None,
    ) -> FrameDescriptor: ...
    def fill(self, array: Array) -> FrameDescriptor:
        """Publish through a claim."""
        ...

    def abandon(self, array: Array) -> None:
        """Fill a claim, and give it up."""
        ...

    def set_meta_version(self, version: int | None) -> None: ...


class PoolReader(Protocol):
    """A reader of either implementation that has seen nothing."""

    def read(self, descriptor: FrameDescriptor) -> Taken | str: ...


_CHANNEL: Final = "aeron:ipc?term-length=64k"


class Pipe:
    """A stream of the media driver: what goes in, and what has come out."""

    def __init__(self, client: AeronClient) -> None:
        self._client, self._stream_id = client, next(_STREAM_IDS)
        self.subscription = client.add_subscription(_CHANNEL, self._stream_id, idle="backoff", timeout_ns=WATCHDOG_NS)
        self.publication = self.beside()
        until(lambda: self.publication.is_connected and self.subscription.image_count == 1, "connected")

    def beside(self) -> AeronPublication:
        """One more publication of the stream."""
        return self._client.add_publication(
            _CHANNEL, self._stream_id, exclusive=True, attempts=1000, deadline_ns=WATCHDOG_NS, timeout_ns=WATCHDOG_NS
        )

    def take(self) -> bytes:
        """The one message that was sent."""
        messages = self.subscription.poll(timeout_ns=WATCHDOG_NS)
        assert len(messages) == 1
        return bytes(messages[0].data)


class Pipes:
    """The streams of a native producer and of a native consumer, used by one test after the other."""

    def __init__(self, aeron_dir: str) -> None:
        self._client = AeronClient(aeron_dir, driver_timeout_ms=10_000, client_name="pool conformance")
        self.from_producer, self.to_consumer = Pipe(self._client), Pipe(self._client)

    def drain(self) -> None:
        """Forget what a test left unread."""
        for pipe in (self.from_producer, self.to_consumer):
            while pipe.subscription.poll():
                pass

    def close(self) -> None:
        self._client.close()


class PoolWorld:
    """The regions of one stream, and everybody who uses them."""

    def __init__(self, folder: Path, pipes: Pipes, ring: Expected, strides: Mapping[int, int]) -> None:
        self.folder, self.ring, self.strides, self._pipes = folder, ring, strides, pipes
        self.native = regions_in(folder / "regions", ring, strides)
        self._files = [memoryview(mapped(path)) for path in self.native.paths]
        ring_file, *pool_files = self._files
        self.reference = ReferenceRegions(ring_file, dict(zip(strides.items(), pool_files, strict=True)), ring)

    def writer(self, kind: str) -> PoolWriter:
        """The stream's writer; the one before it must have ended."""
        return _ReferenceWriter(self.reference) if kind == "reference" else _NativeWriter(self.native, self._pipes)

    def reader(self, kind: str) -> PoolReader:
        """A reader. Only one native one at a time."""
        return _ReferenceReader(self.reference) if kind == "reference" else NativeReader(self.native, self._pipes)

    def slot(self, index: int) -> memoryview:
        """The 256 bytes of a header slot, for a test that writes them itself."""
        return self.reference.slot(index)

    def superblocks(self) -> list[memoryview]:
        """The first 64 bytes of each region, the ring's first."""
        return [file[:64] for file in self._files]


@contextmanager
def pool_world(pipes: Pipes, ring: Expected = RING, strides: Mapping[int, int] = POOLS) -> Iterator[PoolWorld]:
    """A world in shared memory, removed afterwards."""
    with own_folder("pool") as folder:
        pipes.drain()
        yield PoolWorld(folder, pipes, ring, strides)


def regions_in(folder: Path, ring: Expected = RING, strides: Mapping[int, int] = POOLS) -> PoolRegions:
    """The regions of a stream, made as a driver makes them."""
    return PoolRegions.create(
        str(folder),
        stream_id=ring.stream_id,
        epoch=ring.epoch,
        nslots=ring.nslots,
        pools=list(strides.items()),
        mode=0o600,
        prefault=False,
        require_hugepages=False,
        lock=False,
        now_ns=1,
    )


def mapped(path: str) -> mmap.mmap:
    """A region file, for reading and writing."""
    with Path(path).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition under a watchdog."""
    deadline_ns = monotonic_ns() + WATCHDOG_NS
    while not condition():
        if monotonic_ns() > deadline_ns:
            pytest.fail(f"not {what} within {WATCHDOG_NS / 1e9:g} s")
        sleep_ns(10_000)


class _Abandoned(Exception):
    """Leaves a claim's block before it is done."""


class _ReferenceWriter:
    def __init__(self, regions: ReferenceRegions) -> None:
        self._writer = ReferenceWriter(regions)

    def publish(self, array: Array, *, seq: int | None = None, **stamps: int | None) -> FrameDescriptor:
        return self._writer.publish(array, seq, **stamps)

    def fill(self, array: Array) -> FrameDescriptor:
        with self._writer.claim(array.shape, array.dtype.str) as claim:
            claim.array[...] = array
        assert claim.descriptor is not None
        return claim.descriptor

    def abandon(self, array: Array) -> None:
        with suppress(_Abandoned), self._writer.claim(array.shape, array.dtype.str) as claim:
            claim.array[...] = array
            raise _Abandoned

    def set_meta_version(self, version: int | None) -> None:
        self._writer.meta_version = version


class _NativeWriter:
    def __init__(self, regions: PoolRegions, pipes: Pipes) -> None:
        self._pipe = pipes.from_producer
        self._producer = PoolProducer(self._pipe.publication, regions.stream_id, dtype=None, shape=None)
        self._producer.attach(regions)

    def publish(
        self,
        array: Array,
        *,
        timestamp_ns: int | None = None,
        descriptor_timestamp_ns: int | None = None,
        trace_id: int = 0,
        seq: int | None = None,
    ) -> FrameDescriptor:
        sent = self._producer.publish(
            array, timestamp_ns, descriptor_timestamp_ns=descriptor_timestamp_ns, trace_id=trace_id, seq=seq
        )
        descriptor = FrameDescriptor.decode(self._pipe.take())
        assert descriptor.seq == sent
        return descriptor

    def fill(self, array: Array) -> FrameDescriptor:
        with self._producer.claim(None, shape=array.shape, dtype=array.dtype.name) as claim:
            claim.array[...] = array
        return FrameDescriptor.decode(self._pipe.take())

    def abandon(self, array: Array) -> None:
        with (
            suppress(_Abandoned),
            self._producer.claim(None, shape=array.shape, dtype=array.dtype.name) as claim,
        ):
            claim.array[...] = array
            raise _Abandoned

    def set_meta_version(self, version: int | None) -> None:
        self._producer.set_meta_version(version)


class _ReferenceReader:
    def __init__(self, regions: ReferenceRegions) -> None:
        self._reader = ReferenceReader(regions)

    def read(self, descriptor: FrameDescriptor) -> Taken | str:
        frame = self._reader.read(descriptor)
        if isinstance(frame, DropCause):
            return str(frame)
        stamp, version = frame.header.timestamp_ns, frame.header.meta_version
        return Taken(
            seq=frame.descriptor.seq,
            timestamp_ns=None if stamp == 2**64 - 1 else stamp,
            descriptor_timestamp_ns=frame.descriptor.timestamp_ns,
            meta_version=None if version == 2**32 - 1 else version,
            trace_id=frame.descriptor.trace_id,
            dtype=frame.dtype.name,
            shape=frame.header.tensor.dims,
            view=frame,
        )


class NativeReader:
    """A consumer, and the counters that say what became of each descriptor."""

    def __init__(self, regions: PoolRegions, pipes: Pipes) -> None:
        self._pipe = pipes.to_consumer
        self._consumer = PoolConsumer(self._pipe.subscription, regions.stream_id)
        self._consumer.attach(regions)

    def read(self, descriptor: FrameDescriptor) -> Taken | str:
        before = self._consumer.counters()
        assert self._pipe.publication.offer(descriptor.encode()) > 0
        frames = list[Frame]()

        def is_judged() -> bool:
            frames.extend(self._consumer.poll())
            return bool(frames) or self._consumer.counters() != before

        until(is_judged, "judged")
        return _taken(frames[0]) if frames else self._cause(before)

    def _cause(self, before: dict[str, int]) -> str:
        counters = self._consumer.counters()
        moved = [name for name in counters if counters[name] != before[name]]
        # A slot that was never committed belies its descriptor, beside the cause.
        causes = [name for name in moved if name not in ("gap_drops", "late_drops", "false_descriptors")]
        assert len(causes) == 1, moved
        return causes[0].removeprefix("drop_")

    def attach(self, regions: PoolRegions) -> None:
        """Read another epoch's regions from its first descriptor on."""
        self._consumer.attach(regions)

    def counters(self) -> dict[str, int]:
        return self._consumer.counters()


def _taken(frame: Frame) -> Taken:
    return Taken(
        seq=frame.seq,
        timestamp_ns=frame.timestamp_ns,
        descriptor_timestamp_ns=frame.descriptor_timestamp_ns,
        meta_version=frame.meta_version,
        trace_id=frame.trace_id,
        dtype=frame.dtype,
        shape=frame.shape,
        view=frame,
    )
