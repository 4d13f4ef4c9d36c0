# SPDX-License-Identifier: Apache-2.0
"""``state.bin`` of a join agent: the state that it resumes from, and the frames that waited at the cut.

::

    0          8           12            16
    | FGJOINST | version 1 | head_bytes  | head, JSON | for each frame: length u32, record      little-endian
    | 8 bytes  | u32       | u32         |            |

A record is a FrameDescriptor, a SlotHeader and the payload (PROTOCOL 17.2), as in the in-flight files. Frames are
stored in the order in which they came, over all streams. ``README.md`` describes the head.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from framegate.schema.errors import CheckpointDamaged, CheckpointNewer

MAGIC: Final = b"FGJOINST"
VERSION: Final = 1
_START: Final = struct.Struct("<8sII")
_LENGTH: Final = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class OperatorImage:
    """A state that was read from a file."""

    head: Mapping[str, Any]
    frames: tuple[bytes, ...]


def encode_head(head: Mapping[str, Any]) -> bytes:
    """Encode what comes before the frames. They follow, each with its length before it.

    >>> image = decode_state(encode_head({"frames": 1}) + bytes.fromhex("020000006162"))
    >>> image.head["frames"], image.frames
    (1, (b'ab',))
    """
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    return _START.pack(MAGIC, VERSION, len(text)) + text


def decode_state(data: bytes) -> OperatorImage:
    """Decode the file. Raises CheckpointDamaged for other bytes, CheckpointNewer for a later version."""
    if len(data) < _START.size:
        raise CheckpointDamaged("a state is cut", want=_START.size, have=len(data))
    magic, version, head_bytes = _START.unpack_from(data)
    if magic != MAGIC:
        raise CheckpointDamaged("this is no join's state", found=magic.hex())
    if version > VERSION:
        raise CheckpointNewer("a later version", want=VERSION, have=version)
    end = _START.size + head_bytes
    if version != VERSION or end > len(data):
        raise CheckpointDamaged("a state's head makes no sense", version=version, want=end, have=len(data))
    try:
        head = json.loads(data[_START.size : end])
    except (ValueError, RecursionError) as broken:
        raise CheckpointDamaged(f"a state's head is no JSON: {broken}") from None
    frames = tuple(_records(data, end))
    if not isinstance(head, dict) or head.get("frames") != len(frames):
        raise CheckpointDamaged("a state holds other frames than it says", have=len(frames))
    return OperatorImage(head, frames)


def _records(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data):
        if at + _LENGTH.size > len(data):
            raise CheckpointDamaged("a state is cut", want=at + _LENGTH.size, have=len(data))
        body = at + _LENGTH.size
        end = body + _LENGTH.unpack_from(data, at)[0]
        if end > len(data):
            raise CheckpointDamaged("a state is cut", want=end, have=len(data))
        yield data[body:end]
        at = end
