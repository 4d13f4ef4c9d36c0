# SPDX-License-Identifier: Apache-2.0
# Generated from schema/xml/driver.xml by `python -m dev.codegen`. Do not edit.
"""Codecs of schema 901 (shm.tensorpool.driver), version 1."""

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
    "HugepagesPolicy",
    "LeaseRevokeReason",
    "PublishMode",
    "ResponseCode",
    "Role",
    "ShmAttachRequest",
    "ShmAttachResponse",
    "ShmDetachRequest",
    "ShmDetachResponse",
    "ShmDriverShutdown",
    "ShmDriverShutdownRequest",
    "ShmLeaseKeepalive",
    "ShmLeaseRevoked",
    "ShutdownReason",
]

SCHEMA_ID: Final = 901
SCHEMA_VERSION: Final = 1
SEMANTIC_VERSION: Final = "1.0"


class HugepagesPolicy(IntEnum):
    """HugepagesPolicy, carried as uint8."""

    UNSPECIFIED = 0
    STANDARD = 1
    HUGEPAGES = 2


class LeaseRevokeReason(IntEnum):
    """LeaseRevokeReason, carried as uint8."""

    DETACHED = 1
    EXPIRED = 2
    REVOKED = 3


class PublishMode(IntEnum):
    """PublishMode, carried as uint8."""

    REQUIRE_EXISTING = 1
    EXISTING_OR_CREATE = 2


class ResponseCode(IntEnum):
    """ResponseCode, carried as int32."""

    OK = 0
    UNSUPPORTED = 1
    INVALID_PARAMS = 2
    REJECTED = 3
    INTERNAL_ERROR = 4


class Role(IntEnum):
    """Role, carried as uint8."""

    PRODUCER = 1
    CONSUMER = 2


class ShutdownReason(IntEnum):
    """ShutdownReason, carried as uint8."""

    NORMAL = 0
    ADMIN = 1
    ERROR = 2


