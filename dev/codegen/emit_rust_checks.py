# SPDX-License-Identifier: Apache-2.0
"""Rust that looks at a message before a flyweight reads it: the bounds of all parts, then values, as in Python."""

from __future__ import annotations

from collections.abc import Iterator

from dev.codegen.model import Field, Group, Message, Schema
from dev.codegen.rust_names import TYPES, quoted


def check_body(message: Message, schema: Schema) -> Iterator[str]:
    values = "".join(_value_checks(message, schema))
    needs_version = any(field.since for field in message.fields)
    needs_fixed = any(field.enum for field in message.fields)
    version = "version" if needs_version else "_version"
    arguments = f"buffer: &[u8], start: usize, block: u16, {version}: u16"
    yield f"""
    #[inline]
    fn check_body({arguments}) -> Result<(), DecodeError> {{
        let mut walk = Walk::new(buffer, start);
        {"let fixed = " if needs_fixed else ""}walk.take(usize::from(block), {quoted(message.name)})?;
"""
    for group in message.groups:
        yield _group_bounds(message, group)
    for data in message.data:
        kept = f"let {data.snake} = " if data.is_text else ""
        yield f"{kept}walk.data({data.limit}, {quoted(f'{message.name}.{data.snake}')})?;\n"
    yield f"{values}Ok(())\n}}\n"


def _group_bounds(message: Message, group: Group) -> str:
    what = quoted(f"{message.name}.{group.snake}")
    if not group.data:
        kept = f"let {group.snake} = " if any(field.enum for field in group.fields) else ""
        return f"{kept}walk.fixed_group({group.block_length}, {what})?;\n"
    pieces = "".join(f"walk.data({data.limit}, {what})?;\n" for data in group.data)
    return f"""let mut {group.snake} = walk;
        let dimensions = walk.group({group.block_length}, {what})?;
        for _ in 0..dimensions.count {{
            walk.take(dimensions.stride, {what})?;
{pieces}}}
"""


def _value_checks(message: Message, schema: Schema) -> Iterator[str]:
    yield "".join(_enum_check(field, "fixed", message.name, schema) for field in message.fields if field.enum)
    for group in message.groups:
        yield "".join(_entry_checks(message, group, schema))
    for data in message.data:
        if data.is_text:
            yield f"check::ascii({data.snake}, {quoted(message.name)}, {quoted(data.snake)})?;\n"


def _entry_checks(message: Message, group: Group, schema: Schema) -> Iterator[str]:
    name = f"{message.name}.{group.entry}"
    enums = "".join(_enum_check(field, "entry", name, schema) for field in group.fields if field.enum)
    if not group.data:
        if enums:
            yield f"for entry in {group.snake} {{\n{enums}}}\n"
        return
    what = quoted(f"{message.name}.{group.snake}")
    # The second walk goes over what the first one has measured: a cut entry cannot hide a bad value before it.
    yield f"let dimensions = {group.snake}.group({group.block_length}, {what})?;\nfor _ in 0..dimensions.count {{\n"
    yield f"{'let entry = ' if enums else ''}{group.snake}.take(dimensions.stride, {what})?;\n{enums}"
    for data in group.data:
        piece = f"{group.snake}.data({data.limit}, {what})?"
        yield f"check::ascii({piece}, {quoted(name)}, {quoted(data.snake)})?;\n" if data.is_text else f"{piece};\n"
    yield "}\n"


def _enum_check(field: Field, block: str, name: str, schema: Schema) -> str:
    enum = schema.enum(field.enum or "")
    number = f"check::{TYPES[enum.primitive]}_at({block}, {field.offset})"
    known = f"{enum.name}::from_number(number).is_some()"
    if field.is_optional:
        known = f"number == {field.null} || {known}"
    arguments = f"{known}, {quoted(name)}, {quoted(field.snake)}, i64::from(number)"
    check = f"let number = {number};\ncheck::known({arguments})?;\n"
    return f"if version >= {field.since} {{\n{check}}}\n" if field.since else check
