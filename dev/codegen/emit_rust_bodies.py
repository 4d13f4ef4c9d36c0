# SPDX-License-Identifier: Apache-2.0
"""Rust that fills an owned struct from a flyweight, and a flyweight from an owned struct."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dev.codegen.model import Block, Field, Group, Message, VarData, snake_case
from dev.codegen.rust_names import TYPES, flyweight, quoted

KEPT: Final = '.expect("a flyweight keeps its parent")'


def read(message: Message) -> Iterator[str]:
    has_tail = bool(message.groups or message.data)
    uses_buffer = bool(message.data) or any(group.data for group in message.groups)
    mutable = "mut " if message.data or len(message.groups) > 1 else ""
    decoder, buffer = flyweight(message, "Decoder"), "buffer" if uses_buffer else "_buffer"
    yield f"\nfn read({mutable}decoder: {decoder}<'_>, {buffer}: &[u8]) -> Self {{\n"
    if not has_tail:
        yield "Self {\n" + "".join(f"{field.snake}: {_got(field, 'decoder')},\n" for field in message.fields) + "}\n}\n"
        return
    # The tail moves the flyweight into its groups and back; the fixed block is read first.
    yield "".join(f"let {field.snake} = {_got(field, 'decoder')};\n" for field in message.fields)
    for group in message.groups:
        yield "".join(_read_group(message, group))
    for data in message.data:
        yield f"let {data.snake} = {_data_got(data, 'decoder')};\n"
    parts: list[Field | Group | VarData] = [*message.fields, *message.groups, *message.data]
    names = [part.snake for part in parts]
    yield "Self {\n" + "".join(f"{name},\n" for name in names) + "}\n}\n"


def _read_group(message: Message, group: Group) -> Iterator[str]:
    yield f"let mut group = decoder.{group.snake}_decoder();\n"
    yield f"let mut {group.snake} = Vec::with_capacity(usize::from(group.count()));\n"
    yield "while let Ok(Some(_)) = group.advance() {\n"
    yield f"{group.snake}.push({message.name}{group.entry} {{\n"
    yield "".join(f"{field.snake}: {_got(field, 'group')},\n" for field in group.fields)
    yield "".join(f"{data.snake}: {_data_got(data, 'group')},\n" for data in group.data)
    yield "});\n}\n"
    if message.data or group is not message.groups[-1]:
        yield f"decoder = group.parent(){KEPT};\n"


def _got(field: Field, source: str) -> str:
    value = f"{source}.{field.snake}()"
    if not field.enum:
        return value
    number = f"{field.enum}::from_number({value}.into())"
    # Both null and an unknown value read as NullVal; the check has let only null through.
    return number if field.is_optional else f'{number}.expect("the check knows the value")'


def _data_got(data: VarData, source: str) -> str:
    return f"check::{'text' if data.is_text else 'octets'}(buffer, {source}.{data.snake}_decoder())"


def encoding(message: Message) -> str:
    encoder = flyweight(message, "Encoder")
    terms = ["usize::from(Self::BLOCK_LENGTH)"]
    terms += [f"4 + {_group_length(group)}" for group in message.groups]
    terms += [f"4 + self.{data.snake}.len()" for data in message.data]
    return f"""
    /// Length of `encode()` in bytes.
    #[inline]
    pub fn encoded_length(&self) -> usize {{
        HEADER_LENGTH + self.body_length()
    }}

    #[inline]
    fn body_length(&self) -> usize {{
        {" + ".join(terms)}
    }}

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {{
        self.check_values()?;
        let mut buffer = vec![0; self.encoded_length()];
        self.encode_into(&mut buffer)?;
        Ok(buffer)
    }}

    /// Writes header and body to the start of the buffer, all or nothing; gives the number of bytes written.
    #[inline]
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {{
        self.check_values()?;
        let length = self.encoded_length();
        check::room(length, buffer.len())?;
        Self::EXPECTED.put(buffer);
        self.write({encoder}::default().wrap(sbe::WriteBuf::new(buffer), HEADER_LENGTH));
        Ok(length)
    }}

    /// Writes the body alone, as shared-memory layouts are stored.
    #[inline]
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {{
        self.check_values()?;
        let length = self.body_length();
        check::room(length, buffer.len())?;
        self.write({encoder}::default().wrap(sbe::WriteBuf::new(buffer), 0));
        Ok(length)
    }}
