# SPDX-License-Identifier: Apache-2.0
# Generated from schema/xml/wire.xml by `python -m dev.codegen`. Do not edit.
"""Codecs of schema 900 (shm.tensorpool.control), version 1."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, ClassVar, Final

from framegate.schema.codec import (
    DIMENSIONS,
    HEADER,
    REFUSED,
    Message,
    Octets,
    Raw,
    cut_short,
    entries_with_data,
    member,
    octets,
    open_message,
    packed_data,
    refuse,
    text,
    var_data,
    view_of,
    write_into,
)
from framegate.schema.layout import Data, Field, Group, structured_dtype

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from typing_extensions import Buffer

__all__ = [
    "MESSAGES",
    "SCHEMA_ID",
    "SCHEMA_VERSION",
    "SEMANTIC_VERSION",
    "Bool",
    "ClockDomain",
    "ConsumerConfig",
    "ConsumerHello",
    "ControlResponse",
    "DataSourceAnnounce",
    "DataSourceMeta",
    "Dtype",
    "FrameDescriptor",
    "FrameProgress",
    "FrameProgressState",
    "MajorOrder",
    "MetaBlobAnnounce",
    "MetaBlobChunk",
    "MetaBlobComplete",
    "Mode",
    "ProgressUnit",
    "QosConsumer",
    "QosProducer",
    "RegionType",
    "ResponseCode",
    "ShmPoolAnnounce",
    "ShmRegionSuperblock",
    "SlotHeader",
    "TensorHeader",
]

SCHEMA_ID: Final = 900
SCHEMA_VERSION: Final = 1
SEMANTIC_VERSION: Final = "1.1"


class Bool(IntEnum):
    """Bool, carried as uint8."""

    FALSE = 0
    TRUE = 1


class ClockDomain(IntEnum):
    """ClockDomain, carried as uint8."""

    MONOTONIC = 1
    REALTIME_SYNCED = 2


class Dtype(IntEnum):
    """Dtype, carried as int16."""

    UNKNOWN = 0
    UINT8 = 1
    INT8 = 2
    UINT16 = 3
    INT16 = 4
    UINT32 = 5
    INT32 = 6
    UINT64 = 7
    INT64 = 8
    FLOAT32 = 9
    FLOAT64 = 10
    BOOLEAN = 11
    BYTES = 13
    BIT = 14


class FrameProgressState(IntEnum):
    """FrameProgressState, carried as uint8."""

    UNKNOWN = 0
    STARTED = 1
    PROGRESS = 2
    COMPLETE = 3


class MajorOrder(IntEnum):
    """MajorOrder, carried as int16."""

    UNKNOWN = 0
    ROW = 1
    COLUMN = 2


class Mode(IntEnum):
    """Mode, carried as uint8."""

    STREAM = 1
    RATE_LIMITED = 2


class ProgressUnit(IntEnum):
    """ProgressUnit, carried as uint8."""

    NONE = 0
    ROWS = 1
    COLUMNS = 2


class RegionType(IntEnum):
    """RegionType, carried as int16."""

    HEADER_RING = 1
    PAYLOAD_POOL = 2


class ResponseCode(IntEnum):
    """ResponseCode, carried as int32."""

    OK = 0
    UNSUPPORTED = 1
    INVALID_PARAMS = 2
    REJECTED = 3
    INTERNAL_ERROR = 4


_BOOL: Final = {int(value): value for value in Bool}
_CLOCK_DOMAIN: Final = {int(value): value for value in ClockDomain}
_DTYPE: Final = {int(value): value for value in Dtype}
_FRAME_PROGRESS_STATE: Final = {int(value): value for value in FrameProgressState}
_MAJOR_ORDER: Final = {int(value): value for value in MajorOrder}
_MODE: Final = {int(value): value for value in Mode}
_PROGRESS_UNIT: Final = {int(value): value for value in ProgressUnit}
_REGION_TYPE: Final = {int(value): value for value in RegionType}
_RESPONSE_CODE: Final = {int(value): value for value in ResponseCode}
_SHM_POOL_ANNOUNCE: Final = Struct("<IIQQBIIH")
_SHM_POOL_ANNOUNCE_PAYLOAD_POOL: Final = Struct("<HII")
_CONSUMER_HELLO: Final = Struct("<IIBBBIIIIIII")
_CONSUMER_CONFIG: Final = Struct("<IIBBII")
_FRAME_DESCRIPTOR: Final = Struct("<IQQQIQ")
_QOS_CONSUMER: Final = Struct("<IIQQQQB")
_QOS_PRODUCER: Final = Struct("<IIQQI")
_DATA_SOURCE_ANNOUNCE: Final = Struct("<IIQI")
_DATA_SOURCE_META: Final = Struct("<IIQ")
_DATA_SOURCE_META_ATTRIBUTE: Final = Struct("<")
_CONTROL_RESPONSE: Final = Struct("<qi")
_META_BLOB_ANNOUNCE: Final = Struct("<IIIQQ")
_FRAME_PROGRESS: Final = Struct("<IQQQB")
_META_BLOB_CHUNK: Final = Struct("<IIQ")
_META_BLOB_COMPLETE: Final = Struct("<IIQ")
_SHM_REGION_SUPERBLOCK: Final = Struct("<QIQIhHIIIQQQ")
_SLOT_HEADER: Final = Struct("<QIIHIQI26s")
_TENSOR_HEADER: Final = Struct("<hhBBBI8i8i109s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmPoolAnnounce:
    """Where a stream's regions lie; soft state, about once a second.

    Template 1: a block of 35 bytes, then groups and variable data.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class PayloadPool:
        """One entry of ``payload_pools``."""

        BLOCK_LENGTH: ClassVar[int] = 10
        LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
            Field("pool_id", "uint16", 0),
            Field("pool_nslots", "uint32", 2),
            Field("stride_bytes", "uint32", 6),
            Data("region_uri", True, 1073741824),
        )

        pool_id: int
        pool_nslots: int
        stride_bytes: int
        region_uri: str = ""

        def _pack(self) -> Octets:
            fixed = _SHM_POOL_ANNOUNCE_PAYLOAD_POOL.pack(self.pool_id, self.pool_nslots, self.stride_bytes)
            parts = [fixed]
            parts.append(packed_data(1073741824, self.region_uri.encode("ascii")))
            return b"".join(parts)

        def _length(self) -> int:
            return 14 + len(self.region_uri)

        @classmethod
        def _make(cls, raw: Raw, data: list[memoryview]) -> Self:
            return cls(
                pool_id=raw[0],
                pool_nslots=raw[1],
                stride_bytes=raw[2],
                region_uri=text(data[0], cls, "region_uri"),
            )

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 1
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 35
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("producer_id", "uint32", 4),
        Field("epoch", "uint64", 8),
        Field("announce_timestamp_ns", "uint64", 16),
        Field("announce_clock_domain", "uint8", 24, enum=ClockDomain),
        Field("layout_version", "uint32", 25),
        Field("header_nslots", "uint32", 29),
        Field("header_slot_bytes", "uint16", 33),
        Group("payload_pools", PayloadPool),
        Data("header_region_uri", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(35, 1, 900, 1)

    stream_id: int
    producer_id: int
    epoch: int
    announce_timestamp_ns: int
    announce_clock_domain: ClockDomain
    layout_version: int
    header_nslots: int
    header_slot_bytes: int
    payload_pools: tuple[PayloadPool, ...] = ()
    header_region_uri: str = ""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        if self.announce_clock_domain not in _CLOCK_DOMAIN:
            raise ValueError("enum")
        fixed = _SHM_POOL_ANNOUNCE.pack(
            self.stream_id,
            self.producer_id,
            self.epoch,
            self.announce_timestamp_ns,
            self.announce_clock_domain,
            self.layout_version,
            self.header_nslots,
            self.header_slot_bytes,
        )
        parts = [fixed]
        payload_pools = self.payload_pools
        if len(payload_pools) > 65534:
            raise ValueError("count")
        parts.append(DIMENSIONS.pack(10, len(payload_pools)))
        parts.extend([self.PayloadPool._pack(entry) for entry in payload_pools])
        parts.append(packed_data(1073741824, self.header_region_uri.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 51
        total += sum([self.PayloadPool._length(entry) for entry in self.payload_pools])
        total += len(self.header_region_uri)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmPoolAnnounce", view, position, block)
        raw = _SHM_POOL_ANNOUNCE.unpack_from(view, position)
        payload_pools, end = entries_with_data(
            view, end, _SHM_POOL_ANNOUNCE_PAYLOAD_POOL, (1073741824,), "ShmPoolAnnounce.payload_pools"
        )
        header_region_uri, _ = var_data(view, end, 1073741824, "ShmPoolAnnounce.header_region_uri")
        return cls(
            stream_id=raw[0],
            producer_id=raw[1],
            epoch=raw[2],
            announce_timestamp_ns=raw[3],
            announce_clock_domain=member(_CLOCK_DOMAIN, raw[4], cls, "announce_clock_domain"),
            layout_version=raw[5],
            header_nslots=raw[6],
            header_slot_bytes=raw[7],
            payload_pools=tuple([cls.PayloadPool._make(*entry) for entry in payload_pools]),
            header_region_uri=text(header_region_uri, cls, "header_region_uri"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerHello:
    """A consumer's capabilities and wishes.

    Template 2: a block of 39 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 2
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 39
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("consumer_id", "uint32", 4),
        Field("supports_shm", "uint8", 8, enum=Bool),
        Field("supports_progress", "uint8", 9, enum=Bool),
        Field("mode", "uint8", 10, enum=Mode),
        Field("max_rate_hz", "uint32", 11),
        Field("expected_layout_version", "uint32", 15),
        Field("progress_interval_us", "uint32", 19, null=4294967295, is_optional=True),
        Field("progress_bytes_delta", "uint32", 23, null=4294967295, is_optional=True),
        Field("progress_major_delta_units", "uint32", 27, null=4294967295, is_optional=True),
        Field("descriptor_stream_id", "uint32", 31),
        Field("control_stream_id", "uint32", 35),
        Data("descriptor_channel", True, 1073741824),
        Data("control_channel", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(39, 2, 900, 1)

    stream_id: int
    consumer_id: int
    supports_shm: Bool
    supports_progress: Bool
    mode: Mode
    max_rate_hz: int  # 0: unlimited
    expected_layout_version: int
    progress_interval_us: int | None = None
    progress_bytes_delta: int | None = None
    progress_major_delta_units: int | None = None
    descriptor_stream_id: int
    control_stream_id: int
    descriptor_channel: str = ""
    control_channel: str = ""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        if self.supports_shm not in _BOOL:
            raise ValueError("enum")
        if self.supports_progress not in _BOOL:
            raise ValueError("enum")
        if self.mode not in _MODE:
            raise ValueError("enum")
        progress_interval_us: int | None = self.progress_interval_us
        if progress_interval_us is None:
            progress_interval_us = 4294967295
        elif progress_interval_us == 4294967295:
            raise ValueError("null")
        progress_bytes_delta: int | None = self.progress_bytes_delta
        if progress_bytes_delta is None:
            progress_bytes_delta = 4294967295
        elif progress_bytes_delta == 4294967295:
            raise ValueError("null")
        progress_major_delta_units: int | None = self.progress_major_delta_units
        if progress_major_delta_units is None:
            progress_major_delta_units = 4294967295
        elif progress_major_delta_units == 4294967295:
            raise ValueError("null")
        fixed = _CONSUMER_HELLO.pack(
            self.stream_id,
            self.consumer_id,
            self.supports_shm,
            self.supports_progress,
            self.mode,
            self.max_rate_hz,
            self.expected_layout_version,
            progress_interval_us,
            progress_bytes_delta,
            progress_major_delta_units,
            self.descriptor_stream_id,
            self.control_stream_id,
        )
        parts = [fixed]
        parts.append(packed_data(1073741824, self.descriptor_channel.encode("ascii")))
        parts.append(packed_data(1073741824, self.control_channel.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 55
        total += len(self.descriptor_channel)
        total += len(self.control_channel)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ConsumerHello", view, position, block)
        raw = _CONSUMER_HELLO.unpack_from(view, position)
        descriptor_channel, end = var_data(view, end, 1073741824, "ConsumerHello.descriptor_channel")
        control_channel, _ = var_data(view, end, 1073741824, "ConsumerHello.control_channel")
        return cls(
            stream_id=raw[0],
            consumer_id=raw[1],
            supports_shm=member(_BOOL, raw[2], cls, "supports_shm"),
            supports_progress=member(_BOOL, raw[3], cls, "supports_progress"),
            mode=member(_MODE, raw[4], cls, "mode"),
            max_rate_hz=raw[5],
            expected_layout_version=raw[6],
            progress_interval_us=None if raw[7] == 4294967295 else raw[7],
            progress_bytes_delta=None if raw[8] == 4294967295 else raw[8],
            progress_major_delta_units=None if raw[9] == 4294967295 else raw[9],
            descriptor_stream_id=raw[10],
            control_stream_id=raw[11],
            descriptor_channel=text(descriptor_channel, cls, "descriptor_channel"),
            control_channel=text(control_channel, cls, "control_channel"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """The streams, mode and fallback that a consumer is given.

    Template 3: a block of 18 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 3
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 18
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("consumer_id", "uint32", 4),
        Field("use_shm", "uint8", 8, enum=Bool),
        Field("mode", "uint8", 9, enum=Mode),
        Field("descriptor_stream_id", "uint32", 10),
        Field("control_stream_id", "uint32", 14),
        Data("payload_fallback_uri", True, 1073741824),
        Data("descriptor_channel", True, 1073741824),
        Data("control_channel", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(18, 3, 900, 1)

    stream_id: int
    consumer_id: int
    use_shm: Bool
    mode: Mode
    descriptor_stream_id: int
    control_stream_id: int
    payload_fallback_uri: str = ""
    descriptor_channel: str = ""
    control_channel: str = ""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        if self.use_shm not in _BOOL:
            raise ValueError("enum")
        if self.mode not in _MODE:
            raise ValueError("enum")
        fixed = _CONSUMER_CONFIG.pack(
            self.stream_id, self.consumer_id, self.use_shm, self.mode, self.descriptor_stream_id, self.control_stream_id
        )
        parts = [fixed]
        parts.append(packed_data(1073741824, self.payload_fallback_uri.encode("ascii")))
        parts.append(packed_data(1073741824, self.descriptor_channel.encode("ascii")))
        parts.append(packed_data(1073741824, self.control_channel.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 38
        total += len(self.payload_fallback_uri)
        total += len(self.descriptor_channel)
        total += len(self.control_channel)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ConsumerConfig", view, position, block)
        raw = _CONSUMER_CONFIG.unpack_from(view, position)
        payload_fallback_uri, end = var_data(view, end, 1073741824, "ConsumerConfig.payload_fallback_uri")
        descriptor_channel, end = var_data(view, end, 1073741824, "ConsumerConfig.descriptor_channel")
        control_channel, _ = var_data(view, end, 1073741824, "ConsumerConfig.control_channel")
        return cls(
            stream_id=raw[0],
            consumer_id=raw[1],
            use_shm=member(_BOOL, raw[2], cls, "use_shm"),
            mode=member(_MODE, raw[3], cls, "mode"),
            descriptor_stream_id=raw[4],
            control_stream_id=raw[5],
            payload_fallback_uri=text(payload_fallback_uri, cls, "payload_fallback_uri"),
            descriptor_channel=text(descriptor_channel, cls, "descriptor_channel"),
            control_channel=text(control_channel, cls, "control_channel"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameDescriptor:
    """A frame has been committed.

    Template 4: a block of 40 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 4
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 40
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("epoch", "uint64", 4),
        Field("seq", "uint64", 12),
        Field("timestamp_ns", "uint64", 20, null=18446744073709551615, is_optional=True),
        Field("meta_version", "uint32", 28, null=4294967295, is_optional=True),
        Field("trace_id", "uint64", 32, null=0, is_optional=True),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(40, 4, 900, 1)

    stream_id: int
    epoch: int
    seq: int
    timestamp_ns: int | None = None  # Publish time
    meta_version: int | None = None
    trace_id: int | None = None

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(FrameDescriptor)

    def _pack(self) -> Octets:
        timestamp_ns: int | None = self.timestamp_ns
        if timestamp_ns is None:
            timestamp_ns = 18446744073709551615
        elif timestamp_ns == 18446744073709551615:
            raise ValueError("null")
        meta_version: int | None = self.meta_version
        if meta_version is None:
            meta_version = 4294967295
        elif meta_version == 4294967295:
            raise ValueError("null")
        trace_id: int | None = self.trace_id
        if trace_id is None:
            trace_id = 0
        return _FRAME_DESCRIPTOR.pack(self.stream_id, self.epoch, self.seq, timestamp_ns, meta_version, trace_id)

    def _length(self) -> int:
        return 48

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("FrameDescriptor", view, position, block)
        raw = _FRAME_DESCRIPTOR.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            epoch=raw[1],
            seq=raw[2],
            timestamp_ns=None if raw[3] == 18446744073709551615 else raw[3],
            meta_version=None if raw[4] == 4294967295 else raw[4],
            trace_id=None if raw[5] == 0 else raw[5],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QosConsumer:
    """What a consumer has seen and lost; also its sign of life.

    Template 5: a block of 41 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 5
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 41
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("consumer_id", "uint32", 4),
        Field("epoch", "uint64", 8),
        Field("last_seq_seen", "uint64", 16),
        Field("drops_gap", "uint64", 24),
        Field("drops_late", "uint64", 32),
        Field("mode", "uint8", 40, enum=Mode),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(41, 5, 900, 1)

    stream_id: int
    consumer_id: int
    epoch: int
    last_seq_seen: int
    drops_gap: int
    drops_late: int
    mode: Mode

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(QosConsumer)

    def _pack(self) -> Octets:
        if self.mode not in _MODE:
            raise ValueError("enum")
        return _QOS_CONSUMER.pack(
            self.stream_id, self.consumer_id, self.epoch, self.last_seq_seen, self.drops_gap, self.drops_late, self.mode
        )

    def _length(self) -> int:
        return 49

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("QosConsumer", view, position, block)
        raw = _QOS_CONSUMER.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            consumer_id=raw[1],
            epoch=raw[2],
            last_seq_seen=raw[3],
            drops_gap=raw[4],
            drops_late=raw[5],
            mode=member(_MODE, raw[6], cls, "mode"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QosProducer:
    """How far a producer is.

    Template 6: a block of 28 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 6
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 28
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("producer_id", "uint32", 4),
        Field("epoch", "uint64", 8),
        Field("current_seq", "uint64", 16),
        Field("watermark", "uint32", 24, null=4294967295, is_optional=True),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(28, 6, 900, 1)

    stream_id: int
    producer_id: int
    epoch: int
    current_seq: int
    watermark: int | None = None

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(QosProducer)

    def _pack(self) -> Octets:
        watermark: int | None = self.watermark
        if watermark is None:
            watermark = 4294967295
        elif watermark == 4294967295:
            raise ValueError("null")
        return _QOS_PRODUCER.pack(self.stream_id, self.producer_id, self.epoch, self.current_seq, watermark)

    def _length(self) -> int:
        return 36

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("QosProducer", view, position, block)
        raw = _QOS_PRODUCER.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            producer_id=raw[1],
            epoch=raw[2],
            current_seq=raw[3],
            watermark=None if raw[4] == 4294967295 else raw[4],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSourceAnnounce:
    """Name and summary of a data source.

    Template 7: a block of 20 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 7
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 20
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("producer_id", "uint32", 4),
        Field("epoch", "uint64", 8),
        Field("meta_version", "uint32", 16),
        Data("name", True, 1073741824),
        Data("summary", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(20, 7, 900, 1)

    stream_id: int
    producer_id: int
    epoch: int
    meta_version: int
    name: str = ""
    summary: str = ""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        fixed = _DATA_SOURCE_ANNOUNCE.pack(self.stream_id, self.producer_id, self.epoch, self.meta_version)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.name.encode("ascii")))
        parts.append(packed_data(1073741824, self.summary.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 36
        total += len(self.name)
        total += len(self.summary)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("DataSourceAnnounce", view, position, block)
        raw = _DATA_SOURCE_ANNOUNCE.unpack_from(view, position)
        name, end = var_data(view, end, 1073741824, "DataSourceAnnounce.name")
        summary, _ = var_data(view, end, 1073741824, "DataSourceAnnounce.summary")
        return cls(
            stream_id=raw[0],
            producer_id=raw[1],
            epoch=raw[2],
            meta_version=raw[3],
            name=text(name, cls, "name"),
            summary=text(summary, cls, "summary"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSourceMeta:
    """Attributes of a data source under one metadata version.

    Template 8: a block of 16 bytes, then groups.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Attribute:
        """One entry of ``attributes``."""

        BLOCK_LENGTH: ClassVar[int] = 0
        LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
            Data("key", True, 1073741824),
            Data("format", True, 1073741824),
            Data("value", False, 1073741824),
        )

        key: str = ""
        format: str = ""
        value: Octets = b""

        def _pack(self) -> Octets:
            parts: list[Octets] = []
            parts.append(packed_data(1073741824, self.key.encode("ascii")))
            parts.append(packed_data(1073741824, self.format.encode("ascii")))
            parts.append(packed_data(1073741824, octets(self.value)))
            return b"".join(parts)

        def _length(self) -> int:
            total = 12
            total += len(self.key)
            total += len(self.format)
            total += len(octets(self.value))
            return total

        @classmethod
        def _make(cls, raw: Raw, data: list[memoryview]) -> Self:
            return cls(
                key=text(data[0], cls, "key"),
                format=text(data[1], cls, "format"),
                value=Octets(data[2]),
            )

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 8
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 16
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("meta_version", "uint32", 4),
        Field("timestamp_ns", "uint64", 8),
        Group("attributes", Attribute),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(16, 8, 900, 1)

    stream_id: int
    meta_version: int
    timestamp_ns: int
    attributes: tuple[Attribute, ...] = ()

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        fixed = _DATA_SOURCE_META.pack(self.stream_id, self.meta_version, self.timestamp_ns)
        parts = [fixed]
        attributes = self.attributes
        if len(attributes) > 65534:
            raise ValueError("count")
        parts.append(DIMENSIONS.pack(0, len(attributes)))
        parts.extend([self.Attribute._pack(entry) for entry in attributes])
        return b"".join(parts)

    def _length(self) -> int:
        return 28 + sum([self.Attribute._length(entry) for entry in self.attributes])

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("DataSourceMeta", view, position, block)
        raw = _DATA_SOURCE_META.unpack_from(view, position)
        attributes, _ = entries_with_data(
            view, end, _DATA_SOURCE_META_ATTRIBUTE, (1073741824, 1073741824, 1073741824), "DataSourceMeta.attributes"
        )
        return cls(
            stream_id=raw[0],
            meta_version=raw[1],
            timestamp_ns=raw[2],
            attributes=tuple([cls.Attribute._make(*entry) for entry in attributes]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlResponse:
    """Result of a control request.

    Template 9: a block of 12 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 9
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 12
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "int64", 0),
        Field("code", "int32", 8, enum=ResponseCode),
        Data("error_message", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(12, 9, 900, 1)

    correlation_id: int
    code: ResponseCode
    error_message: str = ""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        if self.code not in _RESPONSE_CODE:
            raise ValueError("enum")
        fixed = _CONTROL_RESPONSE.pack(self.correlation_id, self.code)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.error_message.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 24 + len(self.error_message)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ControlResponse", view, position, block)
        raw = _CONTROL_RESPONSE.unpack_from(view, position)
        error_message, _ = var_data(view, end, 1073741824, "ControlResponse.error_message")
        return cls(
            correlation_id=raw[0],
            code=member(_RESPONSE_CODE, raw[1], cls, "code"),
            error_message=text(error_message, cls, "error_message"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaBlobAnnounce:
    """Experimental: a metadata blob follows in chunks.

    Template 10: a block of 28 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 10
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 28
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("meta_version", "uint32", 4),
        Field("blob_type", "uint32", 8),
        Field("total_len", "uint64", 12),
        Field("checksum", "uint64", 20),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(28, 10, 900, 1)

    stream_id: int
    meta_version: int
    blob_type: int
    total_len: int
    checksum: int

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(MetaBlobAnnounce)

    def _pack(self) -> Octets:
        return _META_BLOB_ANNOUNCE.pack(
            self.stream_id, self.meta_version, self.blob_type, self.total_len, self.checksum
        )

    def _length(self) -> int:
        return 36

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("MetaBlobAnnounce", view, position, block)
        raw = _META_BLOB_ANNOUNCE.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            meta_version=raw[1],
            blob_type=raw[2],
            total_len=raw[3],
            checksum=raw[4],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameProgress:
    """How much of a frame is filled; a hint only.

    Template 11: a block of 29 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 11
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 29
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("epoch", "uint64", 4),
        Field("seq", "uint64", 12),
        Field("payload_bytes_filled", "uint64", 20),
        Field("state", "uint8", 28, enum=FrameProgressState),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(29, 11, 900, 1)

    stream_id: int
    epoch: int
    seq: int
    payload_bytes_filled: int
    state: FrameProgressState

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(FrameProgress)

    def _pack(self) -> Octets:
        if self.state not in _FRAME_PROGRESS_STATE:
            raise ValueError("enum")
        return _FRAME_PROGRESS.pack(self.stream_id, self.epoch, self.seq, self.payload_bytes_filled, self.state)

    def _length(self) -> int:
        return 37

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("FrameProgress", view, position, block)
        raw = _FRAME_PROGRESS.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            epoch=raw[1],
            seq=raw[2],
            payload_bytes_filled=raw[3],
            state=member(_FRAME_PROGRESS_STATE, raw[4], cls, "state"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaBlobChunk:
    """Experimental: a piece of a metadata blob.

    Template 12: a block of 16 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 12
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 16
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("meta_version", "uint32", 4),
        Field("chunk_offset", "uint64", 8),
        Data("bytes", False, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(16, 12, 900, 1)

    stream_id: int
    meta_version: int
    chunk_offset: int
    bytes: Octets = b""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    def _pack(self) -> Octets:
        fixed = _META_BLOB_CHUNK.pack(self.stream_id, self.meta_version, self.chunk_offset)
        parts = [fixed]
        parts.append(packed_data(1073741824, octets(self.bytes)))
        return b"".join(parts)

    def _length(self) -> int:
        return 28 + len(octets(self.bytes))

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("MetaBlobChunk", view, position, block)
        raw = _META_BLOB_CHUNK.unpack_from(view, position)
        bytes, _ = var_data(view, end, 1073741824, "MetaBlobChunk.bytes")
        return cls(
            stream_id=raw[0],
            meta_version=raw[1],
            chunk_offset=raw[2],
            bytes=Octets(bytes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaBlobComplete:
    """Experimental: all chunks of a metadata blob are out.

    Template 13: a block of 16 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 13
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 16
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("meta_version", "uint32", 4),
        Field("checksum", "uint64", 8),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(16, 13, 900, 1)

    stream_id: int
    meta_version: int
    checksum: int

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(MetaBlobComplete)

    def _pack(self) -> Octets:
        return _META_BLOB_COMPLETE.pack(self.stream_id, self.meta_version, self.checksum)

    def _length(self) -> int:
        return 24

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("MetaBlobComplete", view, position, block)
        raw = _META_BLOB_COMPLETE.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            meta_version=raw[1],
            checksum=raw[2],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmRegionSuperblock:
    """First 64 bytes of a region; stored without a message header.

    Template 50: a block of 64 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 50
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 64
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("magic", "uint64", 0),
        Field("layout_version", "uint32", 8),
        Field("epoch", "uint64", 12),
        Field("stream_id", "uint32", 20),
        Field("region_type", "int16", 24, enum=RegionType),
        Field("pool_id", "uint16", 26),
        Field("nslots", "uint32", 28),
        Field("slot_bytes", "uint32", 32),
        Field("stride_bytes", "uint32", 36),
        Field("pid", "uint64", 40),
        Field("start_timestamp_ns", "uint64", 48),
        Field("activity_timestamp_ns", "uint64", 56),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(64, 50, 900, 1)

    magic: int
    layout_version: int
    epoch: int
    stream_id: int
    region_type: RegionType
    pool_id: int
    nslots: int
    slot_bytes: int
    stride_bytes: int
    pid: int
    start_timestamp_ns: int
    activity_timestamp_ns: int

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(ShmRegionSuperblock)

    def _pack(self) -> Octets:
        if self.region_type not in _REGION_TYPE:
            raise ValueError("enum")
        return _SHM_REGION_SUPERBLOCK.pack(
            self.magic,
            self.layout_version,
            self.epoch,
            self.stream_id,
            self.region_type,
            self.pool_id,
            self.nslots,
            self.slot_bytes,
            self.stride_bytes,
            self.pid,
            self.start_timestamp_ns,
            self.activity_timestamp_ns,
        )

    def _length(self) -> int:
        return 72

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmRegionSuperblock", view, position, block)
        raw = _SHM_REGION_SUPERBLOCK.unpack_from(view, position)
        return cls(
            magic=raw[0],
            layout_version=raw[1],
            epoch=raw[2],
            stream_id=raw[3],
            region_type=member(_REGION_TYPE, raw[4], cls, "region_type"),
            pool_id=raw[5],
            nslots=raw[6],
            slot_bytes=raw[7],
            stride_bytes=raw[8],
            pid=raw[9],
            start_timestamp_ns=raw[10],
            activity_timestamp_ns=raw[11],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotHeader:
    """One slot of the header ring; stored without a message header.

    Template 51: a block of 60 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 51
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 60
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("seq_commit", "uint64", 0),
        Field("values_len_bytes", "uint32", 8),
        Field("payload_slot", "uint32", 12),
        Field("pool_id", "uint16", 16),
        Field("payload_offset", "uint32", 18),
        Field("timestamp_ns", "uint64", 22),
        Field("meta_version", "uint32", 30),
        Field("pad", "uint8", 34, count=26),
        Data("header_bytes", False, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(60, 51, 900, 1)

    seq_commit: int
    values_len_bytes: int
    payload_slot: int
    pool_id: int
    payload_offset: int
    timestamp_ns: int  # Source or capture time
    meta_version: int
    pad: Octets = b"\0" * 26
    header_bytes: Octets = b""

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(SlotHeader)

    def _pack(self) -> Octets:
        pad = octets(self.pad)
        if len(pad) != 26:
            raise ValueError("length")
        fixed = _SLOT_HEADER.pack(
            self.seq_commit,
            self.values_len_bytes,
            self.payload_slot,
            self.pool_id,
            self.payload_offset,
            self.timestamp_ns,
            self.meta_version,
            pad,
        )
        parts = [fixed]
        parts.append(packed_data(1073741824, octets(self.header_bytes)))
        return b"".join(parts)

    def _length(self) -> int:
        return 72 + len(octets(self.header_bytes))

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("SlotHeader", view, position, block)
        raw = _SLOT_HEADER.unpack_from(view, position)
        header_bytes, _ = var_data(view, end, 1073741824, "SlotHeader.header_bytes")
        return cls(
            seq_commit=raw[0],
            values_len_bytes=raw[1],
            payload_slot=raw[2],
            pool_id=raw[3],
            payload_offset=raw[4],
            timestamp_ns=raw[5],
            meta_version=raw[6],
            pad=raw[7],
            header_bytes=Octets(header_bytes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorHeader:
    """Type and shape of a frame; lies in a slot with its message header.

    Template 52: a block of 184 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 900
    TEMPLATE_ID: ClassVar[int] = 52
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 184
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    max_dims: ClassVar[int] = 8
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("dtype", "int16", 0, enum=Dtype),
        Field("major_order", "int16", 2, enum=MajorOrder),
        Field("ndims", "uint8", 4),
        Field("pad_align", "uint8", 5),
        Field("progress_unit", "uint8", 6, enum=ProgressUnit),
        Field("progress_stride_bytes", "uint32", 7),
        Field("dims", "int32", 11, count=8),
        Field("strides", "int32", 43, count=8),
        Field("pad", "uint8", 75, count=109),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(184, 52, 900, 1)

    dtype: Dtype
    major_order: MajorOrder
    ndims: int
    pad_align: int = 0
    progress_unit: ProgressUnit
    progress_stride_bytes: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    pad: Octets = b"\0" * 109

    def encode(self) -> Octets:
        """Message header and body."""
        return self._HEADER + self.encode_body()

    def encode_into(self, buffer: Buffer, offset: int = 0) -> int:
        """Writes header and body into a buffer; gives the number of bytes written."""
        return write_into(self.encode(), buffer, offset)

    def encode_body(self) -> Octets:
        """The body alone, as shared-memory layouts are stored."""
        try:
            return self._pack()
        except REFUSED:
            refuse(self)

    def encoded_length(self) -> int:
        """The length of ``encode()`` in bytes."""
        try:
            return self._length()
        except REFUSED:
            refuse(self)

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads the message whose header starts at the offset; raises a MessageError for anything else."""
        view, block, version = open_message(cls, buffer, offset)
        return cls._unpack(view, offset + 8, block, version)

    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self:
        """Reads a body that has no message header before it."""
        return cls._unpack(view_of(buffer, offset), offset, cls.BLOCK_LENGTH, cls.SCHEMA_VERSION)

    @staticmethod
    def numpy_dtype() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype(TensorHeader)

    def _pack(self) -> Octets:
        if self.dtype not in _DTYPE:
            raise ValueError("enum")
        if self.major_order not in _MAJOR_ORDER:
            raise ValueError("enum")
        if self.progress_unit not in _PROGRESS_UNIT:
            raise ValueError("enum")
        if len(self.dims) != 8:
            raise ValueError("length")
        if len(self.strides) != 8:
            raise ValueError("length")
        pad = octets(self.pad)
        if len(pad) != 109:
            raise ValueError("length")
        return _TENSOR_HEADER.pack(
            self.dtype,
            self.major_order,
            self.ndims,
            self.pad_align,
            self.progress_unit,
            self.progress_stride_bytes,
            *self.dims,
            *self.strides,
            pad,
        )

    def _length(self) -> int:
        return 192

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("TensorHeader", view, position, block)
        raw = _TENSOR_HEADER.unpack_from(view, position)
        return cls(
            dtype=member(_DTYPE, raw[0], cls, "dtype"),
            major_order=member(_MAJOR_ORDER, raw[1], cls, "major_order"),
            ndims=raw[2],
            pad_align=raw[3],
            progress_unit=member(_PROGRESS_UNIT, raw[4], cls, "progress_unit"),
            progress_stride_bytes=raw[5],
            dims=raw[6:14],
            strides=raw[14:22],
            pad=raw[22],
        )


MESSAGES: Final[dict[int, type[Message]]] = {
    1: ShmPoolAnnounce,
    2: ConsumerHello,
    3: ConsumerConfig,
    4: FrameDescriptor,
    5: QosConsumer,
    6: QosProducer,
    7: DataSourceAnnounce,
    8: DataSourceMeta,
    9: ControlResponse,
    10: MetaBlobAnnounce,
    11: FrameProgress,
    12: MetaBlobChunk,
    13: MetaBlobComplete,
    50: ShmRegionSuperblock,
    51: SlotHeader,
    52: TensorHeader,
}
