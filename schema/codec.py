# SPDX-License-Identifier: Apache-2.0
"""What every generated codec leans on: opening a buffer, walking groups and variable data, saying what is wrong.

A decoder looks in this order, and so does its Rust twin: room for the header, schemaId, templateId, version,
blockLength, then the bounds of everything behind the header, and only then values. So a cut message is TRUNCATED even
when it also holds an unknown enum, and no length or count is believed before the bytes are known to be there.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Protocol, TypeAlias, TypeVar

from framegate.schema.errors import (
    BufferTooSmall,
    InvalidValue,
    LengthLimit,
    Truncated,
    UnknownTemplate,
    UnsupportedVersion,
    WrongBlockLength,
    WrongSchema,
)
from framegate.schema.layout import Block, check_values, fixed_fields, invalid

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer

# Some messages have a field called `bytes`, which would hide the builtin in their annotations.
Octets: TypeAlias = bytes
Raw: TypeAlias = tuple[Any, ...]
E = TypeVar("E", bound=IntEnum)

# blockLength u16 | templateId u16 | schemaId u16 | version u16
HEADER: Final = struct.Struct("<HHHH")
HEADER_LENGTH: Final = HEADER.size
# blockLength u16 | numInGroup u16
DIMENSIONS: Final = struct.Struct("<HH")
DIMENSIONS_LENGTH: Final = DIMENSIONS.size
# length u32, then that many bytes
LENGTH: Final = struct.Struct("<I")

# What packing raises for a value it cannot take. `refuse` turns it into the error that names the field.
REFUSED: Final = (struct.error, TypeError, ValueError, AttributeError, OverflowError)


class Message(Block, Protocol):
    """What all generated messages have in common."""

    SCHEMA_ID: ClassVar[int]
    TEMPLATE_ID: ClassVar[int]
    SCHEMA_VERSION: ClassVar[int]
    IS_NEWER_VERSION_READABLE: ClassVar[bool]

    def encode(self) -> bytes: ...
    def encode_body(self) -> bytes: ...
    def encode_into(self, buffer: Buffer, offset: int = 0) -> int: ...
    def encoded_length(self) -> int: ...
    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> Self: ...
    @classmethod
    def decode_body(cls, buffer: Buffer, offset: int = 0) -> Self: ...


def view_of(buffer: Buffer, offset: int) -> memoryview:
    """The buffer as plain bytes, without a copy."""
    try:
        view = memoryview(buffer)
        if view.format != "B" or view.ndim != 1 or not view.c_contiguous:
            view = view.cast("B")
    except (TypeError, ValueError, BufferError) as error:
        raise InvalidValue("a message lies in contiguous bytes", wanted="bytes", found=type(buffer).__name__) from error
    try:
        is_negative = operator.index(offset) < 0
    except TypeError as error:
        raise InvalidValue(
            "an offset is a number of bytes", wanted="an integer", found=type(offset).__name__
        ) from error
    if is_negative:
        raise InvalidValue("an offset counts from the start of the buffer", wanted="0 or more", found=offset)
    return view


def read_header(buffer: Buffer, offset: int) -> tuple[int, int, int, int]:
    """blockLength, templateId, schemaId and version of the message at the offset."""
    view = view_of(buffer, offset)
    if len(view) - offset < HEADER_LENGTH:
        raise Truncated(
            "no room for the message header", wanted_bytes=HEADER_LENGTH, have_bytes=max(0, len(view) - offset)
        )
    block, template, schema, version = HEADER.unpack_from(view, offset)
    return block, template, schema, version


def open_message(kind: type[Message], buffer: Buffer, offset: int) -> tuple[memoryview, int, int]:
    """Checks the message header; gives the bytes, the block length and the version."""
    view = view_of(buffer, offset)
    if len(view) - offset < HEADER_LENGTH:
        read_header(view, offset)
    block, template, schema, version = HEADER.unpack_from(view, offset)
    if schema != kind.SCHEMA_ID:
        raise WrongSchema(f"not a {kind.__name__}", wanted=kind.SCHEMA_ID, found=schema)
    if template != kind.TEMPLATE_ID:
        raise UnknownTemplate(f"not a {kind.__name__}", schema=schema, wanted=kind.TEMPLATE_ID, found=template)
    if version != kind.SCHEMA_VERSION or block != kind.BLOCK_LENGTH:
        _check_other_version(kind, version, block)
    return view, block, version


def _check_other_version(kind: type[Message], version: int, block: int) -> None:
    if version > kind.SCHEMA_VERSION:
        if not kind.IS_NEWER_VERSION_READABLE:
            raise UnsupportedVersion(kind.__name__, schema=kind.SCHEMA_ID, supported=kind.SCHEMA_VERSION, found=version)
        # A newer sender may only have appended, so the tail of its block can be skipped.
        if block < kind.BLOCK_LENGTH:
            raise wrong_block(kind.__name__, kind.BLOCK_LENGTH, block, version)
        return
    wanted = sum(field.size for field in fixed_fields(kind) if field.since <= version)
    if block != wanted:
        raise wrong_block(kind.__name__, wanted, block, version)


def wrong_block(what: str, wanted: int, found: int, version: int) -> WrongBlockLength:
    """The error for a fixed block or group entry of the wrong length."""
    return WrongBlockLength(what, wanted_bytes=wanted, found_bytes=found, version=version)


def cut_short(what: str, view: memoryview, position: int, needed: int) -> Truncated:
    """The error for a part that reaches past the end of the buffer."""
    return Truncated(f"{what} ends early", wanted_bytes=needed, have_bytes=max(0, len(view) - position))


def any_block(block: struct.Struct, view: memoryview, position: int, length: int) -> Raw:
    """The fields of a block of any version; what an older one lacks reads as zero bytes."""
    if length >= block.size:
        return block.unpack_from(view, position)
    return block.unpack(bytes(view[position : position + length]).ljust(block.size, b"\0"))


def open_group(view: memoryview, position: int, block_length: int, what: str) -> tuple[int, int]:
    """Count and length of the entries, from the group header at the position."""
    if len(view) - position < DIMENSIONS_LENGTH:
        raise cut_short(what, view, position, DIMENSIONS_LENGTH)
    stride, count = DIMENSIONS.unpack_from(view, position)
    if stride < block_length:
        raise WrongBlockLength(f"entries of {what}", wanted_bytes=block_length, found_bytes=stride)
    return count, stride


def fixed_entries(view: memoryview, position: int, block: struct.Struct, what: str) -> tuple[list[Raw], int]:
    """The entries of a group without variable data, and where the group ends."""
    count, stride = open_group(view, position, block.size, what)
    start = position + DIMENSIONS_LENGTH
    end = start + count * stride
    if end > len(view):
        raise cut_short(what, view, start, end - start)
    return [block.unpack_from(view, entry) for entry in range(start, end, stride)], end


def entries_with_data(
    view: memoryview, position: int, block: struct.Struct, limits: tuple[int, ...], what: str
) -> tuple[list[tuple[Raw, list[memoryview]]], int]:
    """The entries of a group with variable data (one limit for each piece), and where the group ends."""
    count, stride = open_group(view, position, block.size, what)
    position += DIMENSIONS_LENGTH
    entries: list[tuple[Raw, list[memoryview]]] = []
    for _ in range(count):
        if len(view) - position < stride:
            raise cut_short(what, view, position, stride)
        raw = block.unpack_from(view, position)
        position += stride
        pieces: list[memoryview] = []
        for limit in limits:
            piece, position = var_data(view, position, limit, what)
            pieces.append(piece)
        entries.append((raw, pieces))
    return entries, position


def var_data(view: memoryview, position: int, limit: int, what: str) -> tuple[memoryview, int]:
    """One piece of variable data, not copied, and where it ends."""
    if len(view) - position < LENGTH.size:
        raise cut_short(what, view, position, LENGTH.size)
    (length,) = LENGTH.unpack_from(view, position)
    position += LENGTH.size
    if length > limit:
        raise LengthLimit(what, limit_bytes=limit, found_bytes=length)
    if len(view) - position < length:
        raise cut_short(what, view, position, length)
    return view[position : position + length], position + length


def member(members: Mapping[int, E], value: int, kind: type[Block], field: str) -> E:
    """The enum member with this value."""
    found = members.get(value)
    if found is None:
        raise invalid(kind.__qualname__, field, value, f"one of {', '.join(map(str, members))}")
    return found


def text(piece: memoryview, kind: type[Block], field: str) -> str:
    """A piece of variable data as text."""
    try:
        return str(piece, "ascii")
    except UnicodeDecodeError as error:
        raise invalid(kind.__qualname__, field, bytes(piece[:40]), "ASCII text") from error


def octets(value: Buffer) -> bytes:
    """Anything bytes-like as bytes. Not ``bytes(value)``, which makes zeros of a number."""
    return value if type(value) is bytes else bytes(memoryview(value))


def packed_data(limit: int, value: bytes) -> bytes:
    """Variable data with its length in front."""
    if len(value) > limit:
        raise ValueError("too long")
    return LENGTH.pack(len(value)) + value


def refuse(block: Block) -> NoReturn:
    """Raises the error that names the field whose value could not be packed."""
    check_values(block)
    raise InvalidValue("a value cannot be written", message=type(block).__qualname__)


def write_into(encoded: bytes, buffer: Buffer, offset: int) -> int:
    """Copies a whole message into the buffer, or nothing of it."""
    view = view_of(buffer, offset)
    if view.readonly:
        raise InvalidValue("encode_into writes", wanted="a writable buffer", found=type(buffer).__name__)
    if len(view) - offset < len(encoded):
        raise BufferTooSmall(
            "the message does not fit", wanted_bytes=len(encoded), have_bytes=max(0, len(view) - offset)
        )
    view[offset : offset + len(encoded)] = encoded
    return len(encoded)
