# SPDX-License-Identifier: Apache-2.0
"""Writes one Python module per schema: enums, then a frozen dataclass per message with precompiled structs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dev.codegen.emit_python_pack import length, pack
from dev.codegen.emit_python_unpack import data_value, unpack, values
from dev.codegen.ir import LETTERS
from dev.codegen.model import Block, Enum, Field, Group, Message, Schema
from dev.codegen.python_names import WIDTH, constant, entry_struct
from dev.codegen.schemas import SchemaSource

HEAD: Final = '''# SPDX-License-Identifier: Apache-2.0
# Generated from schema/xml/{module}.xml by `python -m dev.codegen`. Do not edit.
"""Codecs of schema {schema_id} ({package}), version {version}."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import TYPE_CHECKING, ClassVar, Final

from framegate.schema.codec import (
{codec_names}
)
from framegate.schema.layout import {layout_names}

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from typing_extensions import Buffer

__all__ = [
{all_names}
]

SCHEMA_ID: Final = {schema_id}
SCHEMA_VERSION: Final = {version}
SEMANTIC_VERSION: Final = "{semantic_version}"
'''

ENCODE: Final = '''
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
'''


def emit(schema: Schema, source: SchemaSource) -> str:
    """The text of the module."""
    body = "".join(_sections(schema, source))
    codec = {"Message", "Octets", "REFUSED", "open_message", "refuse", "view_of", "write_into", "HEADER", "cut_short"}
    codec |= {name for name in _OPTIONAL_NAMES if f"{name}(" in body or f"{name}." in body or f": {name}" in body}
    layout = ["Data", "Field", "Group"] + ["structured_dtype"] * ("structured_dtype(" in body)
    head = HEAD.format(
        module=source.module,
        schema_id=schema.schema_id,
        package=schema.package,
        version=schema.version,
        semantic_version=schema.semantic_version,
        codec_names="\n".join(f"    {name}," for name in sorted(codec, key=_import_order)),
        layout_names=", ".join(layout),
        all_names="\n".join(f'    "{name}",' for name in sorted(_public(schema), key=_import_order)),
    )
    return head + body


_OPTIONAL_NAMES: Final = (
    "DIMENSIONS", "Raw", "any_block", "entries_with_data", "fixed_entries", "member", "octets", "packed_data", "text",
    "var_data",
)  # fmt: skip


def _import_order(name: str) -> tuple[int, str]:
    # Constants, then classes, then functions: the order that ruff keeps import lists in.
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _public(schema: Schema) -> list[str]:
    constants = ["MESSAGES", "SCHEMA_ID", "SCHEMA_VERSION", "SEMANTIC_VERSION"]
    return constants + [enum.name for enum in schema.enums] + [message.name for message in schema.messages]


def _sections(schema: Schema, source: SchemaSource) -> Iterator[str]:
    for enum in schema.enums:
        yield _enum(enum)
    yield "\n\n"
    for enum in schema.enums:
        yield f"_{constant(enum.name)}: Final = {{int(value): value for value in {enum.name}}}\n"
    for message in schema.messages:
        yield f"_{constant(message.name)}: Final = Struct({_format(message)!r})\n".replace("'", '"')
        for group in message.groups:
            yield f"_{entry_struct(message, group)}: Final = Struct({_format(group)!r})\n".replace("'", '"')
    for message in schema.messages:
        yield "".join(_message(message, schema, source))
    yield "\n\nMESSAGES: Final[dict[int, type[Message]]] = {\n"
    for message in schema.messages:
        yield f"    {message.number}: {message.name},\n"
    yield "}\n"


def _enum(enum: Enum) -> str:
    lines = [f"\n\nclass {enum.name}(IntEnum):", f'    """{enum.name}, carried as {enum.primitive}."""', ""]
    for value in enum.values:
        note = f"  # {value.description}" if value.description else ""
        lines.append(f"    {value.name} = {value.value}{note}")
    return "\n".join(lines) + "\n"


def _format(block: Block) -> str:
    letters = [
        f"{f.count}s" if f.is_octets else f"{f.count if f.count > 1 else ''}{LETTERS[f.primitive]}"
        for f in block.fields
    ]
    return "<" + "".join(letters)


def _message(message: Message, schema: Schema, source: SchemaSource) -> Iterator[str]:
    yield f"\n\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass {message.name}:\n"
    yield f'    """{message.description}.\n\n    {_facts(message)}\n    """\n'
    for group in message.groups:
        yield "".join(_entry_class(message, group))
    yield f"""
    SCHEMA_ID: ClassVar[int] = {schema.schema_id}
    TEMPLATE_ID: ClassVar[int] = {message.number}
    SCHEMA_VERSION: ClassVar[int] = {schema.version}
    BLOCK_LENGTH: ClassVar[int] = {message.block_length}
    IS_NEWER_VERSION_READABLE: ClassVar[bool] = {source.is_newer_version_readable}
"""
    yield "".join(_constants(message))
    yield _layout(message, "    ")
    header = f"{message.block_length}, {message.number}, {schema.schema_id}, {schema.version}"
    yield f"    _HEADER: ClassVar[Octets] = HEADER.pack({header})\n\n"
    yield "".join(_attributes(message, "    "))
    for group in message.groups:
        yield f"    {group.snake}: tuple[{group.entry}, ...] = ()\n"
    yield "".join(_data_attributes(message, "    "))
    yield ENCODE
    if not message.groups and (not message.data or message.name == "SlotHeader"):
        yield _dtype(message)
    yield "".join(pack(message, f"_{constant(message.name)}", "    "))
    yield "".join(length(message, 8 + message.block_length, "    "))
    yield "".join(unpack(message))


def _facts(message: Message) -> str:
    rest = ["groups"] if message.groups else []
    rest += ["variable data"] if message.data else []
    tail = f", then {' and '.join(rest)}" if rest else ""
    return f"Template {message.number}: a block of {message.block_length} bytes{tail}."


def _constants(block: Block) -> Iterator[str]:
    for field in block.constants:
        yield f"    {field.snake}: ClassVar[int] = {field.constant}\n"


def _layout(message: Block, indent: str) -> str:
    rows = [_field_row(field) for field in message.fields]
    groups = message.groups if isinstance(message, Message) else ()
    rows += [f'Group("{group.snake}", {group.entry})' for group in groups]
    rows += [f'Data("{data.snake}", {data.is_text}, {data.limit})' for data in message.data]
    body = "".join(f"{indent}    {row},\n" for row in rows)
    return f"{indent}LAYOUT: ClassVar[tuple[Field | Group | Data, ...]] = (\n{body}{indent})\n"


def _field_row(field: Field) -> str:
    parts = [f'"{field.snake}"', f'"{field.primitive}"', str(field.offset)]
    if field.count > 1:
        parts.append(f"count={field.count}")
    if field.is_optional:
        parts += [f"null={field.null}", "is_optional=True"]
    if field.enum:
        parts.append(f"enum={field.enum}")
    if field.since:
        parts.append(f"since={field.since}")
    return f"Field({', '.join(parts)})"


def _attributes(block: Block, indent: str) -> Iterator[str]:
    for field in block.fields:
        line = f"{indent}{field.snake}: {_type(field)}{_default(field)}"
        note = f"  # {field.description}" if field.description else ""
        yield f"{line}{note if len(line + note) <= WIDTH else ''}\n"


def _type(field: Field) -> str:
    if field.count > 1:
        return "Octets" if field.is_octets else "tuple[int, ...]"
    return (field.enum or "int") + (" | None" if field.is_optional else "")


def _default(field: Field) -> str:
    if field.is_optional:
        return " = None"
    if field.snake.startswith("pad"):
        return f' = b"\\0" * {field.count}' if field.count > 1 else " = 0"
    return ""


def _data_attributes(block: Block, indent: str) -> Iterator[str]:
    for data in block.data:
        kind, default = ("str", '""') if data.is_text else ("Octets", 'b""')
        yield f"{indent}{data.snake}: {kind} = {default}\n"


def _dtype(message: Message) -> str:
    # A static method cannot share its name with a field: TensorHeader has one called dtype.
    name = "numpy_dtype" if any(field.snake == "dtype" for field in message.fields) else "dtype"
    return f'''
    @staticmethod
    def {name}() -> np.dtype[np.void]:
        """The fixed block as a packed numpy dtype: enums as integers, nulls as their sentinels."""
        return structured_dtype({message.name})
