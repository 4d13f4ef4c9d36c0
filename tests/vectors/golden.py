# SPDX-License-Identifier: Apache-2.0
"""The golden vectors of golden.toml, with their values as messages."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from framegate.schema import Message
from framegate.schema.layout import Block, Data, Field, Group

FILE: Final = Path(__file__).with_name("golden.toml")


@dataclass(frozen=True)
class Vector:
    """Bytes and the message they are."""

    name: str
    kind: type[Message]
    is_body: bool
    data: bytes
    message: Message

    def __str__(self) -> str:
        return f"{self.name}-{self.kind.__name__}"


def load() -> list[Vector]:
    """All vectors, in the order of the file."""
    return [_vector(entry) for entry in tomllib.loads(FILE.read_text())["vector"]]


def _vector(entry: dict[str, Any]) -> Vector:
    module, name = entry["message"].split(".")
    kind: type[Message] = getattr(import_module(f"framegate.schema.{module}"), name)
    message: Any = _build(kind, entry["values"])
    return Vector(entry["id"], kind, entry["kind"] == "body", bytes.fromhex(entry["hex"]), message)


def _build(kind: type[Block], values: dict[str, Any]) -> Block:
    parts = {part.name: part for part in kind.LAYOUT}
    assert values.keys() <= parts.keys(), f"{kind.__qualname__} has no {values.keys() - parts.keys()}"
    return kind(**{name: _value(parts[name], value) for name, value in values.items()})


def _value(part: Field | Group | Data, value: Any) -> Any:
    if isinstance(part, Group):
        return tuple(_build(part.entry, entry) for entry in value)
    if isinstance(part, Data):
        return value if part.is_text else bytes.fromhex(value)
    return tuple(value) if isinstance(value, list) else value


VECTORS: Final = load()
