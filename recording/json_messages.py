# SPDX-License-Identifier: Apache-2.0
"""JSON messages: objects with the fields of their JSON schema, or without a schema with the fields of each object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from framegate.recording.message_fields import Bound, Field, Fields, Kind, Unreadable
from framegate.recording.recorded import Topic

_FLOAT: Final = np.dtype("f8")
_KINDS: Final = {"number": Kind.NUMBER, "integer": Kind.NUMBER, "boolean": Kind.NUMBER, "object": Kind.MESSAGE}


class JsonMessages:
    """The messages of one topic. All their numbers are float64, because JSON has no other kind."""

    has_bytes_in_texts = True

    def __init__(self, topic: Topic) -> None:
        self._fields: Fields | None = None
        try:
            said = json.loads(topic.definition) if topic.definition.strip() else None
        except (ValueError, RecursionError) as failure:
            raise Unreadable(f"its JSON schema cannot be read: {failure}") from failure
        if isinstance(said, dict) and isinstance(said.get("properties"), dict):
            self._fields = tuple(_of_schema(said["properties"], Bound()))

    @property
    def fields(self) -> Fields | None:
        """The fields of the schema; None without a schema."""
        return self._fields

    def fields_of(self, message: Any) -> Fields:
        """The fields of the schema; without one the fields of the message, sorted by name."""
        return self._fields if self._fields is not None else tuple(_of_object(message, Bound()))

    def read(self, data: bytes) -> Any:
        """Decode an object. Raises ``Unreadable``."""
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as failure:
            raise Unreadable(f"{failure}") from failure
        if not isinstance(found, dict):
            raise Unreadable("it is no JSON object")
        return found

    def value(self, message: Any, name: str) -> Any:
        """A field of an object; None if the object does not have it."""
        return message.get(name) if isinstance(message, dict) else None


def _of_schema(properties: Mapping[str, Any], bound: Bound, depth: int = 0) -> Iterator[Field]:
    for name, said in properties.items():
        bound.take(depth)
        is_many = isinstance(said, dict) and said.get("type") == "array"
        inner = said.get("items") if is_many else said
        inner = inner if isinstance(inner, dict) else {}
        kind = _KINDS.get(str(inner.get("type")), Kind.TEXT)
        if kind is Kind.MESSAGE:
            inside = inner.get("properties")
            fields = tuple(_of_schema(inside if isinstance(inside, dict) else {}, bound, depth + 1))
            yield Field(name, kind, is_many, fields=fields, type=str(inner.get("title", "")))
        else:
            yield Field(name, kind, is_many, _FLOAT if kind is Kind.NUMBER else None)


def _of_object(message: Mapping[str, Any], bound: Bound, depth: int = 0) -> Iterator[Field]:
    for name in sorted(message):
        bound.take(depth)
        value = message[name]
        is_many = isinstance(value, list)
        first = (value[0] if value else None) if is_many else value
        if isinstance(first, dict):
            yield Field(name, Kind.MESSAGE, is_many, fields=tuple(_of_object(first, bound, depth + 1)))
        elif isinstance(first, int | float):
            yield Field(name, Kind.NUMBER, is_many, _FLOAT)
        else:
            yield Field(name, Kind.TEXT, is_many)
