# SPDX-License-Identifier: Apache-2.0
"""A raw dump of another implementation of the protocol, read like a recording.

A dump has only messages, and nothing is invented for it. A descriptor becomes a frame if its slot header and its
payload follow directly, as in a recording. A descriptor that stands alone is a frame whose payload was not recorded. A
dump has no times of its own either: a frame has its descriptor's time, or its slot header's if the descriptor has none,
and never one before the frames that precede it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Final, Self

from framegate.recording.dump_framing import (
    MESSAGE_BYTES_MAX,
    START_BYTES,
    files_of,
    messages_of_file,
    messages_of_folder,
    prefix_of,
)
from framegate.recording.framing import Damage
from framegate.recording.other_source import OtherSource
from framegate.recording.recorded import Holdings, Recorded, Topic
from framegate.schema import Message, decode_any
from framegate.schema.errors import MessageError, RecordingMissing, UnknownContent
from framegate.schema.wire import FrameDescriptor, SlotHeader

NULL_TIME: Final = (1 << 64) - 1
_SEQUENCES: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a dump, and the message that it contains; None if it is not a known message."""

    data: bytes
    message: Message | None


class Dump(OtherSource):
    """A dump. Iterate it once. It has no index, and its times never go back."""

    def __init__(self, source: Path | IO[bytes], prefix: struct.Struct | None, name: str = "") -> None:
        """``source``: a folder of messages, or a file. ``prefix``: the form of its lengths; None for one message."""
        super().__init__(name, "raw messages")
        self._source = source
        self._prefix = prefix
        self.unknown = 0
        """How many pieces are messages of other schemas, or payloads that stand alone."""
        self._at_ns = 0
        self._topics: dict[str, Topic] = {}

    @classmethod
    def open_folder(cls, folder: Path) -> Self:
        """Open a folder with a message in each file. Raises ``RecordingMissing``; ``UnknownContent`` if empty."""
        try:
            if not files_of(folder):
                raise UnknownContent("the folder holds no files", path=folder)
        except OSError as failure:
            raise RecordingMissing(failure.strerror or str(failure), path=folder) from None
        return cls(folder, None, str(folder))

    @classmethod
    def of_stream(cls, stream: IO[bytes], name: str) -> Self | None:
        """Open a file of messages with lengths, read from its present position. None if it is not such a file."""
        at = stream.tell()
        prefix = prefix_of(stream.read(START_BYTES))
        stream.seek(at)
        return None if prefix is None else cls(stream, prefix, name)

    def close(self) -> None:
        """Close the dump's file."""
        if not isinstance(self._source, Path):
            self._source.close()

    @cached_property
    def holdings(self) -> Holdings:
        """Every topic. The dump is read once for that, and goes back to its beginning."""
        found, at = dict[Topic, None](), None if isinstance(self._source, Path) else self._source.tell()
        content = messages = 0
        for recorded in Dump(self._source, self._prefix, self.name):
            found[recorded.topic] = None
            content += len(recorded.data)
            messages += 1
        if not isinstance(self._source, Path) and at is not None:
            self._source.seek(at)
        return Holdings(tuple(found), content, messages)

    def __iter__(self) -> Iterator[Recorded]:
        for parts in self._together():
            at_ns = self._at_ns = max(self._at_ns, _time_ns(parts) or 0)
            for part in parts:
                topic = self._topic(part, parts)
                seq = getattr(parts[0].message, "seq", None) or 0
                yield Recorded(topic, seq % _SEQUENCES, at_ns, _time_ns(parts) or at_ns, part.data)

    def messages(self) -> Iterator[bytes]:
        """The messages, not decoded. Afterwards ``damage`` says what is wrong with the end of the dump."""
        try:
            if isinstance(self._source, Path):
                yield from messages_of_folder(self._source)
            elif self._prefix is not None:
                yield from messages_of_file(self._source, self._prefix)
            else:
                yield self._source.read(MESSAGE_BYTES_MAX)
        except Damage as damage:
            self.damage = str(damage)
        except OSError as failure:
            # The file has gone, or cannot be read. The messages before stay valid.
            self.damage = f"{failure.strerror or failure}"

    def _together(self) -> Iterator[list[_Part]]:
        """The pieces that belong together: a descriptor with the rest of its frame, and any other message alone."""
        parts: list[_Part] = []
        for data in self.messages():
            part = _Part(data, _decoded(data))
            if parts and not _continues(parts, part):
                yield parts
                parts = []
            parts.append(part)
        if parts:
            yield parts

    def _topic(self, part: _Part, parts: list[_Part]) -> Topic:
        stream = getattr(part.message, "stream_id", None)
        kind = type(part.message).__name__
        if part.message is None:
            kind = "payload" if len(parts) == _WHOLE else ""
        if len(parts) > 1:
            stream = getattr(parts[0].message, "stream_id", None)
        self.unknown += not kind
        name = f"stream/{stream}/{kind}" if stream is not None and kind else f"dump/{kind or 'unknown'}"
        if name not in self._topics:
            self._topics[name] = Topic.of(name, "raw" if part.message is None else "sbe", kind)
        return self._topics[name]


_WHOLE: Final = 3
"""The pieces of a frame: descriptor, slot header and payload."""


def _continues(parts: list[_Part], part: _Part) -> bool:
    """Whether a piece belongs to the frame that begins with these pieces."""
    descriptor, slot = parts[0].message, part.message
    if not isinstance(descriptor, FrameDescriptor):
        return False
    if len(parts) == 1:
        return isinstance(slot, SlotHeader) and slot.seq_commit >> 1 == descriptor.seq
    header = parts[1].message
    # A piece that is a known message counts as one, even if it is as long as the missing payload.
    is_payload = part.message is None and isinstance(header, SlotHeader) and len(part.data) == header.values_len_bytes
    return len(parts) == _WHOLE - 1 and is_payload


def _time_ns(parts: list[_Part]) -> int | None:
    for part in parts:
        timestamp_ns: int | None = getattr(part.message, "timestamp_ns", None)
        if timestamp_ns is not None and timestamp_ns != NULL_TIME:
            return timestamp_ns
    return None


def _decoded(data: bytes) -> Message | None:
    try:
        return decode_any(data)
    except MessageError:
        return None
