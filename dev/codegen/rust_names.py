# SPDX-License-Identifier: Apache-2.0
"""How things of the schema are called in Rust."""

from __future__ import annotations

from typing import Final

from dev.codegen.model import Message, snake_case

TYPES: Final = {
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip


def camel_case(name: str) -> str:
    """``REALTIME_SYNCED`` becomes ``RealtimeSynced``."""
    return "".join(part.capitalize() for part in name.split("_"))


def quoted(name: str) -> str:
    """A Rust string literal."""
    return f'"{name}"'


def flyweight(message: Message, role: str) -> str:
    """The path of the SBE tool's ``Decoder`` or ``Encoder`` of a message."""
    return f"sbe::{snake_case(message.name)}_codec::{message.name}{role}"
