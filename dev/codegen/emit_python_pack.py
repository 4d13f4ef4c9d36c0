# SPDX-License-Identifier: Apache-2.0
"""Python that packs a message: `_pack`, which raises anything for a value it cannot take, and `_length`."""

from __future__ import annotations

from collections.abc import Iterator

from dev.codegen.model import Block, Field, Group, Message, VarData
from dev.codegen.python_names import constant, wrapped


def pack(block: Block, struct: str, indent: str) -> Iterator[str]:
    yield f"\n{indent}def _pack(self) -> Octets:\n"
    values: list[str] = []
    for field in block.fields:
        lines, value = _packed_field(field)
        values.append(value)
        yield "".join(f"{indent}    {line}\n" for line in lines)
    groups = block.groups if isinstance(block, Message) else ()
    if not groups and not block.data:
        yield wrapped(f"{indent}    return {struct}.pack(", values, ")")
        return
    if block.fields:
        yield wrapped(f"{indent}    fixed = {struct}.pack(", values, ")")
    yield f"{indent}    parts{' = [fixed]' if block.fields else ': list[Octets] = []'}\n"
    for group in groups:
        yield _packed_group(group, indent)
    for data in block.data:
        value = f'self.{data.snake}.encode("ascii")' if data.is_text else f"octets(self.{data.snake})"
        yield f"{indent}    parts.append(packed_data({data.limit}, {value}))\n"
    yield f'{indent}    return b"".join(parts)\n'


def _packed_field(field: Field) -> tuple[list[str], str]:
    own, local = f"self.{field.snake}", field.snake
    if field.is_octets:
        return [
            f"{local} = octets({own})",
            f"if len({local}) != {field.count}:",
            '    raise ValueError("length")',
        ], local
    if field.count > 1:
        return [f"if len({own}) != {field.count}:", '    raise ValueError("length")'], f"*{own}"
    if field.enum and not field.is_optional:
        return [f"if {own} not in _{constant(field.enum)}:", '    raise ValueError("enum")'], own
    if not field.is_optional:
        return [], own
    if field.enum:
        check = [f"elif {local} not in _{constant(field.enum)}:", '    raise ValueError("enum")']
    else:
        check = [f"elif {local} == {field.null}:", '    raise ValueError("null")'] if field.null != 0 else []
    kind = "int | None"
    return [f"{local}: {kind} = {own}", f"if {local} is None:", f"    {local} = {field.null}", *check], local


def _packed_group(group: Group, indent: str) -> str:
    return (
        f"{indent}    {group.snake} = self.{group.snake}\n"
        f"{indent}    if len({group.snake}) > 65534:\n"
        f'{indent}        raise ValueError("count")\n'
        f"{indent}    parts.append(DIMENSIONS.pack({group.block_length}, len({group.snake})))\n"
        f"{indent}    parts.extend([self.{group.entry}._pack(entry) for entry in {group.snake}])\n"
    )


def length(block: Block, fixed: int, indent: str) -> Iterator[str]:
    groups = block.groups if isinstance(block, Message) else ()
    terms: list[str] = []
    for group in groups:
        lengths = f"sum([self.{group.entry}._length(entry) for entry in self.{group.snake}])"
        terms.append(lengths if group.data else f"len(self.{group.snake}) * {group.block_length}")
    terms += [_data_length(data) for data in block.data]
    # Each part has four bytes in front: the group header, or the length of the data.
    total = str(fixed + 4 * len(terms))
    yield f"\n{indent}def _length(self) -> int:\n"
    if len(terms) < 2:
        yield f"{indent}    return {' + '.join([total, *terms])}\n"
        return
    yield f"{indent}    total = {total}\n"
    yield "".join(f"{indent}    total += {term}\n" for term in terms)
    yield f"{indent}    return total\n"


def _data_length(data: VarData) -> str:
    return f"len(self.{data.snake})" if data.is_text else f"len(octets(self.{data.snake}))"
