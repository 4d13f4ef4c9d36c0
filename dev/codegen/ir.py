# SPDX-License-Identifier: Apache-2.0
"""Reads the SBE tool's serialized intermediate representation: a frame, then tokens up to the end of the file.

The file is itself SBE (``sbe-ir.xml`` in the tool's jar), little-endian, without message headers:

    frame:  irId i32 | irVersion i32 | schemaVersion i32 | packageName | namespaceName | semanticVersion
    token:  offset i32 | size i32 | fieldId i32 | version i32 | componentTokenCount i32
            | signal u8 | primitiveType u8 | byteOrder u8 | presence u8 | deprecated i32 | 12 texts
    text:   length u16 | bytes (numbers: in the token's primitive type)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

_FRAME: Final = struct.Struct("<iii")
_TOKEN: Final = struct.Struct("<iiiiiBBBBi")
_LENGTH: Final = struct.Struct("<H")

# Primitive types by their number in the IR; each with the `struct` letter that holds it.
PRIMITIVES: Final = (
    ("none", ""), ("char", "c"), ("int8", "b"), ("int16", "h"), ("int32", "i"), ("int64", "q"),
    ("uint8", "B"), ("uint16", "H"), ("uint32", "I"), ("uint64", "Q"), ("float", "f"), ("double", "d"),
)  # fmt: skip
LETTERS: Final = dict(PRIMITIVES)


class Signal(IntEnum):
    """What a token begins, ends or is."""

    BEGIN_MESSAGE = 1
    END_MESSAGE = 2
    BEGIN_COMPOSITE = 3
    END_COMPOSITE = 4
    BEGIN_FIELD = 5
    END_FIELD = 6
    BEGIN_GROUP = 7
    END_GROUP = 8
    BEGIN_ENUM = 9
    VALID_VALUE = 10
    END_ENUM = 11
    BEGIN_SET = 12
    CHOICE = 13
    END_SET = 14
    BEGIN_VAR_DATA = 15
    END_VAR_DATA = 16
    ENCODING = 17


class Presence(IntEnum):
    """Whether a field may be null, or has one value only."""

    REQUIRED = 0
    OPTIONAL = 1
    CONSTANT = 2


@dataclass(frozen=True, slots=True)
class Token:
    """One token; numbers are None where the XML and the SBE defaults say nothing."""

    signal: Signal
    name: str
    referenced_name: str
    description: str
    field_id: int
    version: int
    offset: int
    size: int
    count: int
    primitive: str
    presence: Presence
    constant: int | None
    minimum: int | None
    maximum: int | None
    null: int | None
    character_encoding: str


@dataclass(frozen=True, slots=True)
class Ir:
    """The whole file."""

    schema_id: int
    schema_version: int
    package: str
    semantic_version: str
    tokens: tuple[Token, ...]


def parse(data: bytes) -> Ir:
    """Reads the content of an ``.sbeir`` file; a file cut short raises ``struct.error`` or ``ValueError``."""
    schema_id, ir_version, schema_version = _FRAME.unpack_from(data)
    if ir_version != 0:
        raise ValueError(f"IR version {ir_version} is not known; the layout above is that of version 0")
    (package, _namespace, semantic_version), position = _texts(data, _FRAME.size, 3)
    tokens: list[Token] = []
    while position < len(data):
        token, position = _token(data, position)
        tokens.append(token)
    return Ir(schema_id, schema_version, package.decode(), semantic_version.decode(), tuple(tokens))


def _token(data: bytes, position: int) -> tuple[Token, int]:
    offset, size, field_id, version, count, signal, primitive, byte_order, presence, _ = _TOKEN.unpack_from(
        data, position
    )
    if byte_order != 0:
        raise ValueError("a big-endian field: every schema here is little-endian")
    texts, end = _texts(data, position + _TOKEN.size, 12)
    name, constant, minimum, maximum, null, encoding, _epoch, _unit, _semantic, description, referenced, _package = (
        texts
    )
    letter = PRIMITIVES[primitive][1]
    token = Token(
        signal=Signal(signal),
        name=name.decode(),
        referenced_name=referenced.decode(),
        description=description.decode(),
        field_id=field_id,
        version=version,
        offset=offset,
        size=size,
        count=count,
        primitive=PRIMITIVES[primitive][0],
        presence=Presence(presence),
        constant=_number(constant, letter),
        minimum=_number(minimum, letter),
        maximum=_number(maximum, letter),
        null=_number(null, letter),
        character_encoding=encoding.decode(),
    )
    return token, end


def _texts(data: bytes, position: int, count: int) -> tuple[list[bytes], int]:
    found: list[bytes] = []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if position + length > len(data):
            raise ValueError("the file ends inside a text")
        found.append(data[position : position + length])
        position += length
    return found, position


def _number(data: bytes, letter: str) -> int | None:
    if not data:
        return None
    (value,) = struct.unpack(f"<{letter}", data)
    return int(value)
