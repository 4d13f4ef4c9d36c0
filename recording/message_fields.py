# SPDX-License-Identifier: Apache-2.0
"""The fields of a topic's messages, independent of the language of their schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

import numpy as np


class Unreadable(Exception):
    """A message that does not match its schema, or a schema that is invalid."""


class Kind(Enum):
    """The kinds of values that a field can have."""

    NUMBER = "number"
    TEXT = "text"
    BYTES = "bytes"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message."""

    name: str
    kind: Kind
    is_many: bool = False
    dtype: np.dtype[Any] | None = None
    """Of numbers."""
    fields: Fields = ()
    """The fields, if its value is a message."""
    type: str = ""
    """The name of that message's type; empty if it has none."""


Fields: TypeAlias = tuple[Field, ...]
_DEPTH_MAX: Final = 32
_FIELDS_MAX: Final = 1 << 16


@dataclass(slots=True)
class Bound:
    """A bound on how far a schema unfolds: a few lines can name more fields than fit into memory."""

    left: int = _FIELDS_MAX

    def take(self, depth: int) -> None:
        """Count one field at this depth. Raises ``Unreadable`` for a type within itself, and for too many fields."""
        self.left -= 1
        if depth > _DEPTH_MAX or self.left < 0:
            raise Unreadable("its type holds itself, or too many fields")


class Messages(Protocol):
    """The messages of a topic, decoded by the library for their encoding."""

    has_bytes_in_texts: bool
    """Whether bytes are stored as text in base 64."""

    def read(self, data: bytes) -> Any:
        """Decode a message. Raises ``Unreadable``."""

    def value(self, message: Any, name: str) -> Any:
        """A field of a message; None if this message does not have it."""

    @property
    def fields(self) -> Fields | None:
        """The fields of the schema; None if only each message shows its fields."""

    def fields_of(self, message: Any) -> Fields:
        """The fields of a message."""


class OneType:
    """The fields of messages that all have one type."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    @property
    def fields(self) -> Fields:
        """The fields of the type."""
        return self._fields

    def fields_of(self, message: Any) -> Fields:
        """The fields of a message, which are those of the type."""
        del message
        return self._fields


def named(fields: Fields, name: str) -> Field | None:
    """The field with this name; None if there is none."""
    return next((field for field in fields if field.name == name), None)


def leaves(fields: Fields) -> Iterator[Field]:
    """All fields that are not messages themselves, at every depth."""
    for field in fields:
        if field.kind is Kind.MESSAGE:
            yield from leaves(field.fields)
        else:
            yield field