_HUGEPAGES_POLICY: Final = {int(value): value for value in HugepagesPolicy}
_LEASE_REVOKE_REASON: Final = {int(value): value for value in LeaseRevokeReason}
_PUBLISH_MODE: Final = {int(value): value for value in PublishMode}
_RESPONSE_CODE: Final = {int(value): value for value in ResponseCode}
_ROLE: Final = {int(value): value for value in Role}
_SHUTDOWN_REASON: Final = {int(value): value for value in ShutdownReason}
_SHM_ATTACH_REQUEST: Final = Struct("<qIIBIBBI")
_SHM_ATTACH_RESPONSE: Final = Struct("<qiQQIQIIHI")
_SHM_ATTACH_RESPONSE_PAYLOAD_POOL: Final = Struct("<HII")
_SHM_DETACH_REQUEST: Final = Struct("<qQIIB")
_SHM_DETACH_RESPONSE: Final = Struct("<qi")
_SHM_LEASE_KEEPALIVE: Final = Struct("<QIIBQ")
_SHM_DRIVER_SHUTDOWN: Final = Struct("<QB")
_SHM_LEASE_REVOKED: Final = Struct("<QQIIBB")
_SHM_DRIVER_SHUTDOWN_REQUEST: Final = Struct("<qB")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmAttachRequest:
    """A client asks for a lease on a stream.

    Template 1: a block of 27 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 1
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 27
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "int64", 0),
        Field("stream_id", "uint32", 8),
        Field("client_id", "uint32", 12),
        Field("role", "uint8", 16, enum=Role),
        Field("expected_layout_version", "uint32", 17),
        Field("publish_mode", "uint8", 21, null=255, is_optional=True, enum=PublishMode),
        Field("require_hugepages", "uint8", 22, enum=HugepagesPolicy),
        Field("desired_node_id", "uint32", 23, null=4294967295, is_optional=True),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(27, 1, 901, 1)

    correlation_id: int  # Chosen by the client, echoed by the driver
    stream_id: int
    client_id: int
    role: Role
    expected_layout_version: int  # 0: any
    publish_mode: PublishMode | None = None  # Null: 255
    require_hugepages: HugepagesPolicy
    desired_node_id: int | None = None

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
        return structured_dtype(ShmAttachRequest)

    def _pack(self) -> Octets:
        if self.role not in _ROLE:
            raise ValueError("enum")
        publish_mode: int | None = self.publish_mode
        if publish_mode is None:
            publish_mode = 255
        elif publish_mode not in _PUBLISH_MODE:
            raise ValueError("enum")
        if self.require_hugepages not in _HUGEPAGES_POLICY:
            raise ValueError("enum")
        desired_node_id: int | None = self.desired_node_id
        if desired_node_id is None:
            desired_node_id = 4294967295
        elif desired_node_id == 4294967295:
            raise ValueError("null")
        return _SHM_ATTACH_REQUEST.pack(
            self.correlation_id,
            self.stream_id,
            self.client_id,
            self.role,
            self.expected_layout_version,
            publish_mode,
            self.require_hugepages,
            desired_node_id,
        )

    def _length(self) -> int:
        return 35

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmAttachRequest", view, position, block)
        raw = _SHM_ATTACH_REQUEST.unpack_from(view, position)
        return cls(
            correlation_id=raw[0],
            stream_id=raw[1],
            client_id=raw[2],
            role=member(_ROLE, raw[3], cls, "role"),
            expected_layout_version=raw[4],
            publish_mode=None if raw[5] == 255 else member(_PUBLISH_MODE, raw[5], cls, "publish_mode"),
            require_hugepages=member(_HUGEPAGES_POLICY, raw[6], cls, "require_hugepages"),
            desired_node_id=None if raw[7] == 4294967295 else raw[7],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmAttachResponse:
    """The lease and where its regions lie, or why there is none.

    Template 2: a block of 54 bytes, then groups and variable data.
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
            fixed = _SHM_ATTACH_RESPONSE_PAYLOAD_POOL.pack(self.pool_id, self.pool_nslots, self.stride_bytes)
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

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 2
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 54
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "int64", 0),
        Field("code", "int32", 8, enum=ResponseCode),
        Field("lease_id", "uint64", 12, null=18446744073709551615, is_optional=True),
        Field("lease_expiry_timestamp_ns", "uint64", 20, null=18446744073709551615, is_optional=True),
        Field("stream_id", "uint32", 28, null=4294967295, is_optional=True),
        Field("epoch", "uint64", 32, null=18446744073709551615, is_optional=True),
        Field("layout_version", "uint32", 40, null=4294967295, is_optional=True),
        Field("header_nslots", "uint32", 44, null=4294967295, is_optional=True),
        Field("header_slot_bytes", "uint16", 48, null=65535, is_optional=True),
        Field("node_id", "uint32", 50, null=4294967295, is_optional=True),
        Group("payload_pools", PayloadPool),
        Data("header_region_uri", True, 1073741824),
        Data("error_message", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(54, 2, 901, 1)

    correlation_id: int  # Chosen by the client, echoed by the driver
    code: ResponseCode
    lease_id: int | None = None
    lease_expiry_timestamp_ns: int | None = None
    stream_id: int | None = None
    epoch: int | None = None
    layout_version: int | None = None
    header_nslots: int | None = None
    header_slot_bytes: int | None = None
    node_id: int | None = None
    payload_pools: tuple[PayloadPool, ...] = ()
    header_region_uri: str = ""
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
        lease_id: int | None = self.lease_id
        if lease_id is None:
            lease_id = 18446744073709551615
        elif lease_id == 18446744073709551615:
            raise ValueError("null")
        lease_expiry_timestamp_ns: int | None = self.lease_expiry_timestamp_ns
        if lease_expiry_timestamp_ns is None:
            lease_expiry_timestamp_ns = 18446744073709551615
        elif lease_expiry_timestamp_ns == 18446744073709551615:
            raise ValueError("null")
        stream_id: int | None = self.stream_id
        if stream_id is None:
            stream_id = 4294967295
        elif stream_id == 4294967295:
            raise ValueError("null")
        epoch: int | None = self.epoch
        if epoch is None:
            epoch = 18446744073709551615
        elif epoch == 18446744073709551615:
            raise ValueError("null")
        layout_version: int | None = self.layout_version
        if layout_version is None:
            layout_version = 4294967295
        elif layout_version == 4294967295:
            raise ValueError("null")
        header_nslots: int | None = self.header_nslots
        if header_nslots is None:
            header_nslots = 4294967295
        elif header_nslots == 4294967295:
            raise ValueError("null")
        header_slot_bytes: int | None = self.header_slot_bytes
        if header_slot_bytes is None:
            header_slot_bytes = 65535
        elif header_slot_bytes == 65535:
            raise ValueError("null")
        node_id: int | None = self.node_id
        if node_id is None:
            node_id = 4294967295
        elif node_id == 4294967295:
            raise ValueError("null")
        fixed = _SHM_ATTACH_RESPONSE.pack(
            self.correlation_id,
            self.code,
            lease_id,
            lease_expiry_timestamp_ns,
            stream_id,
            epoch,
            layout_version,
            header_nslots,
            header_slot_bytes,
            node_id,
        )
        parts = [fixed]
        payload_pools = self.payload_pools
        if len(payload_pools) > 65534:
            raise ValueError("count")
        parts.append(DIMENSIONS.pack(10, len(payload_pools)))
        parts.extend([self.PayloadPool._pack(entry) for entry in payload_pools])
        parts.append(packed_data(1073741824, self.header_region_uri.encode("ascii")))
        parts.append(packed_data(1073741824, self.error_message.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 74
        total += sum([self.PayloadPool._length(entry) for entry in self.payload_pools])
        total += len(self.header_region_uri)
        total += len(self.error_message)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmAttachResponse", view, position, block)
        raw = _SHM_ATTACH_RESPONSE.unpack_from(view, position)
        payload_pools, end = entries_with_data(
            view, end, _SHM_ATTACH_RESPONSE_PAYLOAD_POOL, (1073741824,), "ShmAttachResponse.payload_pools"
        )
        header_region_uri, end = var_data(view, end, 1073741824, "ShmAttachResponse.header_region_uri")
        error_message, _ = var_data(view, end, 1073741824, "ShmAttachResponse.error_message")
        return cls(
            correlation_id=raw[0],
            code=member(_RESPONSE_CODE, raw[1], cls, "code"),
            lease_id=None if raw[2] == 18446744073709551615 else raw[2],
            lease_expiry_timestamp_ns=None if raw[3] == 18446744073709551615 else raw[3],
            stream_id=None if raw[4] == 4294967295 else raw[4],
            epoch=None if raw[5] == 18446744073709551615 else raw[5],
            layout_version=None if raw[6] == 4294967295 else raw[6],
            header_nslots=None if raw[7] == 4294967295 else raw[7],
            header_slot_bytes=None if raw[8] == 65535 else raw[8],
            node_id=None if raw[9] == 4294967295 else raw[9],
            payload_pools=tuple([cls.PayloadPool._make(*entry) for entry in payload_pools]),
            header_region_uri=text(header_region_uri, cls, "header_region_uri"),
            error_message=text(error_message, cls, "error_message"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmDetachRequest:
    """A client gives its lease back.

    Template 3: a block of 25 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 3
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 25
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "int64", 0),
        Field("lease_id", "uint64", 8),
        Field("stream_id", "uint32", 16),
        Field("client_id", "uint32", 20),
        Field("role", "uint8", 24, enum=Role),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(25, 3, 901, 1)

    correlation_id: int  # Chosen by the client, echoed by the driver
    lease_id: int
    stream_id: int
    client_id: int
    role: Role

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
        return structured_dtype(ShmDetachRequest)

    def _pack(self) -> Octets:
        if self.role not in _ROLE:
            raise ValueError("enum")
        return _SHM_DETACH_REQUEST.pack(self.correlation_id, self.lease_id, self.stream_id, self.client_id, self.role)

    def _length(self) -> int:
        return 33

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmDetachRequest", view, position, block)
        raw = _SHM_DETACH_REQUEST.unpack_from(view, position)
        return cls(
            correlation_id=raw[0],
            lease_id=raw[1],
            stream_id=raw[2],
            client_id=raw[3],
            role=member(_ROLE, raw[4], cls, "role"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmDetachResponse:
    """Result of a detach.

    Template 4: a block of 12 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 4
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 12
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "int64", 0),
        Field("code", "int32", 8, enum=ResponseCode),
        Data("error_message", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(12, 4, 901, 1)

    correlation_id: int  # Chosen by the client, echoed by the driver
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
        fixed = _SHM_DETACH_RESPONSE.pack(self.correlation_id, self.code)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.error_message.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 24 + len(self.error_message)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmDetachResponse", view, position, block)
        raw = _SHM_DETACH_RESPONSE.unpack_from(view, position)
        error_message, _ = var_data(view, end, 1073741824, "ShmDetachResponse.error_message")
        return cls(
            correlation_id=raw[0],
            code=member(_RESPONSE_CODE, raw[1], cls, "code"),
            error_message=text(error_message, cls, "error_message"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmLeaseKeepalive:
    """Extends a lease; not acknowledged.

    Template 5: a block of 25 bytes.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 5
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 25
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("lease_id", "uint64", 0),
        Field("stream_id", "uint32", 8),
        Field("client_id", "uint32", 12),
        Field("role", "uint8", 16, enum=Role),
        Field("client_timestamp_ns", "uint64", 17),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(25, 5, 901, 1)

    lease_id: int
    stream_id: int
    client_id: int
    role: Role
    client_timestamp_ns: int

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
        return structured_dtype(ShmLeaseKeepalive)

    def _pack(self) -> Octets:
        if self.role not in _ROLE:
            raise ValueError("enum")
        return _SHM_LEASE_KEEPALIVE.pack(
            self.lease_id, self.stream_id, self.client_id, self.role, self.client_timestamp_ns
        )

    def _length(self) -> int:
        return 33

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmLeaseKeepalive", view, position, block)
        raw = _SHM_LEASE_KEEPALIVE.unpack_from(view, position)
        return cls(
            lease_id=raw[0],
            stream_id=raw[1],
            client_id=raw[2],
            role=member(_ROLE, raw[3], cls, "role"),
            client_timestamp_ns=raw[4],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmDriverShutdown:
    """The driver ends; all leases are void.

    Template 6: a block of 9 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 6
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 9
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("timestamp_ns", "uint64", 0),
        Field("reason", "uint8", 8, enum=ShutdownReason),
        Data("error_message", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(9, 6, 901, 1)

    timestamp_ns: int
    reason: ShutdownReason
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
        if self.reason not in _SHUTDOWN_REASON:
            raise ValueError("enum")
        fixed = _SHM_DRIVER_SHUTDOWN.pack(self.timestamp_ns, self.reason)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.error_message.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 21 + len(self.error_message)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmDriverShutdown", view, position, block)
        raw = _SHM_DRIVER_SHUTDOWN.unpack_from(view, position)
        error_message, _ = var_data(view, end, 1073741824, "ShmDriverShutdown.error_message")
        return cls(
            timestamp_ns=raw[0],
            reason=member(_SHUTDOWN_REASON, raw[1], cls, "reason"),
            error_message=text(error_message, cls, "error_message"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmLeaseRevoked:
    """A lease has ended, whatever the cause.

    Template 7: a block of 26 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 7
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 26
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("timestamp_ns", "uint64", 0),
        Field("lease_id", "uint64", 8),
        Field("stream_id", "uint32", 16),
        Field("client_id", "uint32", 20),
        Field("role", "uint8", 24, enum=Role),
        Field("reason", "uint8", 25, enum=LeaseRevokeReason),
        Data("error_message", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(26, 7, 901, 1)

    timestamp_ns: int
    lease_id: int
    stream_id: int
    client_id: int
    role: Role
    reason: LeaseRevokeReason
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
        if self.role not in _ROLE:
            raise ValueError("enum")
        if self.reason not in _LEASE_REVOKE_REASON:
            raise ValueError("enum")
        fixed = _SHM_LEASE_REVOKED.pack(
            self.timestamp_ns, self.lease_id, self.stream_id, self.client_id, self.role, self.reason
        )
        parts = [fixed]
        parts.append(packed_data(1073741824, self.error_message.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        return 38 + len(self.error_message)

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmLeaseRevoked", view, position, block)
        raw = _SHM_LEASE_REVOKED.unpack_from(view, position)
        error_message, _ = var_data(view, end, 1073741824, "ShmLeaseRevoked.error_message")
        return cls(
            timestamp_ns=raw[0],
            lease_id=raw[1],
            stream_id=raw[2],
            client_id=raw[3],
            role=member(_ROLE, raw[4], cls, "role"),
            reason=member(_LEASE_REVOKE_REASON, raw[5], cls, "reason"),
            error_message=text(error_message, cls, "error_message"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmDriverShutdownRequest:
    """Asks the driver to end; ignored without the configured token.

    Template 8: a block of 9 bytes, then variable data.
    """

    SCHEMA_ID: ClassVar[int] = 901
    TEMPLATE_ID: ClassVar[int] = 8
    SCHEMA_VERSION: ClassVar[int] = 1
    BLOCK_LENGTH: ClassVar[int] = 9
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = False
    LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (
        Field("correlation_id", "int64", 0),
        Field("reason", "uint8", 8, enum=ShutdownReason),
        Data("token", True, 1073741824),
        Data("error_message", True, 1073741824),
    )
    _HEADER: ClassVar[Octets] = HEADER.pack(9, 8, 901, 1)

    correlation_id: int  # Chosen by the client, echoed by the driver
    reason: ShutdownReason
    token: str = ""
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
        if self.reason not in _SHUTDOWN_REASON:
            raise ValueError("enum")
        fixed = _SHM_DRIVER_SHUTDOWN_REQUEST.pack(self.correlation_id, self.reason)
        parts = [fixed]
        parts.append(packed_data(1073741824, self.token.encode("ascii")))
        parts.append(packed_data(1073741824, self.error_message.encode("ascii")))
        return b"".join(parts)

    def _length(self) -> int:
        total = 25
        total += len(self.token)
        total += len(self.error_message)
        return total

    @classmethod
    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:
        end = position + block
        if end > len(view):
            raise cut_short("ShmDriverShutdownRequest", view, position, block)
        raw = _SHM_DRIVER_SHUTDOWN_REQUEST.unpack_from(view, position)
        token, end = var_data(view, end, 1073741824, "ShmDriverShutdownRequest.token")
        error_message, _ = var_data(view, end, 1073741824, "ShmDriverShutdownRequest.error_message")
        return cls(
            correlation_id=raw[0],
            reason=member(_SHUTDOWN_REASON, raw[1], cls, "reason"),
            token=text(token, cls, "token"),
            error_message=text(error_message, cls, "error_message"),
        )


MESSAGES: Final[dict[int, type[Message]]] = {
    1: ShmAttachRequest,
    2: ShmAttachResponse,
    3: ShmDetachRequest,
    4: ShmDetachResponse,
    5: ShmLeaseKeepalive,
    6: ShmDriverShutdown,
    7: ShmLeaseRevoked,
    8: ShmDriverShutdownRequest,
}
