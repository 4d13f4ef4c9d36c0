# SPDX-License-Identifier: Apache-2.0
"""ROS messages, decoded by ``rosbags`` with the definition in the file itself.

If a file has no definition, as a rosbag2 from before ROS 2 Iron, the standard definition of that name is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, cast

import numpy as np
from framegate.recording.message_fields import Bound, Field, Kind, OneType, Unreadable
from framegate.recording.recorded import Topic
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.base import normalize_fieldname
from rosbags.typesys.msg import normalize_msgtype
from rosbags.typesys.store import Typestore

_IDL_PART: Final = "=" * 80 + "\nIDL: "
_WITHOUT_FIELDS: Final = "structure_needs_at_least_one_member"
_NUMBERS: Final = {"char": "u1", "byte": "u1", "bool": "?"}
_TEXTS: Final = {"string", "wstring", "wchar"}


class RosMessages(OneType):
    """The messages of one type, in the encoding of ROS 1 or in CDR."""

    has_bytes_in_texts = False

    def __init__(self, topic: Topic) -> None:
        """Raises ``Unreadable`` for an invalid definition, or a type that has none."""
        self._is_ros1 = topic.encoding == "ros1"
        self._type = normalize_msgtype(topic.schema)
        try:
            self._store = _store(topic, self._type, is_ros1=self._is_ros1)
            super().__init__(tuple(_fields(self._store, self._type, Bound())))
        except Exception as failure:  # invalid text can raise anything in the parser
            raise Unreadable(f"its definition cannot be read: {failure}") from failure

    def read(self, data: bytes) -> Any:
        """Decode a message. Its arrays are views of the data. Raises ``Unreadable``."""
        view = memoryview(data)
        try:
            if self._is_ros1:
                return self._store.deserialize_ros1(view, self._type)
            return self._store.deserialize_cdr(view, self._type)
        except Exception as failure:  # invalid bytes can raise anything in the decoder
            raise Unreadable(f"{failure}") from failure

    def value(self, message: Any, name: str) -> Any:
        """A field of a message; None if its type does not have it."""
        return getattr(message, normalize_fieldname(name), None)


def _store(topic: Topic, name: str, *, is_ros1: bool) -> Typestore:
    text = topic.definition.decode()
    if not text.strip():
        return _standard(is_ros1=is_ros1)
    types: dict[str, Any] = {}
    if topic.schema_encoding == "ros2idl":
        for part in _idl_parts(text):
            types.update(get_types_from_idl(part))
    else:
        types.update(get_types_from_msg(text, name))
    store = get_typestore(Stores.EMPTY)
    _complete(types, name, {**_standard(is_ros1=is_ros1).fielddefs, **store.fielddefs})
    store.register(types)
    return store


def _complete(types: dict[str, Any], name: str, standard: dict[str, Any]) -> None:
    """Add the definitions that every installation has, because some writers leave them out."""
    wanted, seen = [name], {name}
    while wanted:
        current = wanted.pop()
        if current not in types:
            types[current] = standard[current]
        inside = set(_named_in(types[current][1])) - seen
        seen |= inside
        wanted += inside


def _idl_parts(text: str) -> list[str]:
    if not text.startswith(_IDL_PART):
        return [text]
    return [part.partition("\n")[2] for part in text.split(_IDL_PART)[1:]]


@cache
def _standard(*, is_ros1: bool) -> Typestore:
    return get_typestore(Stores.ROS1_NOETIC if is_ros1 else Stores.LATEST)


def _named_in(fields: Any) -> Iterator[str]:
    for _, (node, inner) in fields:
        kind, what = inner[0] if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (node, inner)
        if kind == Nodetype.NAME:
            yield what


def _fields(store: Typestore, name: str, bound: Bound, depth: int = 0) -> Iterator[Field]:
    for field, (node, inner) in cast(Any, store.fielddefs[name][1]):
        is_many = node in (Nodetype.ARRAY, Nodetype.SEQUENCE)
        kind, what = inner[0] if is_many else (node, inner)
        bound.take(depth)
        if field == _WITHOUT_FIELDS:
            continue
        if kind == Nodetype.NAME:
            inside = tuple(_fields(store, what, bound, depth + 1))
            yield Field(field, Kind.MESSAGE, is_many, fields=inside, type=what)
        elif what[0] in _TEXTS:
            yield Field(field, Kind.TEXT, is_many)
        else:
            yield Field(field, Kind.NUMBER, is_many, np.dtype(_NUMBERS.get(what[0], what[0])))
