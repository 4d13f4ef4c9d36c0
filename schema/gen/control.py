# SPDX-License-Identifier: Apache-2.0
# Generated from schema/xml/control.xml by `python -m dev.codegen`. Do not edit.
"""Codecs of schema 920 (framegate.control), version 1."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, ClassVar, Final

from framegate.schema.codec import (
    HEADER,
    REFUSED,
    Message,
    Octets,
    cut_short,
    member,
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
    "AbortCause",
    "AckStatus",
    "BarrierAck",
    "CheckpointAborted",
    "CheckpointBarrier",
    "CheckpointComplete",
    "ClockDomain",
    "ControlSignal",
    "HoldIngress",
    "IngressCut",
    "IngressHello",
    "IngressPlace",
    "InjectBarrier",
    "OperatorHello",
    "OperatorState",
    "PipelineAnnounce",
    "SignalCategory",
    "SignalKind",
    "StreamDeclaration",
    "TriggerCheckpoint",
    "TriggerProgress",
    "TriggerSignal",
    "TriggerState",
    "Watermark",
]

SCHEMA_ID: Final = 920
SCHEMA_VERSION: Final = 1
SEMANTIC_VERSION: Final = "1.0"


class AbortCause(IntEnum):
    """AbortCause, carried as uint8."""

    TIMEOUT = 0  # The alignment, or the whole checkpoint, took too long
    MEMORY_LIMIT = 1  # Buffers of all inputs together were full
    INPUT_LIMIT = 2  # The buffer of one input was full
    INFLIGHT_LIMIT = 3  # In-flight data of one input outgrew its limit
    HIGHER_BARRIER = 4  # A barrier with a higher id arrived first
    INPUT_LOST = 5  # An input that owes a barrier crashed or lost its lease
    INPUT_EPOCH_CHANGED = 6  # Agents that share a stream read different epochs of it
    LATE_BARRIER_TIMEOUT = 7  # A late input did not deliver its barrier in time
    SERIALISATION_FAILED = 8  # State or in-flight data could not be written
    CHANNEL_READ_FAILED = 9  # In-flight data could not be read
    INJECTION_FAILED = 10  # A source could not send the barrier
    OPERATOR_FAILED = 11  # An agent acknowledged with FAILED, or is gone
    STORE_FAILED = 12  # The manifest could not be written
    COORDINATOR = 13  # The coordinator gave it up: asked to, ending, or restarted


class AckStatus(IntEnum):
    """AckStatus, carried as uint8."""

    SNAPSHOT_TAKEN = 0  # The state is stored, in-flight data may still be recorded
    COMPLETE = 1  # State and in-flight data are stored
    FAILED = 2  # Nothing of this checkpoint may be used; reason says why


class ClockDomain(IntEnum):
    """ClockDomain, carried as uint8."""

    MONOTONIC = 1  # The host's monotonic clock
    REALTIME_SYNCED = 2  # The realtime clock, synchronised with other hosts


class OperatorState(IntEnum):
    """OperatorState, carried as uint8."""

    PRESENT = 0  # Takes part in the checkpoints of the pipeline
    LEAVING = 1  # Ends in good order and takes part no more


class SignalCategory(IntEnum):
    """SignalCategory, carried as uint8."""

    INSTANT = 0  # Passes every agent at once
    BARRIER = 1  # Aligned by every agent over its inputs


class SignalKind(IntEnum):
    """SignalKind, carried as uint8."""

    STREAM_GRACEFUL_END = 0  # Nothing follows on this stream and epoch
    SYNC_TEST = 1  # Probes the alignment; has no effect


class TriggerState(IntEnum):
    """TriggerState, carried as uint8."""

    WAITING = 0  # Heard; it begins when another one is over, or the operators are known
    STARTED = 1  # Its barrier is asked for
    COMPLETE = 2  # It exists
    ABORTED = 3  # It was begun and given up; reason says why
    REFUSED = 4  # It was not begun; reason says why


_ABORT_CAUSE: Final = {int(value): value for value in AbortCause}
_ACK_STATUS: Final = {int(value): value for value in AckStatus}
_CLOCK_DOMAIN: Final = {int(value): value for value in ClockDomain}
_OPERATOR_STATE: Final = {int(value): value for value in OperatorState}
_SIGNAL_CATEGORY: Final = {int(value): value for value in SignalCategory}
_SIGNAL_KIND: Final = {int(value): value for value in SignalKind}
_TRIGGER_STATE: Final = {int(value): value for value in TriggerState}
_CHECKPOINT_BARRIER: Final = Struct("<QQQIQQ")
_WATERMARK: Final = Struct("<qIQ")
_CONTROL_SIGNAL: Final = Struct("<BBQIQQ")
_INJECT_BARRIER: Final = Struct("<QQQ")
_BARRIER_ACK: Final = Struct("<QQBQQ")
_CHECKPOINT_COMPLETE: Final = Struct("<QQ")
_CHECKPOINT_ABORTED: Final = Struct("<QQB")
_OPERATOR_HELLO: Final = Struct("<QQB")
_PIPELINE_ANNOUNCE: Final = Struct("<QQQQIII")
_TRIGGER_CHECKPOINT: Final = Struct("<QQ")
_TRIGGER_PROGRESS: Final = Struct("<QQQBQQ")
_TRIGGER_SIGNAL: Final = Struct("<QBB")
_INGRESS_HELLO: Final = Struct("<QI")
_HOLD_INGRESS: Final = Struct("<QQI")
_INGRESS_PLACE: Final = Struct("<QQIQQ")
_INGRESS_CUT: Final = Struct("<QQQIQQ")
_STREAM_DECLARATION: Final = Struct("<IIBII")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointBarrier:
    """Cuts a stream between two frames; travels between its descriptors.

    Template 1: a block of 44 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 1
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 44
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("flags", "uint64", 16),
        Field("stream_id", "uint32", 24),
        Field("source_epoch", "uint64", 28),
        Field("after_seq", "uint64", 36, null=18446744073709551615, is_optional=True),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(44, 1, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    flags: int  # Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0
    stream_id: int  # Data-source id, not the Aeron stream
    source_epoch: int  # Epoch of the stream's regions
    after_seq: int | None = None  # Last sequence sent before it; null: nothing sent yet

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
        return structured_dtype(CheckpointBarrier)

    def _pack(self) -> Octets:
        after_seq: int | None = self.after_seq
        if after_seq is None:
            after_seq = 18446744073709551615
        elif after_seq == 18446744073709551615:
            raise ValueError("null")
        return _CHECKPOINT_BARRIER.pack(
            self.checkpoint_id, self.epoch, self.flags, self.stream_id, self.source_epoch, after_seq
        )

    def _length(self) -> int:
        return 52

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("CheckpointBarrier", view, position, block)
        raw = _CHECKPOINT_BARRIER.unpack_from(view, position)
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            flags=raw[2],
            stream_id=raw[3],
            source_epoch=raw[4],
            after_seq=None if raw[5] == 18446744073709551615 else raw[5],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """Progress of event time; travels between descriptors.

    Template 2: a block of 20 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 2
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 20
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("timestamp_ms", "int64", 0),
        Field("stream_id", "uint32", 8),
        Field("source_epoch", "uint64", 12),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(20, 2, 920, 1)

    timestamp_ms: int  # No later frame of the stream is older
    stream_id: int  # Data-source id, not the Aeron stream
    source_epoch: int  # Epoch of the stream's regions

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
        return structured_dtype(Watermark)

    def _pack(self) -> Octets:
        return _WATERMARK.pack(self.timestamp_ms, self.stream_id, self.source_epoch)

    def _length(self) -> int:
        return 28

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("Watermark", view, position, block)
        raw = _WATERMARK.unpack_from(view, position)
        return cls(
            timestamp_ms=raw[0],
            stream_id=raw[1],
            source_epoch=raw[2],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlSignal:
    """A signal in the data channel or on the control stream.

    Template 3: a block of 30 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 3
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 30
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("category", "uint8", 0, enum=SignalCategory),
        Field("kind", "uint8", 1, enum=SignalKind),
        Field("barrier_id", "uint64", 2),
        Field("stream_id", "uint32", 10, null=4294967295, is_optional=True),
        Field("source_epoch", "uint64", 14),
        Field("after_seq", "uint64", 22, null=18446744073709551615, is_optional=True),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(30, 3, 920, 1)

    category: SignalCategory
    kind: SignalKind
    barrier_id: int  # 0 for instant signals and for the end of an independent producer
    stream_id: int | None = None  # Data-source id; null on the control channel
    source_epoch: int  # Epoch of the stream's regions; 0 on the control channel
    after_seq: int | None = None  # Last sequence sent before it; null: nothing sent yet
    pipeline: str = ""

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
        if self.category not in _SIGNAL_CATEGORY:
            raise ValueError("enum")
        if self.kind not in _SIGNAL_KIND:
            raise ValueError("enum")
        stream_id: int | None = self.stream_id
        if stream_id is None:
            stream_id = 4294967295
        elif stream_id == 4294967295:
            raise ValueError("null")
        after_seq: int | None = self.after_seq
        if after_seq is None:
            after_seq = 18446744073709551615
        elif after_seq == 18446744073709551615:
            raise ValueError("null")
        fixed = _CONTROL_SIGNAL.pack(self.category, self.kind, self.barrier_id, stream_id, self.source_epoch, after_seq)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 42 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ControlSignal", view, position, block)
        raw = _CONTROL_SIGNAL.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "ControlSignal.pipeline")
        return cls(
            category=member(_SIGNAL_CATEGORY, raw[0], cls, "category"),
            kind=member(_SIGNAL_KIND, raw[1], cls, "kind"),
            barrier_id=raw[2],
            stream_id=None if raw[3] == 4294967295 else raw[3],
            source_epoch=raw[4],
            after_seq=None if raw[5] == 18446744073709551615 else raw[5],
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectBarrier:
    """The coordinator asks the sources of a pipeline for a barrier.

    Template 4: a block of 24 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 4
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 24
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("flags", "uint64", 16),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(24, 4, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    flags: int  # Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0
    pipeline: str = ""

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
        fixed = _INJECT_BARRIER.pack(self.checkpoint_id, self.epoch, self.flags)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 36 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("InjectBarrier", view, position, block)
        raw = _INJECT_BARRIER.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "InjectBarrier.pipeline")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            flags=raw[2],
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierAck:
    """An agent or source tells the coordinator how far a checkpoint is; twice per checkpoint.

    Template 5: a block of 33 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 5
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 33
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("status", "uint8", 16, enum=AckStatus),
        Field("duration_ns", "uint64", 17),
        Field("bytes", "uint64", 25),
        Data("pipeline", True, 1073741824),
        Data("operator_id", True, 1073741824),
        Data("reason", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(33, 5, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    status: AckStatus
    duration_ns: int  # From the first barrier to this step
    bytes: int  # Stored by this step
    pipeline: str = ""
    operator_id: str = ""
    reason: str = ""

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
        if self.status not in _ACK_STATUS:
            raise ValueError("enum")
        fixed = _BARRIER_ACK.pack(self.checkpoint_id, self.epoch, self.status, self.duration_ns, self.bytes)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.operator_id.encode("ascii")))
        parts.append(packed_data(1073741824, self.reason.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 53
        total += len(self.pipeline)
        total += len(self.operator_id)
        total += len(self.reason)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("BarrierAck", view, position, block)
        raw = _BARRIER_ACK.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "BarrierAck.pipeline")
        operator_id, end = var_data(view, end, 1073741824, "BarrierAck.operator_id")
        reason, _ = var_data(view, end, 1073741824, "BarrierAck.reason")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            status=member(_ACK_STATUS, raw[2], cls, "status"),
            duration_ns=raw[3],
            bytes=raw[4],
            pipeline=text(pipeline, cls, "pipeline"),
            operator_id=text(operator_id, cls, "operator_id"),
            reason=text(reason, cls, "reason"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointComplete:
    """The manifest is written: the checkpoint exists.

    Template 6: a block of 16 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 6
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 16
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(16, 6, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    pipeline: str = ""

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
        fixed = _CHECKPOINT_COMPLETE.pack(self.checkpoint_id, self.epoch)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 28 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("CheckpointComplete", view, position, block)
        raw = _CHECKPOINT_COMPLETE.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "CheckpointComplete.pipeline")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAborted:
    """The checkpoint is given up everywhere.

    Template 7: a block of 17 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 7
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 17
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("cause", "uint8", 16, enum=AbortCause),
        Data("pipeline", True, 1073741824),
        Data("reason", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(17, 7, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    cause: AbortCause
    pipeline: str = ""
    reason: str = ""

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
        if self.cause not in _ABORT_CAUSE:
            raise ValueError("enum")
        fixed = _CHECKPOINT_ABORTED.pack(self.checkpoint_id, self.epoch, self.cause)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.reason.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 33
        total += len(self.pipeline)
        total += len(self.reason)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("CheckpointAborted", view, position, block)
        raw = _CHECKPOINT_ABORTED.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "CheckpointAborted.pipeline")
        reason, _ = var_data(view, end, 1073741824, "CheckpointAborted.reason")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            cause=member(_ABORT_CAUSE, raw[2], cls, "cause"),
            pipeline=text(pipeline, cls, "pipeline"),
            reason=text(reason, cls, "reason"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorHello:
    """An operator takes part in the checkpoints of a pipeline; again and again.

    Template 8: a block of 17 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 8
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 17
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("instance_id", "uint64", 0),
        Field("last_checkpoint_id", "uint64", 8),
        Field("state", "uint8", 16, enum=OperatorState),
        Data("pipeline", True, 1073741824),
        Data("operator_id", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(17, 8, 920, 1)

    instance_id: int  # Another one in each life of the operator
    last_checkpoint_id: int  # Highest id that it has met; 0: none
    state: OperatorState
    pipeline: str = ""
    operator_id: str = ""

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
        if self.state not in _OPERATOR_STATE:
            raise ValueError("enum")
        fixed = _OPERATOR_HELLO.pack(self.instance_id, self.last_checkpoint_id, self.state)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.operator_id.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 33
        total += len(self.pipeline)
        total += len(self.operator_id)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("OperatorHello", view, position, block)
        raw = _OPERATOR_HELLO.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "OperatorHello.pipeline")
        operator_id, _ = var_data(view, end, 1073741824, "OperatorHello.operator_id")
        return cls(
            instance_id=raw[0],
            last_checkpoint_id=raw[1],
            state=member(_OPERATOR_STATE, raw[2], cls, "state"),
            pipeline=text(pipeline, cls, "pipeline"),
            operator_id=text(operator_id, cls, "operator_id"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineAnnounce:
    """The coordinator says what holds for its pipeline; again and again.

    Template 9: a block of 44 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 9
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 44
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("last_checkpoint_id", "uint64", 0),
        Field("current_checkpoint_id", "uint64", 8),
        Field("epoch", "uint64", 16),
        Field("flags", "uint64", 24),
        Field("alignment_timeout_ms", "uint32", 32),
        Field("late_barrier_timeout_ms", "uint32", 36),
        Field("operator_timeout_ms", "uint32", 40),
        Data("pipeline", True, 1073741824),
        Data("store", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(44, 9, 920, 1)

    last_checkpoint_id: int  # Highest id that was given out; 0: none
    current_checkpoint_id: int  # The checkpoint under way; 0: none, and any other one is over
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    flags: int  # Bit 0: an alignment may become unaligned. Bit 1: every checkpoint is. Other bits are 0
    alignment_timeout_ms: int  # How long an input may be blocked
    late_barrier_timeout_ms: int  # How long a late input may take after the switch
    operator_timeout_ms: int  # An operator that says nothing for so long is lost
    pipeline: str = ""
    store: str = ""

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
        fixed = _PIPELINE_ANNOUNCE.pack(
            self.last_checkpoint_id,
            self.current_checkpoint_id,
            self.epoch,
            self.flags,
            self.alignment_timeout_ms,
            self.late_barrier_timeout_ms,
            self.operator_timeout_ms,
        )
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.store.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 60
        total += len(self.pipeline)
        total += len(self.store)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("PipelineAnnounce", view, position, block)
        raw = _PIPELINE_ANNOUNCE.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "PipelineAnnounce.pipeline")
        store, _ = var_data(view, end, 1073741824, "PipelineAnnounce.store")
        return cls(
            last_checkpoint_id=raw[0],
            current_checkpoint_id=raw[1],
            epoch=raw[2],
            flags=raw[3],
            alignment_timeout_ms=raw[4],
            late_barrier_timeout_ms=raw[5],
            operator_timeout_ms=raw[6],
            pipeline=text(pipeline, cls, "pipeline"),
            store=text(store, cls, "store"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerCheckpoint:
    """Somebody asks the coordinator for a checkpoint.

    Template 10: a block of 16 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 10
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 16
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "uint64", 0),
        Field("flags", "uint64", 8),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(16, 10, 920, 1)

    correlation_id: int  # Chosen at random by who asks
    flags: int  # Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0
    pipeline: str = ""

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
        fixed = _TRIGGER_CHECKPOINT.pack(self.correlation_id, self.flags)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 28 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("TriggerCheckpoint", view, position, block)
        raw = _TRIGGER_CHECKPOINT.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "TriggerCheckpoint.pipeline")
        return cls(
            correlation_id=raw[0],
            flags=raw[1],
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerProgress:
    """What becomes of a checkpoint that was asked for.

    Template 11: a block of 41 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 11
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 41
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "uint64", 0),
        Field("checkpoint_id", "uint64", 8),
        Field("epoch", "uint64", 16),
        Field("state", "uint8", 24, enum=TriggerState),
        Field("duration_ns", "uint64", 25),
        Field("bytes", "uint64", 33),
        Data("pipeline", True, 1073741824),
        Data("reason", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(41, 11, 920, 1)

    correlation_id: int  # Of the request
    checkpoint_id: int  # 0 before it has one
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    state: TriggerState
    duration_ns: int  # From its start; 0 before it is over
    bytes: int  # Of all its files but the manifest; 0 unless COMPLETE
    pipeline: str = ""
    reason: str = ""

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
        if self.state not in _TRIGGER_STATE:
            raise ValueError("enum")
        fixed = _TRIGGER_PROGRESS.pack(
            self.correlation_id, self.checkpoint_id, self.epoch, self.state, self.duration_ns, self.bytes
        )
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.reason.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 57
        total += len(self.pipeline)
        total += len(self.reason)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("TriggerProgress", view, position, block)
        raw = _TRIGGER_PROGRESS.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "TriggerProgress.pipeline")
        reason, _ = var_data(view, end, 1073741824, "TriggerProgress.reason")
        return cls(
            correlation_id=raw[0],
            checkpoint_id=raw[1],
            epoch=raw[2],
            state=member(_TRIGGER_STATE, raw[3], cls, "state"),
            duration_ns=raw[4],
            bytes=raw[5],
            pipeline=text(pipeline, cls, "pipeline"),
            reason=text(reason, cls, "reason"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSignal:
    """Somebody asks the coordinator for a signal on the control channel.

    Template 12: a block of 10 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 12
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 10
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "uint64", 0),
        Field("category", "uint8", 8, enum=SignalCategory),
        Field("kind", "uint8", 9, enum=SignalKind),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(10, 12, 920, 1)

    correlation_id: int  # Chosen at random by who asks
    category: SignalCategory
    kind: SignalKind
    pipeline: str = ""

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
        if self.category not in _SIGNAL_CATEGORY:
            raise ValueError("enum")
        if self.kind not in _SIGNAL_KIND:
            raise ValueError("enum")
        fixed = _TRIGGER_SIGNAL.pack(self.correlation_id, self.category, self.kind)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 22 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("TriggerSignal", view, position, block)
        raw = _TRIGGER_SIGNAL.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "TriggerSignal.pipeline")
        return cls(
            correlation_id=raw[0],
            category=member(_SIGNAL_CATEGORY, raw[1], cls, "category"),
            kind=member(_SIGNAL_KIND, raw[2], cls, "kind"),
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressHello:
    """An operator cuts this stream by itself; one for each such stream, before its hello.

    Template 13: a block of 12 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 13
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 12
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("instance_id", "uint64", 0),
        Field("stream_id", "uint32", 8),
        Data("pipeline", True, 1073741824),
        Data("operator_id", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(12, 13, 920, 1)

    instance_id: int  # Another one in each life of the operator
    stream_id: int  # Data-source id, not the Aeron stream
    pipeline: str = ""
    operator_id: str = ""

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
        fixed = _INGRESS_HELLO.pack(self.instance_id, self.stream_id)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.operator_id.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 28
        total += len(self.pipeline)
        total += len(self.operator_id)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("IngressHello", view, position, block)
        raw = _INGRESS_HELLO.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "IngressHello.pipeline")
        operator_id, _ = var_data(view, end, 1073741824, "IngressHello.operator_id")
        return cls(
            instance_id=raw[0],
            stream_id=raw[1],
            pipeline=text(pipeline, cls, "pipeline"),
            operator_id=text(operator_id, cls, "operator_id"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldIngress:
    """The coordinator asks the agents that share a stream to stop in it, and to say where they stand.

    Template 14: a block of 20 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 14
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 20
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("stream_id", "uint32", 16),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(20, 14, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    stream_id: int  # Data-source id, not the Aeron stream
    pipeline: str = ""

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
        fixed = _HOLD_INGRESS.pack(self.checkpoint_id, self.epoch, self.stream_id)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 32 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("HoldIngress", view, position, block)
        raw = _HOLD_INGRESS.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "HoldIngress.pipeline")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            stream_id=raw[2],
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressPlace:
    """An agent has stopped in a stream: here.

    Template 15: a block of 36 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 15
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 36
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("stream_id", "uint32", 16),
        Field("source_epoch", "uint64", 20, null=18446744073709551615, is_optional=True),
        Field("after_seq", "uint64", 28, null=18446744073709551615, is_optional=True),
        Data("pipeline", True, 1073741824),
        Data("operator_id", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(36, 15, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    stream_id: int  # Data-source id, not the Aeron stream
    source_epoch: int | None = None  # Epoch of the stream's regions; null: it reads none
    after_seq: int | None = None  # Last sequence that it took; null: none of that epoch
    pipeline: str = ""
    operator_id: str = ""

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
        source_epoch: int | None = self.source_epoch
        if source_epoch is None:
            source_epoch = 18446744073709551615
        elif source_epoch == 18446744073709551615:
            raise ValueError("null")
        after_seq: int | None = self.after_seq
        if after_seq is None:
            after_seq = 18446744073709551615
        elif after_seq == 18446744073709551615:
            raise ValueError("null")
        fixed = _INGRESS_PLACE.pack(self.checkpoint_id, self.epoch, self.stream_id, source_epoch, after_seq)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        parts.append(packed_data(1073741824, self.operator_id.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 52
        total += len(self.pipeline)
        total += len(self.operator_id)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("IngressPlace", view, position, block)
        raw = _INGRESS_PLACE.unpack_from(view, position)
        pipeline, end = var_data(view, end, 1073741824, "IngressPlace.pipeline")
        operator_id, _ = var_data(view, end, 1073741824, "IngressPlace.operator_id")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            stream_id=raw[2],
            source_epoch=None if raw[3] == 18446744073709551615 else raw[3],
            after_seq=None if raw[4] == 18446744073709551615 else raw[4],
            pipeline=text(pipeline, cls, "pipeline"),
            operator_id=text(operator_id, cls, "operator_id"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressCut:
    """All agents that share a stream cut it here.

    Template 16: a block of 44 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 16
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 44
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("checkpoint_id", "uint64", 0),
        Field("epoch", "uint64", 8),
        Field("flags", "uint64", 16),
        Field("stream_id", "uint32", 24),
        Field("source_epoch", "uint64", 28, null=18446744073709551615, is_optional=True),
        Field("after_seq", "uint64", 36, null=18446744073709551615, is_optional=True),
        Data("pipeline", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(44, 16, 920, 1)

    checkpoint_id: int  # Allocated by the pipeline's coordinator, strictly increasing; 0 is none
    epoch: int  # Checkpoint epoch, at most 2^48 - 1; never goes back
    flags: int  # Bit 0 UNALIGNED: take it over the buffered frames. Other bits are 0
    stream_id: int  # Data-source id, not the Aeron stream
    source_epoch: int | None = None  # Epoch of the stream's regions; null: nobody reads any
    after_seq: int | None = None  # Behind this sequence; null: before the first of that epoch
    pipeline: str = ""

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
        source_epoch: int | None = self.source_epoch
        if source_epoch is None:
            source_epoch = 18446744073709551615
        elif source_epoch == 18446744073709551615:
            raise ValueError("null")
        after_seq: int | None = self.after_seq
        if after_seq is None:
            after_seq = 18446744073709551615
        elif after_seq == 18446744073709551615:
            raise ValueError("null")
        fixed = _INGRESS_CUT.pack(self.checkpoint_id, self.epoch, self.flags, self.stream_id, source_epoch, after_seq)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.pipeline.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 56 + len(self.pipeline)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("IngressCut", view, position, block)
        raw = _INGRESS_CUT.unpack_from(view, position)
        pipeline, _ = var_data(view, end, 1073741824, "IngressCut.pipeline")
        return cls(
            checkpoint_id=raw[0],
            epoch=raw[1],
            flags=raw[2],
            stream_id=raw[3],
            source_epoch=None if raw[4] == 18446744073709551615 else raw[4],
            after_seq=None if raw[5] == 18446744073709551615 else raw[5],
            pipeline=text(pipeline, cls, "pipeline"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDeclaration:
    """What a producer is going to publish; goes to the lease driver before each of its attach requests.

    Template 17: a block of 17 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 920
    TEMPLATE_ID: ClassVar[int] = 17
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 17
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = True
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("stream_id", "uint32", 0),
        Field("client_id", "uint32", 4),
        Field("clock_domain", "uint8", 8, null=255, is_optional=True, enum=ClockDomain),
        Field("frame_bytes", "uint32", 9, null=4294967295, is_optional=True),
        Field("nslots", "uint32", 13, null=4294967295, is_optional=True),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(17, 17, 920, 1)

    stream_id: int  # As in the attach request
    client_id: int  # As in the attach request
    clock_domain: ClockDomain | None = None  # Of the frames' timestamps; null, 255: not said
    frame_bytes: int | None = None  # Payload bytes of the largest frame; null: not said
    nslots: int | None = None  # Frames that the ring should hold, a power of two; null: as the driver thinks fit

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
        return structured_dtype(StreamDeclaration)

    def _pack(self) -> Octets:
        clock_domain: int | None = self.clock_domain
        if clock_domain is None:
            clock_domain = 255
        elif clock_domain not in _CLOCK_DOMAIN:
            raise ValueError("enum")
        frame_bytes: int | None = self.frame_bytes
        if frame_bytes is None:
            frame_bytes = 4294967295
        elif frame_bytes == 4294967295:
            raise ValueError("null")
        nslots: int | None = self.nslots
        if nslots is None:
            nslots = 4294967295
        elif nslots == 4294967295:
            raise ValueError("null")
        return _STREAM_DECLARATION.pack(self.stream_id, self.client_id, clock_domain, frame_bytes, nslots)

    def _length(self) -> int:
        return 25

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("StreamDeclaration", view, position, block)
        raw = _STREAM_DECLARATION.unpack_from(view, position)
        return cls(
            stream_id=raw[0],
            client_id=raw[1],
            clock_domain=None if raw[2] == 255 else member(_CLOCK_DOMAIN, raw[2], cls, "clock_domain"),
            frame_bytes=None if raw[3] == 4294967295 else raw[3],
            nslots=None if raw[4] == 4294967295 else raw[4],
        )


MESSAGES: Final[dict[int, type[Message]]] = {
    1: CheckpointBarrier,
    2: Watermark,
    3: ControlSignal,
    4: InjectBarrier,
    5: BarrierAck,
    6: CheckpointComplete,
    7: CheckpointAborted,
    8: OperatorHello,
    9: PipelineAnnounce,
    10: TriggerCheckpoint,
    11: TriggerProgress,
    12: TriggerSignal,
    13: IngressHello,
    14: HoldIngress,
    15: IngressPlace,
    16: IngressCut,
    17: StreamDeclaration,
}
