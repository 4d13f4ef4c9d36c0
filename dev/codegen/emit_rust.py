# SPDX-License-Identifier: Apache-2.0
"""Writes one Rust module per schema: enums, checks before the SBE tool's flyweights, owned structs built on them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dev.codegen import emit_rust_bodies, emit_rust_checks
from dev.codegen.model import Block, Enum, Field, Message, Schema
from dev.codegen.rust_names import TYPES, camel_case, flyweight, quoted
from dev.codegen.schemas import SchemaSource

SERDE: Final = '#[cfg_attr(feature = "probe", derive(serde::Serialize, serde::Deserialize))]\n'
HEX: Final = '#[cfg_attr(feature = "probe", serde(with = "crate::hex"))]\n'

HEAD: Final = """// SPDX-License-Identifier: Apache-2.0
// Generated from schema/xml/{module}.xml by `python -m dev.codegen`. Do not edit.
//! Checked decoders and owned messages of schema {schema_id} ({package}), version {version}.

use {crate} as sbe;

use crate::check::{{self, Expected, Walk, HEADER_LENGTH}};
use crate::error::{{DecodeError, EncodeError}};

/// Number of the schema.
pub const SCHEMA_ID: u16 = {schema_id};
/// Version that is written.
pub const SCHEMA_VERSION: u16 = {version};
"""


class RustfmtMissing(Exception):
    """The generated Rust cannot be brought into its fixed form."""


def emit(schema: Schema, source: SchemaSource) -> str:
    """The text of the module, before rustfmt."""
    head = HEAD.format(
        module=source.module,
        schema_id=schema.schema_id,
        package=schema.package,
        version=schema.version,
        crate=source.crate,
    )
    enums = "".join(_enum(enum) for enum in schema.enums)
    messages = "".join("".join(_message(message, schema, source)) for message in schema.messages)
    return head + enums + messages


def format_in_place(paths: list[Path], configuration: Path) -> None:
    """Runs rustfmt as the workspace does: with its configuration file where it has one, else with the defaults."""
    program = shutil.which("rustfmt")
    if program is None:
        raise RustfmtMissing(
            "rustfmt is needed to generate the Rust codecs: install it with `rustup component add rustfmt`."
        )
    settings = configuration if configuration.exists() else Path("/dev/null")
    command = [program, "--edition", "2024", "--config-path", str(settings), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RustfmtMissing(f"rustfmt refused the generated code:\n{done.stderr}")


# --- enums ----------------------------------------------------------------------------------------------


def _enum(enum: Enum) -> str:
    number = TYPES[enum.primitive]
    variants = "".join(
        f"/// {value.description or value.name}.\n{camel_case(value.name)} = {value.value},\n" for value in enum.values
    )
    arms = "".join(f"{value.value} => Some(Self::{camel_case(value.name)}),\n" for value in enum.values)
    return f"""
/// {enum.name}, carried as {number}.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
{SERDE}#[cfg_attr(feature = "probe", serde(into = "{number}", try_from = "{number}"))]
#[repr({number})]
pub enum {enum.name} {{
{variants}}}

impl {enum.name} {{
    /// The enum with this number, None when the number is not defined.
    #[inline]
    pub const fn from_number(number: {number}) -> Option<Self> {{
        match number {{
{arms}_ => None,
        }}
    }}

    /// The number on the wire.
    #[inline]
    pub const fn number(self) -> {number} {{
        self as {number}
    }}
}}

impl From<{enum.name}> for {number} {{
    #[inline]
    fn from(value: {enum.name}) -> Self {{
        value.number()
    }}
}}

impl TryFrom<{number}> for {enum.name} {{
    type Error = String;

    fn try_from(number: {number}) -> Result<Self, String> {{
        Self::from_number(number).ok_or_else(|| format!("{enum.name} has no value {{number}}"))
    }}
}}
"""


# --- messages -------------------------------------------------------------------------------------------


def _message(message: Message, schema: Schema, source: SchemaSource) -> Iterator[str]:
    name = message.name
    for group in message.groups:
        yield _struct(f"{name}{group.entry}", f"One entry of `{name}::{group.snake}`", group, "")
    yield _struct(name, message.description, message, _group_members(message))
    yield f"\nimpl {name} {{\n"
    yield "".join(_constants(message, source))
    yield _decoding(message)
    yield "".join(emit_rust_checks.check_body(message, schema))
    yield "".join(emit_rust_bodies.read(message))
    yield emit_rust_bodies.encoding(message)
    yield "".join(emit_rust_bodies.check_values(message))
    yield "".join(emit_rust_bodies.write(message))
    yield "}\n"


def _struct(name: str, description: str, block: Block, groups: str) -> str:
    members = "".join(_member(field) for field in block.fields)
    data = "".join(
        f"{'' if data.is_text else HEX}pub {data.snake}: {'String' if data.is_text else 'Vec<u8>'},\n"
        for data in block.data
    )
    derived = f"#[derive(Clone, Debug, PartialEq, Eq)]\n{SERDE}"
    return f"\n/// {description}.\n{derived}pub struct {name} {{\n{members}{groups}{data}}}\n"


def _member(field: Field) -> str:
    note = f"/// {field.description}.\n" if field.description else ""
    hexed = HEX if field.is_octets else ""
    return f"{note}{hexed}pub {field.snake}: {_type(field)},\n"


def _type(field: Field) -> str:
    one = field.enum or TYPES[field.primitive]
    if field.count > 1:
        return f"[{one}; {field.count}]"
    return f"Option<{one}>" if field.is_optional else one


def _group_members(message: Message) -> str:
    return "".join(f"pub {group.snake}: Vec<{message.name}{group.entry}>,\n" for group in message.groups)


def _constants(message: Message, source: SchemaSource) -> Iterator[str]:
    yield f"""    /// Number of the message in its schema.
    pub const TEMPLATE_ID: u16 = {message.number};
    /// Length of the fixed block.
    pub const BLOCK_LENGTH: u16 = {message.block_length};
