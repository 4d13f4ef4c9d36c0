# SPDX-License-Identifier: Apache-2.0
"""What fields the messages of a topic have, whichever language their schema is written in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

import numpy as np


class Unreadable(Exception):
    """A message that is none of its schema, or a schema that makes no sense."""


class Kind(Enum):
    """What a field holds."""

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
    """Of a message within the message."""
    type: str = ""
    """The name of that message's type, where it has one."""


Fields: TypeAlias = tuple[Field, ...]
_DEPTH_MAX: Final = 32
_FIELDS_MAX: Final = 1 << 16


@dataclass(slots=True)
class Bound:
    """How far a schema may unfold: a few lines of one can name more fields than fit into memory."""

    left: int = _FIELDS_MAX

    def take(self, depth: int) -> None:
        """One field more, so deep. Raises ``Unreadable`` where a type holds itself, or too many fields."""
        self.left -= 1
        if depth > _DEPTH_MAX or self.left < 0:
            raise Unreadable("its type holds itself, or too many fields")


class Messages(Protocol):
    """The messages of a topic, decoded by the library that is made for them."""

    has_bytes_in_texts: bool
    """Whether bytes are texts in base 64."""

    def read(self, data: bytes) -> Any:
        """A message as its library gives it. Raises ``Unreadable``."""

    def value(self, message: Any, name: str) -> Any:
        """A field of a message; None where this message does not have it."""

    @property
    def fields(self) -> Fields | None:
        """What the schema says; None where only a message itself tells."""

    def fields_of(self, message: Any) -> Fields:
        """What a message has."""


class OneType:
    """The fields of messages that all have one schema."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    @property
    def fields(self) -> Fields:
        """What the schema says."""
        return self._fields

    def fields_of(self, message: Any) -> Fields:
        """The same for each message."""
        del message
        return self._fields


def named(fields: Fields, name: str) -> Field | None:
    """The field of this name."""
    return next((field for field in fields if field.name == name), None)


def leaves(fields: Fields) -> Iterator[Field]:
    """All fields that are no messages, at whatever depth."""
    for field in fields:
        if field.kind is Kind.MESSAGE:
            yield from leaves(field.fields)
        else:
            yield field
