# SPDX-License-Identifier: Apache-2.0
"""A header slot: 256 bytes that say where a frame's payload is and what it holds (PROTOCOL 3.3).

The codecs write it. It is read field by field, because a reader must say which field is wrong, and the codecs would
refuse an unknown enum before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from struct import Struct
from typing import Final

from framegate.schema.wire import SlotHeader
from framegate.shmpool.layout.tensor import MAX_DIMS, Tensor

NULL_TIMESTAMP: Final = 2**64 - 1
NULL_META_VERSION: Final = 2**32 - 1
_HEADER_LENGTH: Final = 192
_TENSOR_MESSAGE: Final = (184, 52, 900, 1)
# Bytes 8 to 34: valuesLenBytes, payloadSlot, poolId, payloadOffset, timestampNs, metaVersion; 26 of padding follow,
# then at 60 the embedded length and the TensorHeader's message header.
_FIXED: Final = Struct("<8x I I H I Q I 26x I 4H")
# Bytes 72 to 147: dtype, majorOrder, ndims, padAlign, progressUnit, progressStrideBytes, dims, strides.
_TENSOR: Final = Struct("<72x h h B x B I 8i 8i")


class DropCause(StrEnum):
    """Why a frame was not taken, in the order in which the native twin counts the causes."""

    IN_PROGRESS = "in_progress"
    OVERWRITTEN = "overwritten"
    OTHER_FRAME = "other_frame"
    WENT_BACK = "went_back"
    UNKNOWN_POOL = "unknown_pool"
    PAYLOAD_SLOT = "payload_slot"
    PAYLOAD_OFFSET = "payload_offset"
    VALUES_BYTES = "values_bytes"
    HEADER_LENGTH = "header_length"
    TENSOR_MESSAGE = "tensor_message"
    DTYPE = "dtype"
    MAJOR_ORDER = "major_order"
    NDIMS = "ndims"
    DIMS = "dims"
    STRIDES = "strides"
    PROGRESS = "progress"
    EXTENT = "extent"


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """What a slot says of its frame. A reader's header is checked, and has its strides inferred."""

    values_bytes: int
    pool_id: int
    timestamp_ns: int
    meta_version: int
    tensor: Tensor
    strides: tuple[int, ...] = ()


def write(slot: memoryview, index: int, header: FrameHeader) -> None:
    """Write all of the slot but its commit word, so that nothing of an earlier frame stays."""
    whole = SlotHeader(
        seq_commit=0,
        values_len_bytes=header.values_bytes,
        payload_slot=index,
        pool_id=header.pool_id,
        payload_offset=0,
        timestamp_ns=header.timestamp_ns,
        meta_version=header.meta_version,
        header_bytes=header.tensor.header().encode(),
    )
    slot[8:] = whole.encode_body()[8:]


def read(slot: memoryview, index: int, strides_of_pools: dict[int, int]) -> FrameHeader | DropCause:
    """Read the header of the frame at ``index`` of the ring. The strides of the mapped pools are given by pool id."""
    values_bytes, payload_slot, pool_id, payload_offset, timestamp_ns, meta_version, *embedded = _FIXED.unpack_from(
        slot
    )
    if pool_id not in strides_of_pools:
        return DropCause.UNKNOWN_POOL
    if values_bytes > strides_of_pools[pool_id]:
        return DropCause.VALUES_BYTES
    if payload_slot != index:
        return DropCause.PAYLOAD_SLOT
    if payload_offset != 0:
        return DropCause.PAYLOAD_OFFSET
    if embedded[0] != _HEADER_LENGTH:
        return DropCause.HEADER_LENGTH
    if tuple(embedded[1:]) != _TENSOR_MESSAGE:
        return DropCause.TENSOR_MESSAGE
    tensor = _tensor(slot)
    strides = tensor.resolved(values_bytes)
    if isinstance(strides, str):
        return DropCause(strides)
    return FrameHeader(values_bytes, pool_id, timestamp_ns, meta_version, tensor, strides)


def _tensor(slot: memoryview) -> Tensor:
    dtype, major_order, ndims, unit, progress_stride_bytes, *numbers = _TENSOR.unpack_from(slot)
    dims, strides = numbers[:MAX_DIMS], numbers[MAX_DIMS:]
    # From ndims on, dims and strides are ignored, whatever they hold.
    return Tensor(dtype, major_order, tuple(dims[:ndims]), tuple(strides[:ndims]), ndims, unit, progress_stride_bytes)
