# SPDX-License-Identifier: Apache-2.0
"""Writes and reads frames in any buffers: mapped region files or bytearrays (PROTOCOL 3.1, 3.4, 4.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from framegate.schema.errors import FrameTooLarge, InvalidValue, RegionBusy, RegionMismatch, SlotLapped
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.layout import commit, slot, superblock
from framegate.shmpool.layout.region_numbers import SLOT_BYTES, SUPERBLOCK_BYTES
from framegate.shmpool.layout.slot import NULL_META_VERSION, NULL_TIMESTAMP, DropCause, FrameHeader
from framegate.shmpool.layout.superblock import Expected
from framegate.shmpool.layout.tensor import DTYPES, Tensor

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ReferenceRegions:
    """The header ring and the payload pools of one stream in one epoch. ``pools`` maps (id, stride) to buffers."""

    def __init__(self, ring: Buffer, pools: Mapping[tuple[int, int], Buffer], expected: Expected) -> None:
        self.stream_id, self.epoch, self.nslots = expected.stream_id, expected.epoch, expected.nslots
        self._ring = _checked(ring, expected)
        self._pools = dict[int, memoryview]()
        self.strides = dict[int, int]()
        if self.nslots < 1 or self.nslots & (self.nslots - 1):
            raise RegionMismatch("the number of slots is no power of two", field="nslots", have=self.nslots)
        for (pool_id, stride_bytes), pool in pools.items():
            if stride_bytes < 64 or stride_bytes & (stride_bytes - 1):
                raise RegionMismatch("the stride is no power of two from 64 on", field="strideBytes", have=stride_bytes)
            self._pools[pool_id] = _checked(pool, replace(expected, pool_id=pool_id, stride_bytes=stride_bytes))
            self.strides[pool_id] = stride_bytes

    @classmethod
    def in_memory(cls, expected: Expected, strides: Mapping[int, int]) -> Self:
        """Make new regions in memory of this process, with superblocks and zeroed slots."""

        def made(wanted: Expected) -> bytearray:
            block = wanted.superblock(pid=0, now_ns=0).encode_body()
            return bytearray(block).ljust(wanted.file_bytes, b"\0")

        pools = {
            (number, stride): made(replace(expected, pool_id=number, stride_bytes=stride))
            for number, stride in strides.items()
        }
        return cls(made(expected), pools, expected)

    def index(self, seq: int) -> int:
        """The slot of frame ``seq`` in the ring and in every pool."""
        return seq & (self.nslots - 1)

    def slot(self, index: int) -> memoryview:
        """The header slot at ``index``."""
        start = SUPERBLOCK_BYTES + SLOT_BYTES * index
        return self._ring[start : start + SLOT_BYTES]

    def payload(self, pool_id: int, index: int) -> memoryview:
        """The payload slot at ``index`` of a pool."""
        start = SUPERBLOCK_BYTES + self.strides[pool_id] * index
        return self._pools[pool_id][start : start + self.strides[pool_id]]

    def pool_for(self, values_bytes: int) -> int | None:
        """The pool with the smallest stride that holds this many bytes; None if no pool does."""
        fitting = [(stride, pool_id) for pool_id, stride in self.strides.items() if stride >= values_bytes]
        return min(fitting)[1] if fitting else None


def _checked(region: Buffer, expected: Expected) -> memoryview:
    view = memoryview(region)
    if view.nbytes < expected.file_bytes:
        raise RegionMismatch("the region is shorter than its slots", field="size", want=expected.file_bytes)
    field = superblock.fault(view, expected)
    if field is not None:
        raise RegionMismatch("the superblock is not the one that was announced", field=field)
    return view


class ReferenceClaim:
    """A slot that the caller fills through ``array``. Leaving the block commits it; an exception abandons it."""

    def __init__(self, writer: ReferenceWriter, tensor: Tensor, pool_id: int, stamps: dict[str, Any]) -> None:
        self.seq = writer.next_seq
        self.descriptor: FrameDescriptor | None = None
        dtype = DTYPES[tensor.dtype]
        self.tensor, self.pool_id, self.values_bytes = tensor, pool_id, dtype.itemsize * int(np.prod(tensor.dims))
        self.payload = writer.regions.payload(pool_id, writer.regions.index(self.seq))[: self.values_bytes]
        self.array: np.ndarray[Any, Any] = np.ndarray(tensor.dims, dtype, self.payload)
        self._writer, self._stamps = writer, stamps

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        if kind is None:
            self.descriptor = self._writer.commit(self, **self._stamps)
        else:
            self._writer.abandon()


class ReferenceWriter:
    """The only writer of a stream's regions. It never waits for a reader, and begins at sequence 0 of the epoch."""

    def __init__(self, regions: ReferenceRegions) -> None:
        self.regions = regions
        self.next_seq = 0
        self.meta_version: int | None = None
        self._is_claimed = False

    def publish(self, array: np.ndarray[Any, Any], seq: int | None = None, **stamps: int | None) -> FrameDescriptor:
        """Claim a slot, copy the array, and commit it; return the message that announces the frame. ``stamps`` are
        those of ``commit``.
        """
        tensor = Tensor.of(array)
        claim = self._begin(tensor, seq, stamps)
        # "A" copies column by column if the array lies so, else row by row. Tensor.of decides the same way.
        claim.payload[:] = array.tobytes("A")
        return self.commit(claim, **stamps)

    def claim(self, shape: tuple[int, ...], dtype: str, seq: int | None = None, **stamps: int | None) -> ReferenceClaim:
        """Begin a frame that the caller fills. Its slot holds no frame until it is committed."""
        return self._begin(Tensor.contiguous(np.dtype(dtype), shape), seq, stamps)

    def _begin(self, tensor: Tensor, seq: int | None, stamps: dict[str, Any]) -> ReferenceClaim:
        if self._is_claimed:
            raise RegionBusy("a claimed frame is not finished yet", stream=self.regions.stream_id)
        self.next_seq = self._later(seq)
        values_bytes = DTYPES[tensor.dtype].itemsize * int(np.prod(tensor.dims))
        # Choose the pool before the slot is touched: if the frame fits nowhere, the old one stays readable.
        pool_id = self.regions.pool_for(values_bytes)
        if pool_id is None:
            raise FrameTooLarge("no pool has slots that large", limit_bytes=max(self.regions.strides.values()))
        commit.store(self.regions.slot(self.regions.index(self.next_seq)), commit.in_progress(self.next_seq))
        self._is_claimed = True
        return ReferenceClaim(self, tensor, pool_id, stamps)

    def _later(self, seq: int | None) -> int:
        wanted = self.next_seq if seq is None else seq
        if not self.next_seq <= wanted <= commit.SEQUENCE_MAX:
            raise InvalidValue("sequences only grow", next_seq=self.next_seq, found=wanted)
        return wanted

    def commit(
        self,
        claim: ReferenceClaim,
        *,
        timestamp_ns: int | None = None,
        descriptor_timestamp_ns: int | None = None,
        trace_id: int | None = None,
    ) -> FrameDescriptor:
        """Complete the frame. ``timestamp_ns`` is its capture time, ``descriptor_timestamp_ns`` its publish time."""
        index = self.regions.index(claim.seq)
        header = FrameHeader(
            claim.values_bytes,
            claim.pool_id,
            NULL_TIMESTAMP if timestamp_ns is None else timestamp_ns,
            NULL_META_VERSION if self.meta_version is None else self.meta_version,
            claim.tensor,
        )
        slot.write(self.regions.slot(index), index, header)
        commit.store(self.regions.slot(index), commit.committed(claim.seq))
        self._is_claimed = False
        self.next_seq += 1
        return FrameDescriptor(
            stream_id=self.regions.stream_id,
            epoch=self.regions.epoch,
            seq=claim.seq,
            timestamp_ns=descriptor_timestamp_ns,
            meta_version=self.meta_version,
            trace_id=trace_id or None,
        )

    def abandon(self) -> None:
        """Give up the open frame. Readers skip its slot. The next frame gets the same sequence, so none is missing."""
        self._is_claimed = False


