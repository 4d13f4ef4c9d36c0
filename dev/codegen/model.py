# SPDX-License-Identifier: Apache-2.0
"""Messages, groups and fields: what the emitters need, made from the flat tokens of the IR."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from dev.codegen.ir import Ir, Presence, Signal, Token

SIZES: Final = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}


class UnsupportedSchema(Exception):
    """The XML uses something that the emitters do not know; no schema here needs it."""


@dataclass(frozen=True)
class EnumValue:
    """One name of an enum."""

    name: str
    value: int
    description: str


@dataclass(frozen=True)
class Enum:
    """An enum and the integer that carries it."""

    name: str
    primitive: str
    null: int
    values: tuple[EnumValue, ...]


@dataclass(frozen=True)
class Field:
    """A field of a fixed block. ``count`` above 1 makes it an array; a constant takes no byte."""

    name: str
    offset: int
    primitive: str
    count: int
    is_optional: bool
    null: int | None
    constant: int | None
    enum: str | None
    since: int
    description: str

    @property
    def snake(self) -> str:
        return snake_case(self.name)

    @property
    def is_octets(self) -> bool:
        return self.count > 1 and self.primitive == "uint8"

    @property
    def size(self) -> int:
        return 0 if self.constant is not None else SIZES[self.primitive] * self.count


@dataclass(frozen=True)
class VarData:
    """Text or bytes behind the fixed block."""

    name: str
    is_text: bool
    limit: int
    description: str

    @property
    def snake(self) -> str:
        return snake_case(self.name)


@dataclass(frozen=True)
class Block:
    """What messages and group entries share: fixed fields, then variable data."""

    name: str
    number: int
    block_length: int
    all_fields: tuple[Field, ...]
    data: tuple[VarData, ...]
    description: str

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields that take bytes."""
        return tuple(field for field in self.all_fields if field.constant is None)

    @cached_property
    def constants(self) -> tuple[Field, ...]:
        return tuple(field for field in self.all_fields if field.constant is not None)

    @property
    def snake(self) -> str:
        return snake_case(self.name)

    def block_length_at(self, version: int) -> int:
        """The length of the block as a sender of ``version`` writes it."""
        return sum(field.size for field in self.fields if field.since <= version)


@dataclass(frozen=True)
class Group(Block):
    """A repeating group; its entry class is named in the singular."""

    @property
    def entry(self) -> str:
        singular = self.name.removesuffix("s")
        return singular[0].upper() + singular[1:]


@dataclass(frozen=True)
class Message(Block):
    """A message; ``number`` is its template id."""

    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Schema:
    """One schema."""

    schema_id: int
    version: int
    package: str
    semantic_version: str
    enums: tuple[Enum, ...]
    messages: tuple[Message, ...]

    def enum(self, name: str) -> Enum:
        return next(enum for enum in self.enums if enum.name == name)


