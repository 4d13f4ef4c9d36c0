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
    """A channel: where its messages belong, and what they are."""

    name: str
    encoding: str
    """``sbe`` for ours; whatever another writer says for its own."""
    schema: str
    stream: int | None = None
    """The stream of a topic of ours."""
    kind: str = ""
    """The message's name, or ``payload``."""
    schema_encoding: str = ""
    """The language of ``definition``."""
    definition: bytes = field(default=b"", repr=False)
    """The schema itself, as the file has it."""

    @classmethod
    def of(cls, name: str, encoding: str, schema: str, schema_encoding: str = "", definition: bytes = b"") -> Topic:
        """A topic, with what its name says.

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
    """A message with the times and the place that it was recorded under."""

    topic: Topic
    sequence: int
    log_time_ns: int
    """When it was received, by the wall clock of the recording's start."""
    publish_time_ns: int
    """When its sender says it was made, by the sender's clock; the log time where it does not say."""
    data: bytes

    @property
    def is_payload(self) -> bool:
        """Whether these are a frame's bytes."""
        return self.topic.stream is not None and self.topic.kind == "payload"

    def message(self) -> Message:
        """What an SBE message says. Raises a ``MessageError`` for anything that is none of ours."""
        return decode_any(self.data)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a recording holds, known before its messages are read."""

    topics: tuple[Topic, ...]
    content_bytes: int
    """Of all messages, unpacked."""
    messages: int | None = None
    """How many there are; None where the recording does not say."""


@dataclass(frozen=True, slots=True)
class LostPart:
    """Bytes of the file that could not be read, and between which log times."""

    at: int
    end: int
    after_ns: int | None
    """None: nothing was read before."""
    before_ns: int | None

    def __str__(self) -> str:
        since = "from the beginning" if self.after_ns is None else f"from log time {self.after_ns}"
        until = "to the end" if self.before_ns is None else f"to {self.before_ns}"
        return f"bytes {self.at} to {self.end} cannot be read, {since} {until}"