@dataclass(frozen=True, slots=True)
class ReferenceFrame:
    """A frame that passed all checks. ``array`` is a loan: the writer may overwrite the slot at any time."""

    descriptor: FrameDescriptor
    header: FrameHeader
    slot: memoryview
    payload: memoryview

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return DTYPES[self.header.tensor.dtype]

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """A read-only view of the payload."""
        dims = self.header.tensor.dims
        # Strides of an empty array address nothing, and may be larger than numpy allows.
        return np.ndarray(dims, self.dtype, self.payload, strides=None if 0 in dims else self.header.strides)

    def is_valid(self) -> bool:
        """Whether the frame was not overwritten, so that everything read so far is valid."""
        return commit.load(self.slot) == commit.committed(self.descriptor.seq)

    def copy(self) -> np.ndarray[Any, Any]:
        """Copy the payload into an array of its own. Raises SlotLapped."""
        copied = self.array.copy("A")
        self._check_in_time()
        return copied

    def tobytes(self) -> bytes:
        """Copy the payload's bytes. Raises SlotLapped."""
        copied = bytes(self.payload)
        self._check_in_time()
        return copied

    def _check_in_time(self) -> None:
        if not self.is_valid():
            have_seq = commit.sequence(commit.load(self.slot))
            raise SlotLapped("the producer overwrote the frame", want_seq=self.descriptor.seq, have_seq=have_seq)


class ReferenceReader:
    """Reads a stream's frames by their descriptors, in one attempt each."""

    def __init__(self, regions: ReferenceRegions) -> None:
        self.regions = regions
        self._newest_words = [0] * regions.nslots

    def read(self, descriptor: FrameDescriptor) -> ReferenceFrame | DropCause:
        """Read the frame that a descriptor announces, or say why it is not taken. The descriptor must be of the
        regions' epoch.
        """
        index = self.regions.index(descriptor.seq)
        view = self.regions.slot(index)
        word = commit.load(view)
        if not commit.is_committed(word):
            return DropCause.IN_PROGRESS
        if word < self._newest_words[index]:
            return DropCause.WENT_BACK
        self._newest_words[index] = word
        copied = memoryview(bytes(view))
        if commit.load(view) != word:
            return DropCause.OVERWRITTEN
        if commit.sequence(word) != descriptor.seq:
            return DropCause.OTHER_FRAME
        header = slot.read(copied, index, self.regions.strides)
        if isinstance(header, DropCause):
            return header
        payload = self.regions.payload(header.pool_id, index)[: header.values_bytes].toreadonly()
        return ReferenceFrame(descriptor, header, view, payload)
