# SPDX-License-Identifier: Apache-2.0
"""One message of a recording."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from framegate.schema import Message, decode_any

_TOPIC: Final = re.compile(r"stream/(\d{1,10})/(.+)")
LOSS_TOPIC: Final = "framegate/loss"


@dataclass(frozen=True, slots=True)
class Topic:
    """A channel of a recording: the topic of its messages, and their type."""

    name: str
    encoding: str
    """``sbe`` for our own messages; other programs write the name of theirs."""
    schema: str
    stream: int | None = None
    """The stream of one of our topics; None for others."""
    kind: str = ""
    """The name of the message, or ``payload``."""
    schema_encoding: str = ""
    """The language of ``definition``."""
    definition: bytes = field(default=b"", repr=False)
    """The schema itself, as it is in the file."""

    @classmethod
    def of(cls, name: str, encoding: str, schema: str, schema_encoding: str = "", definition: bytes = b"") -> Topic:
        """Make a topic, with the stream and the kind that its name contains.

        >>> topic = Topic.of("stream/10001/FrameDescriptor", "sbe", "FrameDescriptor")
        >>> topic.stream, topic.kind
        (10001, 'FrameDescriptor')
        >>> Topic.of("/camera/image", "cdr", "sensor_msgs/Image").stream is None
        True
        """
        found = _TOPIC.fullmatch(name)
        if found is not None and int(found[1]) < 1 << 32:
            return cls(name, encoding, schema, int(found[1]), found[2])
        return cls(name, encoding, schema, schema_encoding=schema_encoding, definition=definition)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A message, with its times and its place in the recording."""

    topic: Topic
    sequence: int
    log_time_ns: int
    """When it was received, by the wall clock of the recording's start."""
    publish_time_ns: int
    """When its sender made it, by the sender's clock; the log time if the sender did not say."""
    data: bytes

    @property
    def is_payload(self) -> bool:
        """Whether this is the payload of a frame."""
        return self.topic.stream is not None and self.topic.kind == "payload"

    def message(self) -> Message:
        """Decode an SBE message. Raises a ``MessageError`` for anything that is not one of ours."""
        return decode_any(self.data)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a recording holds, known before its messages are read."""

    topics: tuple[Topic, ...]
    content_bytes: int
    """The bytes of all messages, unpacked."""
    messages: int | None = None
    """The number of messages; None if the recording does not say."""


@dataclass(frozen=True, slots=True)
class LostPart:
    """Bytes of the file that could not be read, and the log times around them."""

    at: int
    end: int
    after_ns: int | None
    """The log time before them; None if nothing was read before."""
    before_ns: int | None

    def __str__(self) -> str:
        since = "from the beginning" if self.after_ns is None else f"from log time {self.after_ns}"
        until = "to the end" if self.before_ns is None else f"to {self.before_ns}"
        return f"bytes {self.at} to {self.end} cannot be read, {since} {until}"
