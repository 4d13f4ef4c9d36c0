# SPDX-License-Identifier: Apache-2.0
"""Recordings of another version of our schemas, and of schemas that nobody here knows."""

from __future__ import annotations

from collections.abc import Callable

from framegate.schema import Message
from framegate.schema.codec import HEADER

from tests.unit.recording.recording_world import LEFT, RIGHT, Made
from tests.unit.recording.replay_frames import frame, numbered

NEWER = 9
UNKNOWN = 4711


def headed(message: Message, *, schema: int | None = None, version: int | None = None, shorter_by: int = 0) -> bytes:
    """A message whose header says another schema, version or length of its block."""
    data = bytearray(message.encode())
    block, template, own_schema, own_version = HEADER.unpack_from(data)
    said = (own_schema if schema is None else schema, own_version if version is None else version)
    HEADER.pack_into(data, 0, block - shorter_by, template, *said)
    return bytes(data)


def of_a_newer_version(frames: int = 3, *, stream: int = LEFT) -> bytes:
    """A stream from a newer recorder, whose messages have what ours have."""
    return _file(frames, stream, lambda message: headed(message, version=NEWER))


def of_a_version_that_lacks_fields(frames: int = 3, *, stream: int = LEFT) -> bytes:
    """A stream of a version that cannot be read: its messages end before ours do."""
    return _file(frames, stream, lambda message: headed(message, version=NEWER, shorter_by=8))


def of_an_unknown_schema(frames: int = 3, *, stream: int = LEFT) -> bytes:
    """A stream whose messages belong to a schema of somebody else's."""
    return _file(frames, stream, lambda message: headed(message, schema=UNKNOWN))


def _file(frames: int, stream: int, changed: Callable[[Message], bytes]) -> bytes:
    """Two streams, of which one is changed."""
    messages: list[tuple[str, Message | bytes]] = []
    for seq in range(frames):
        for topic, message in frame(seq, numbered(seq), stream=stream):
            messages.append((topic, message if isinstance(message, bytes) else changed(message)))
        messages += frame(seq, numbered(seq), stream=RIGHT if stream == LEFT else LEFT)
    return Made(is_one_time_a_frame=True).file(messages)
