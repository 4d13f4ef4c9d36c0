# SPDX-License-Identifier: Apache-2.0
# Generated from schema/xml/merge.xml by `python -m dev.codegen`. Do not edit.
"""Codecs of schema 903 (shm.tensorpool.merge), version 1."""

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
    fixed_entries,
    member,
    open_message,
    refuse,
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
    "ClockDomain",
    "MergeRuleType",
    "MergeTimeRuleType",
    "SequenceMergeMapAnnounce",
    "SequenceMergeMapRequest",
    "TimestampMergeMapAnnounce",
    "TimestampMergeMapRequest",
    "TimestampSource",
]

SCHEMA_ID: Final = 903
SCHEMA_VERSION: Final = 1
SEMANTIC_VERSION: Final = "1.0"


class ClockDomain(IntEnum):
    """ClockDomain, carried as uint8."""

    MONOTONIC = 1
    REALTIME_SYNCED = 2


class MergeRuleType(IntEnum):
    """MergeRuleType, carried as uint8."""

    OFFSET = 0
    WINDOW = 1


class MergeTimeRuleType(IntEnum):
    """MergeTimeRuleType, carried as uint8."""

    OFFSET_NS = 0
    WINDOW_NS = 1


class TimestampSource(IntEnum):
    """TimestampSource, carried as uint8."""

    FRAME_DESCRIPTOR = 1
    SLOT_HEADER = 2