'''


def _entry_class(message: Message, group: Group) -> Iterator[str]:
    indent = " " * 8
    description = group.description or f"One entry of ``{group.snake}``"
    yield "\n    @dataclass(frozen=True, slots=True, kw_only=True)\n"
    yield f'    class {group.entry}:\n        """{description}."""\n\n'
    yield f"{indent}BLOCK_LENGTH: ClassVar[int] = {group.block_length}\n"
    yield _layout(group, indent) + "\n"
    yield "".join(_attributes(group, indent))
    yield "".join(_data_attributes(group, indent))
    yield "".join(pack(group, f"_{entry_struct(message, group)}", indent))
    if group.data:
        yield "".join(length(group, group.block_length, indent))
    data_argument = ", data: list[memoryview]" if group.data else ""
    yield f"\n{indent}@classmethod\n{indent}def _make(cls, raw: Raw{data_argument}) -> Self:\n{indent}    return cls(\n"
    yield "".join(f"{indent}        {line},\n" for line in values(group))
    for index, data in enumerate(group.data):
        yield f"{indent}        {data.snake}={data_value(data, f'data[{index}]')},\n"
    yield f"{indent}    )\n"


PACKAGE: Final = '''# SPDX-License-Identifier: Apache-2.0
# Generated by `python -m dev.codegen`. Do not edit.
"""Generated codecs. Import them as framegate.schema.wire, .driver, .merge and .control."""
'''
