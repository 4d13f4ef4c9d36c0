# SPDX-License-Identifier: Apache-2.0
"""Recordings of another version of our schemas, and of schemas that nobody here knows."""

from __future__ import annotations

import struct

from framegate.schema import Message
from framegate.schema.codec import HEADER

from tests.unit.recording.recording_world import LEFT, RIGHT, Made
from tests.unit.recording.replay_frames import frame, numbered

NEWER = 9
UNKNOWN = 4711


def headed(message: Message, *, schema: int | None = None, version: int | None = None) -> bytes:
    """A message whose header says another schema or version."""
    data = bytearray(message.encode())
    block, template, own_schema, own_version = HEADER.unpack_from(data)
    said = (own_schema if schema is None else schema, own_version if version is None else version)
    struct.pack_into("<HHHH", data, 0, block, template, *said)
    return bytes(data)


def of_another_version(frames: int = 3, *, stream: int = LEFT) -> bytes:
    """Every message of a stream from a newer recorder; those of another stream are as ever."""
    other = RIGHT if stream == LEFT else LEFT
    return _file(frames, stream, other, version=NEWER)


def of_an_unknown_schema(frames: int = 3, *, stream: int = LEFT) -> bytes:
    """A stream whose messages belong to a schema of somebody else's."""
    other = RIGHT if stream == LEFT else LEFT
    return _file(frames, stream, other, schema=UNKNOWN)


def _file(frames: int, stream: int, other: int, *, schema: int | None = None, version: int | None = None) -> bytes:
    messages: list[tuple[str, Message | bytes]] = []
    for seq in range(frames):
        for topic, message in frame(seq, numbered(seq), stream=stream):
            is_typed = not isinstance(message, bytes)
            messages.append((topic, headed(message, schema=schema, version=version) if is_typed else message))
        messages += frame(seq, numbered(seq), stream=other)
    return Made(is_one_time_a_frame=True).file(messages)
