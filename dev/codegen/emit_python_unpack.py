# SPDX-License-Identifier: Apache-2.0
"""Python that unpacks a message: where every part lies first, then the values, so that bounds come before enums."""

from __future__ import annotations

from collections.abc import Iterator

from dev.codegen.model import Block, Field, Group, Message, VarData
from dev.codegen.python_names import constant, entry_struct, wrapped


def unpack(message: Message) -> Iterator[str]:
    struct = f"_{constant(message.name)}"
    has_versions = any(field.since for field in message.fields)
    yield "\n    @classmethod\n"
    yield "    def _unpack(cls, view: memoryview, position: int, block: int, version: int) -> Self:\n"
    yield "        end = position + block\n"
    yield f'        if end > len(view):\n            raise cut_short("{message.name}", view, position, block)\n'
    if has_versions:
        yield f"        raw = any_block({struct}, view, position, block)\n"
    else:
        yield f"        raw = {struct}.unpack_from(view, position)\n"
    parts: list[Group | VarData] = [*message.groups, *message.data]
    for part in parts:
        # The last end is of no use: nothing follows.
        end = "_" if part is parts[-1] else "end"
        yield _walk(message, part, end)
    yield "        return cls(\n"
    yield "".join(f"            {line},\n" for line in values(message))
    for group in message.groups:
        call = f"cls.{group.entry}._make({'*' if group.data else ''}entry)"
        yield f"            {group.snake}=tuple([{call} for entry in {group.snake}]),\n"
    for data in message.data:
        yield f"            {data.snake}={data_value(data, data.snake)},\n"
    yield "        )\n"


def _walk(message: Message, part: Group | VarData, end: str) -> str:
    name = f'"{message.name}.{part.snake}"'
    if isinstance(part, VarData):
        return f"        {part.snake}, {end} = var_data(view, end, {part.limit}, {name})\n"
    struct = f"_{entry_struct(message, part)}"
    if not part.data:
        return f"        {part.snake}, {end} = fixed_entries(view, end, {struct}, {name})\n"
    limits = ", ".join(str(data.limit) for data in part.data) + ("," if len(part.data) == 1 else "")
    return wrapped(
        f"        {part.snake}, {end} = entries_with_data(", ["view", "end", struct, f"({limits})", name], ")"
    )


def values(block: Block) -> Iterator[str]:
    index = 0
    for field in block.fields:
        width = 1 if field.is_octets else field.count
        raw = f"raw[{index}]" if width == 1 else f"raw[{index}:{index + width}]"
        yield f"{field.snake}={_value(field, raw)}"
        index += width


def _value(field: Field, raw: str) -> str:
    value = f'member(_{constant(field.enum)}, {raw}, cls, "{field.snake}")' if field.enum else raw
    if not field.is_optional:
        return value
    absent = f"version < {field.since} or {raw} == {field.null}" if field.since else f"{raw} == {field.null}"
    return f"None if {absent} else {value}"


def data_value(data: VarData, piece: str) -> str:
    return f'text({piece}, cls, "{data.snake}")' if data.is_text else f"Octets({piece})"
