# SPDX-License-Identifier: Apache-2.0
"""Protobuf messages, decoded by ``mcap-protobuf-support`` with the descriptors in the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from framegate.recording.message_fields import Bound, Field, Kind, OneType, Unreadable
from framegate.recording.recorded import Topic
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from mcap.records import Schema
from mcap_protobuf.decoder import DecoderFactory

_NUMBERS: Final = {
    FieldDescriptor.CPPTYPE_INT32: "i4",
    FieldDescriptor.CPPTYPE_INT64: "i8",
    FieldDescriptor.CPPTYPE_UINT32: "u4",
    FieldDescriptor.CPPTYPE_UINT64: "u8",
    FieldDescriptor.CPPTYPE_DOUBLE: "f8",
    FieldDescriptor.CPPTYPE_FLOAT: "f4",
    FieldDescriptor.CPPTYPE_BOOL: "?",
    FieldDescriptor.CPPTYPE_ENUM: "i4",
}


class ProtobufMessages(OneType):
    """The messages of one type."""

    has_bytes_in_texts = False

    def __init__(self, topic: Topic) -> None:
        """Raises ``Unreadable`` for descriptors that are invalid, or lack the type."""
        schema = Schema(id=1, name=topic.schema, encoding=topic.schema_encoding, data=topic.definition)
        try:
            decode = DecoderFactory().decoder_for(topic.encoding, schema)
            if decode is None:
                raise Unreadable("its schema is none of protobuf")
            self._decode = decode
            super().__init__(tuple(_fields(decode(b"").DESCRIPTOR, Bound())))
        except Exception as failure:  # invalid descriptors can raise anything in the parser
            raise Unreadable(f"its descriptors cannot be read: {failure}") from failure

    def read(self, data: bytes) -> Any:
        """Decode a message. Raises ``Unreadable``."""
        try:
            return self._decode(data)
        except Exception as failure:  # invalid bytes can raise anything in the decoder
            raise Unreadable(f"{failure}") from failure

    def value(self, message: Any, name: str) -> Any:
        """A field of a message. A field that was not sent has its default."""
        return getattr(message, name, None)


def _fields(descriptor: Descriptor, bound: Bound, depth: int = 0) -> Iterator[Field]:
    for field in descriptor.fields:
        bound.take(depth)
        is_many = field.is_repeated
        if field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                # The keys of a map differ from message to message.
                yield Field(field.name, Kind.TEXT, is_many=True)
                continue
            inside = tuple(_fields(field.message_type, bound, depth + 1))
            yield Field(field.name, Kind.MESSAGE, is_many, fields=inside, type=field.message_type.full_name)
        elif field.cpp_type in _NUMBERS:
            yield Field(field.name, Kind.NUMBER, is_many, np.dtype(_NUMBERS[field.cpp_type]))
        else:
            is_text = field.type == FieldDescriptor.TYPE_STRING
            yield Field(field.name, Kind.TEXT if is_text else Kind.BYTES, is_many)