def snake_case(name: str) -> str:
    """``headerNslots`` becomes ``header_nslots``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def build(ir: Ir) -> Schema:
    """The schema of one IR file; messages in the order of their template ids, enums in the order of their names."""
    reader = _Reader(ir.tokens)
    messages = sorted(reader.messages(), key=lambda message: message.number)
    enums = tuple(reader.enums[name] for name in sorted(reader.enums))
    return Schema(ir.schema_id, ir.schema_version, ir.package, ir.semantic_version, enums, tuple(messages))


class _Reader:
    """Walks the tokens once, front to back."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens
        self._next = 0
        self.enums: dict[str, Enum] = {}

    def messages(self) -> list[Message]:
        found: list[Message] = []
        while self._next < len(self._tokens):
            token = self._take()
            if token.signal is Signal.BEGIN_MESSAGE:
                fields, groups, data = self._body(Signal.END_MESSAGE)
                found.append(
                    Message(token.name, token.field_id, token.size, fields, data, token.description, groups),
                )
        return found

    def _take(self) -> Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _body(self, end: Signal) -> tuple[tuple[Field, ...], tuple[Group, ...], tuple[VarData, ...]]:
        fields: list[Field] = []
        groups: list[Group] = []
        data: list[VarData] = []
        while (token := self._take()).signal is not end:
            if token.signal is Signal.BEGIN_FIELD:
                fields.append(self._field(token))
            elif token.signal is Signal.BEGIN_GROUP:
                groups.append(self._group(token))
            elif token.signal is Signal.BEGIN_VAR_DATA:
                data.append(self._var_data(token))
            else:
                raise UnsupportedSchema(f"{token.name}: {token.signal.name} in a message or group")
        _check_packed(fields)
        return tuple(fields), tuple(groups), tuple(data)

    def _field(self, begin: Token) -> Field:
        encoding = self._take()
        if encoding.signal is Signal.BEGIN_ENUM:
            self._enum(encoding)
        elif encoding.signal is not Signal.ENCODING:
            raise UnsupportedSchema(f"{begin.name}: {encoding.signal.name} as the type of a field")
        self._expect(Signal.END_FIELD)
        is_optional = begin.presence is Presence.OPTIONAL
        if begin.version > 0 and not is_optional:
            raise UnsupportedSchema(f"{begin.name}: a field that older versions lack has to be optional")
        if is_optional and encoding.null is None:
            raise UnsupportedSchema(f"{begin.name}: an optional type has to name its null value")
        return Field(
            name=begin.name,
            offset=begin.offset,
            primitive=encoding.primitive,
            count=max(1, encoding.size // SIZES[encoding.primitive]),
            is_optional=is_optional,
            null=encoding.null if is_optional else None,
            constant=encoding.constant,
            enum=encoding.name if encoding.signal is Signal.BEGIN_ENUM else None,
            since=begin.version,
            description=begin.description,
        )

    def _enum(self, begin: Token) -> None:
        values: list[EnumValue] = []
        while (token := self._take()).signal is not Signal.END_ENUM:
            if token.constant is None:
                raise UnsupportedSchema(f"{begin.name}.{token.name}: an enum value without a number")
            values.append(EnumValue(token.name, token.constant, token.description))
        if begin.null is None:
            raise UnsupportedSchema(f"{begin.name}: an enum without a null value")
        self.enums[begin.name] = Enum(begin.name, begin.primitive, begin.null, tuple(values))

    def _group(self, begin: Token) -> Group:
        self._dimensions()
        fields, groups, data = self._body(Signal.END_GROUP)
        if groups or begin.version > 0 or any(field.since for field in fields):
            raise UnsupportedSchema(f"{begin.name}: groups inside groups, and groups that older versions lack")
        return Group(begin.name, begin.field_id, begin.size, fields, data, begin.description)

    def _dimensions(self) -> None:
        self._expect(Signal.BEGIN_COMPOSITE)
        sizes = [self._expect(Signal.ENCODING).primitive for _ in range(2)]
        self._expect(Signal.END_COMPOSITE)
        if sizes != ["uint16", "uint16"]:
            raise UnsupportedSchema(f"a group header of {sizes}")

    def _var_data(self, begin: Token) -> VarData:
        self._expect(Signal.BEGIN_COMPOSITE)
        length, content = self._expect(Signal.ENCODING), self._expect(Signal.ENCODING)
        self._expect(Signal.END_COMPOSITE)
        self._expect(Signal.END_VAR_DATA)
        if length.primitive != "uint32" or length.maximum is None or begin.version > 0:
            raise UnsupportedSchema(
                f"{begin.name}: variable data without a u32 length and a maximum, or of a later version"
            )
        return VarData(begin.name, content.character_encoding == "US-ASCII", length.maximum, begin.description)

    def _expect(self, signal: Signal) -> Token:
        token = self._take()
        if token.signal is not signal:
            raise UnsupportedSchema(f"{token.name}: {token.signal.name} where {signal.name} belongs")
        return token


def _check_packed(fields: list[Field]) -> None:
    # The codecs pack a block with one `struct` format, which has no room for gaps.
    position = 0
    for field in fields:
        if field.offset != position:
            raise UnsupportedSchema(f"{field.name} at {field.offset}: the block has a gap at {position}")
        position += field.size