"""
    for field in message.constants:
        yield f"/// A constant, which takes no byte.\npub const {field.snake.upper()}: u8 = {field.constant};\n"
    sinces = sorted({field.since for field in message.fields} | {0})
    blocks = ", ".join(f"({since}, {message.block_length_at(since)})" for since in sinces)
    yield f"""
    const EXPECTED: Expected = Expected {{
        message: {quoted(message.name)},
        schema_id: SCHEMA_ID,
        template_id: Self::TEMPLATE_ID,
        version: SCHEMA_VERSION,
        block_length: Self::BLOCK_LENGTH,
        is_newer_version_readable: {str(source.is_newer_version_readable).lower()},
        older_blocks: &[{blocks}],
    }};
"""


def _decoding(message: Message) -> str:
    decoder = flyweight(message, "Decoder")
    return f"""
    /// A flyweight over a message that starts with its header; it cannot panic, all of it has been looked at.
    #[inline]
    pub fn checked(buffer: &[u8]) -> Result<{decoder}<'_>, DecodeError> {{
        let header = Self::EXPECTED.open(buffer)?;
        Self::check_body(buffer, HEADER_LENGTH, header.block_length, header.version)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok({decoder}::default().wrap(buffer, HEADER_LENGTH, header.block_length, header.version))
    }}

    /// The same for a body that has no message header before it.
    #[inline]
    pub fn checked_body(buffer: &[u8]) -> Result<{decoder}<'_>, DecodeError> {{
        Self::check_body(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION)?;
        let buffer = sbe::ReadBuf::new(buffer);
        Ok({decoder}::default().wrap(buffer, 0, Self::BLOCK_LENGTH, SCHEMA_VERSION))
    }}

    /// Reads a message that starts with its header.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {{
        Ok(Self::read(Self::checked(buffer)?, buffer))
    }}

    /// Reads a body that has no message header before it.
    pub fn decode_body(buffer: &[u8]) -> Result<Self, DecodeError> {{
        Ok(Self::read(Self::checked_body(buffer)?, buffer))
    }}
"""


# --- the enum over all messages -------------------------------------------------------------------------


def emit_index(schemas: Mapping[SchemaSource, Schema]) -> str:
    """The text of ``mod.rs``: the modules, and one enum over the messages of all schemas."""
    pairs = [(source, message) for source, schema in schemas.items() for message in schema.messages]
    modules = "".join(f"pub mod {source.module};\n" for source in schemas)
    variants = "".join(f"{message.name}({source.module}::{message.name}),\n" for source, message in pairs)
    return f"""// SPDX-License-Identifier: Apache-2.0
// Generated by `python -m dev.codegen`. Do not edit.
//! One module per schema, and the enum over all of their messages.

use crate::check::Header;
use crate::error::{{DecodeError, EncodeError}};

{modules}
/// Any message of any schema.
#[derive(Clone, Debug, PartialEq, Eq)]
{SERDE}#[cfg_attr(feature = "probe", serde(tag = "message", content = "values"))]
#[allow(missing_docs)]
pub enum Message {{
{variants}}}

impl Message {{
    /// Reads the message that starts with its header, whichever schema it belongs to.
    pub fn decode(buffer: &[u8]) -> Result<Self, DecodeError> {{
        let header = Header::read(buffer)?;
        {_dispatch(schemas, "decode", "header.schema_id", "header.template_id")}
    }}

    /// Reads a body that has no message header before it.
    pub fn decode_body(schema_id: u16, template_id: u16, buffer: &[u8]) -> Result<Self, DecodeError> {{
        {_dispatch(schemas, "decode_body", "schema_id", "template_id")}
    }}

    /// Message header and body.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {{
        match self {{
{"".join(f"Self::{message.name}(message) => message.encode()," for _, message in pairs)}
        }}
    }}

    /// Writes the body alone.
    pub fn encode_body_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {{
        match self {{
{"".join(f"Self::{message.name}(message) => message.encode_body_into(buffer)," for _, message in pairs)}
        }}
    }}
}}
"""


def _dispatch(schemas: Mapping[SchemaSource, Schema], call: str, schema_id: str, template_id: str) -> str:
    arms = "".join(
        f"({schema.schema_id}, {message.number}) => "
        f"{source.module}::{message.name}::{call}(buffer).map(Self::{message.name}),\n"
        for source, schema in schemas.items()
        for message in schema.messages
    )
    known = " | ".join(str(schema.schema_id) for schema in schemas.values())
    return f"""match ({schema_id}, {template_id}) {{
{arms}({known}, found) => Err(DecodeError::UnknownTemplate {{ schema: {schema_id}, wanted: None, found }}),
            (found, _) => Err(DecodeError::WrongSchema {{ wanted: None, found }}),
        }}"""