_CLOCK_DOMAIN: Final = {int(value): value for value in ClockDomain}
_MERGE_RULE_TYPE: Final = {int(value): value for value in MergeRuleType}
_MERGE_TIME_RULE_TYPE: Final = {int(value): value for value in MergeTimeRuleType}
_TIMESTAMP_SOURCE: Final = {int(value): value for value in TimestampSource}
_SEQUENCE_MERGE_MAP_ANNOUNCE: Final = Struct("<IQQ")
_SEQUENCE_MERGE_MAP_ANNOUNCE_RULE: Final = Struct("<IBiI")
_SEQUENCE_MERGE_MAP_REQUEST: Final = Struct("<IQ")
_TIMESTAMP_MERGE_MAP_ANNOUNCE: Final = Struct("<IQQBQ")
_TIMESTAMP_MERGE_MAP_ANNOUNCE_RULE: Final = Struct("<IBBqQ")
_TIMESTAMP_MERGE_MAP_REQUEST: Final = Struct("<IQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceMergeMapAnnounce:
    """The rules of a sequence join for one output stream and epoch.

    Template 1: a block of 20 bytes, then groups.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Rule:
        """One entry of ``rules``."""

        BLOCK_LENGTH: ClassVar[int] = 13
        LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
            Field("input_stream_id", "uint32", 0),
            Field("rule_type", "uint8", 4, enum=MergeRuleType),
            Field("offset", "int32", 5, null=-2147483648, is_optional=True),
            Field("window_size", "uint32", 9, null=4294967295, is_optional=True),
        )

        input_stream_id: int
        rule_type: MergeRuleType
        offset: int | None = None  # OFFSET only
        window_size: int | None = None  # WINDOW only, above 0

        def _pack(self) -> Octets:
            if self.rule_type not in _MERGE_RULE_TYPE:
                raise ValueError("enum")
            offset: int | None = self.offset
            if offset is None:
                offset = -2147483648
            elif offset == -2147483648:
                raise ValueError("null")
            window_size: int | None = self.window_size
            if window_size is None:
                window_size = 4294967295
            elif window_size == 4294967295:
                raise ValueError("null")
            return _SEQUENCE_MERGE_MAP_ANNOUNCE_RULE.pack(self.input_stream_id, self.rule_type, offset, window_size)

        @classmethod
        def _make(cls, raw: Raw) -> Self:
            return cls(
                input_stream_id=raw[0],
                rule_type=member(_MERGE_RULE_TYPE, raw[1], cls, "rule_type"),
                offset=None if raw[2] == -2147483648 else raw[2],
                window_size=None if raw[3] == 4294967295 else raw[3],
            )

    SCHEMA_ID: ClassVar[int] = 903
    TEMPLATE_ID: ClassVar[int] = 1
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 20
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("out_stream_id", "uint32", 0),
        Field("epoch", "uint64", 4),
        Field("stale_timeout_ns", "uint64", 12, null=18446744073709551615, is_optional=True),
        Group("rules", Rule),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(20, 1, 903, 1)

    out_stream_id: int
    epoch: int
    stale_timeout_ns: int | None = None  # Null: no staleness policy
    rules: tuple[Rule, ...] = ()

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
        stale_timeout_ns: int | None = self.stale_timeout_ns
        if stale_timeout_ns is None:
            stale_timeout_ns = 18446744073709551615
        elif stale_timeout_ns == 18446744073709551615:
            raise ValueError("null")
        fixed = _SEQUENCE_MERGE_MAP_ANNOUNCE.pack(self.out_stream_id, self.epoch, stale_timeout_ns)
        parts = [fixed]
        rules = self.rules
        if len(rules) > 65534:
            raise ValueError("count")
        parts.append(DIMENSIONS.pack(13, len(rules)))
        parts.extend([self.Rule._pack(entry) for entry in rules])
        return b"".join(parts)

    def _length(self) -> int:
        return 32 + len(self.rules) * 13

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("SequenceMergeMapAnnounce", view, position, block)
        raw = _SEQUENCE_MERGE_MAP_ANNOUNCE.unpack_from(view, position)
        rules, _ = fixed_entries(view, end, _SEQUENCE_MERGE_MAP_ANNOUNCE_RULE, "SequenceMergeMapAnnounce.rules")
        return cls(
            out_stream_id=raw[0],
            epoch=raw[1],
            stale_timeout_ns=None if raw[2] == 18446744073709551615 else raw[2],
            rules=tuple([cls.Rule._make(entry) for entry in rules]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceMergeMapRequest:
    """Asks for the sequence map of an output stream and epoch.

    Template 2: a block of 12 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 903
    TEMPLATE_ID: ClassVar[int] = 2
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 12
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("out_stream_id", "uint32", 0),
        Field("epoch", "uint64", 4),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(12, 2, 903, 1)

    out_stream_id: int
    epoch: int

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
        return structured_dtype(SequenceMergeMapRequest)

    def _pack(self) -> Octets:
        return _SEQUENCE_MERGE_MAP_REQUEST.pack(self.out_stream_id, self.epoch)

    def _length(self) -> int:
        return 20

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("SequenceMergeMapRequest", view, position, block)
        raw = _SEQUENCE_MERGE_MAP_REQUEST.unpack_from(view, position)
        return cls(
            out_stream_id=raw[0],
            epoch=raw[1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampMergeMapAnnounce:
    """The rules of a timestamp join for one output stream and epoch.

    Template 3: a block of 29 bytes, then groups.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Rule:
        """One entry of ``rules``."""

        BLOCK_LENGTH: ClassVar[int] = 22
        LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
            Field("input_stream_id", "uint32", 0),
            Field("rule_type", "uint8", 4, enum=MergeTimeRuleType),
            Field("timestamp_source", "uint8", 5, enum=TimestampSource),
            Field("offset_ns", "int64", 6, null=-9223372036854775808, is_optional=True),
            Field("window_ns", "uint64", 14, null=18446744073709551615, is_optional=True),
        )

        input_stream_id: int
        rule_type: MergeTimeRuleType
        timestamp_source: TimestampSource
        offset_ns: int | None = None  # OFFSET_NS only
        window_ns: int | None = None  # WINDOW_NS only, above 0

        def _pack(self) -> Octets:
            if self.rule_type not in _MERGE_TIME_RULE_TYPE:
                raise ValueError("enum")
            if self.timestamp_source not in _TIMESTAMP_SOURCE:
                raise ValueError("enum")
            offset_ns: int | None = self.offset_ns
            if offset_ns is None:
                offset_ns = -9223372036854775808
            elif offset_ns == -9223372036854775808:
                raise ValueError("null")
            window_ns: int | None = self.window_ns
            if window_ns is None:
                window_ns = 18446744073709551615
            elif window_ns == 18446744073709551615:
                raise ValueError("null")
            return _TIMESTAMP_MERGE_MAP_ANNOUNCE_RULE.pack(
                self.input_stream_id, self.rule_type, self.timestamp_source, offset_ns, window_ns
            )

        @classmethod
        def _make(cls, raw: Raw) -> Self:
            return cls(
                input_stream_id=raw[0],
                rule_type=member(_MERGE_TIME_RULE_TYPE, raw[1], cls, "rule_type"),
                timestamp_source=member(_TIMESTAMP_SOURCE, raw[2], cls, "timestamp_source"),
                offset_ns=None if raw[3] == -9223372036854775808 else raw[3],
                window_ns=None if raw[4] == 18446744073709551615 else raw[4],
            )

    SCHEMA_ID: ClassVar[int] = 903
    TEMPLATE_ID: ClassVar[int] = 3
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 29
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("out_stream_id", "uint32", 0),
        Field("epoch", "uint64", 4),
        Field("stale_timeout_ns", "uint64", 12, null=18446744073709551615, is_optional=True),
        Field("clock_domain", "uint8", 20, enum=ClockDomain),
        Field("lateness_ns", "uint64", 21, null=18446744073709551615, is_optional=True),
        Group("rules", Rule),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(29, 3, 903, 1)

    out_stream_id: int
    epoch: int
    stale_timeout_ns: int | None = None  # Null: no staleness policy
    clock_domain: ClockDomain
    lateness_ns: int | None = None  # Null: 0
    rules: tuple[Rule, ...] = ()

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
        stale_timeout_ns: int | None = self.stale_timeout_ns
        if stale_timeout_ns is None:
            stale_timeout_ns = 18446744073709551615
        elif stale_timeout_ns == 18446744073709551615:
            raise ValueError("null")
        if self.clock_domain not in _CLOCK_DOMAIN:
            raise ValueError("enum")
        lateness_ns: int | None = self.lateness_ns
        if lateness_ns is None:
            lateness_ns = 18446744073709551615
        elif lateness_ns == 18446744073709551615:
            raise ValueError("null")
        fixed = _TIMESTAMP_MERGE_MAP_ANNOUNCE.pack(
            self.out_stream_id, self.epoch, stale_timeout_ns, self.clock_domain, lateness_ns
        )
        parts = [fixed]
        rules = self.rules
        if len(rules) > 65534:
            raise ValueError("count")
        parts.append(DIMENSIONS.pack(22, len(rules)))
        parts.extend([self.Rule._pack(entry) for entry in rules])
        return b"".join(parts)

    def _length(self) -> int:
        return 41 + len(self.rules) * 22

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("TimestampMergeMapAnnounce", view, position, block)
        raw = _TIMESTAMP_MERGE_MAP_ANNOUNCE.unpack_from(view, position)
        rules, _ = fixed_entries(view, end, _TIMESTAMP_MERGE_MAP_ANNOUNCE_RULE, "TimestampMergeMapAnnounce.rules")
        return cls(
            out_stream_id=raw[0],
            epoch=raw[1],
            stale_timeout_ns=None if raw[2] == 18446744073709551615 else raw[2],
            clock_domain=member(_CLOCK_DOMAIN, raw[3], cls, "clock_domain"),
            lateness_ns=None if raw[4] == 18446744073709551615 else raw[4],
            rules=tuple([cls.Rule._make(entry) for entry in rules]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampMergeMapRequest:
    """Asks for the timestamp map of an output stream and epoch.

    Template 4: a block of 12 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 903
    TEMPLATE_ID: ClassVar[int] = 4
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 12
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("out_stream_id", "uint32", 0),
        Field("epoch", "uint64", 4),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(12, 4, 903, 1)

    out_stream_id: int
    epoch: int

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
        return structured_dtype(TimestampMergeMapRequest)

    def _pack(self) -> Octets:
        return _TIMESTAMP_MERGE_MAP_REQUEST.pack(self.out_stream_id, self.epoch)

    def _length(self) -> int:
        return 20

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("TimestampMergeMapRequest", view, position, block)
        raw = _TIMESTAMP_MERGE_MAP_REQUEST.unpack_from(view, position)
        return cls(
            out_stream_id=raw[0],
            epoch=raw[1],
        )


MESSAGES: Final[dict[int, type[Message]]] = {
    1: SequenceMergeMapAnnounce,
    2: SequenceMergeMapRequest,
    3: TimestampMergeMapAnnounce,
    4: TimestampMergeMapRequest,
}