"""


def _group_length(group: Group) -> str:
    if not group.data:
        return f"self.{group.snake}.len() * {group.block_length}"
    terms = [str(group.block_length + 4 * len(group.data)), *(f"entry.{data.snake}.len()" for data in group.data)]
    return f"self.{group.snake}.iter().map(|entry| {' + '.join(terms)}).sum::<usize>()"


def check_values(message: Message) -> Iterator[str]:
    yield "\n#[inline]\nfn check_values(&self) -> Result<(), EncodeError> {\n"
    yield "".join(_writable(message, "self", message.name))
    for group in message.groups:
        name = f"{message.name}.{group.entry}"
        checks = "".join(_writable(group, "entry", name))
        yield f"check::countable(self.{group.snake}.len(), {quoted(message.name)}, {quoted(group.snake)})?;\n"
        if checks:
            yield f"for entry in &self.{group.snake} {{\n{checks}}}\n"
    yield "".join(_writable_data(message, "self", message.name))
    yield "Ok(())\n}\n"


def _writable(block: Block, owner: str, name: str) -> Iterator[str]:
    for field in block.fields:
        if field.is_optional and not field.enum and field.null != 0:
            null = f"{TYPES[field.primitive]}::{'MAX' if (field.null or 0) > 0 else 'MIN'}"
            yield f"check::writable({owner}.{field.snake} != Some({null}), {quoted(name)}, {quoted(field.snake)})?;\n"
    if isinstance(block, Group):
        yield from _writable_data(block, owner, name)


def _writable_data(block: Block, owner: str, name: str) -> Iterator[str]:
    for data in block.data:
        own = f"{owner}.{data.snake}"
        rule = f"{own}.len() <= {data.limit}" + (f" && {own}.is_ascii()" if data.is_text else "")
        yield f"check::writable({rule}, {quoted(name)}, {quoted(data.snake)})?;\n"


def write(message: Message) -> Iterator[str]:
    yield f"\n#[inline]\nfn write(&self, mut encoder: {flyweight(message, 'Encoder')}<'_>) {{\n"
    yield "".join(_put(field, "encoder", "self") for field in message.fields)
    for group in message.groups:
        yield "".join(_write_group(message, group))
    yield "".join(_put_data(data, "encoder", "self") for data in message.data)
    yield "}\n"


def _write_group(message: Message, group: Group) -> Iterator[str]:
    codec = f"sbe::{snake_case(message.name)}_codec::encoder::{group.name[0].upper()}{group.name[1:]}Encoder"
    yield f"let count = self.{group.snake}.len() as u16;\n"
    yield f"let mut group = encoder.{group.snake}_encoder(count, {codec}::default());\n"
    yield f"for entry in &self.{group.snake} {{\ngroup.advance(){KEPT};\n"
    yield "".join(_put(field, "group", "entry") for field in group.fields)
    yield "".join(_put_data(data, "group", "entry") for data in group.data)
    yield "}\n"
    if message.data or group is not message.groups[-1]:
        yield f"encoder = group.parent(){KEPT};\n"


def _put(field: Field, target: str, owner: str) -> str:
    own = f"{owner}.{field.snake}"
    if field.count > 1:
        return f"{target}.{field.snake}(&{own});\n"
    if field.is_optional:
        value = f"{own}.map(|value| value.number().into())" if field.enum else own
        return f"{target}.{field.snake}_opt({value});\n"
    return f"{target}.{field.snake}({own}.number().into());\n" if field.enum else f"{target}.{field.snake}({own});\n"


def _put_data(data: VarData, target: str, owner: str) -> str:
    own = f"{owner}.{data.snake}"
    return f"{target}.{data.snake}({f'{own}.as_bytes()' if data.is_text else f'&{own}'});\n"
