# SPDX-License-Identifier: Apache-2.0
"""``state.bin`` of a replay: where each of its streams goes on after a barrier (PROTOCOL 17.3).

::

    0          8           12            16
    | FGREPLAY | version 1 | head_bytes  | head, JSON |      little-endian
    | 8 bytes  | u32       | u32         |            |

The streams have their barriers at different places of one file, so each stream has its own place.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from framegate.schema.errors import CheckpointDamaged, CheckpointNewer
from framegate.tools.replay.place import Place

MAGIC: Final = b"FGREPLAY"
VERSION: Final = 1
_START: Final = struct.Struct("<8sII")
_U64_MAX: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamState:
    """The place of one stream at its barrier."""

    stream: int
    loop: int
    """How often the file had been replayed before, from 0."""
    position: int
    """How many messages the file has up to the last frame before the barrier. Later messages are sent again."""
    recorded_epoch: int | None
    """The epoch of the file that was being sent; None if none was."""
    source_epoch: int | None
    """The epoch of the regions in which the barrier was sent; None if the stream had ended and owed none."""
    after_seq: int | None
    """The last frame of that epoch before the barrier."""

    @property
    def place(self) -> Place:
        """To compare."""
        return Place(self.loop, self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """The places of all streams of a replay at one checkpoint."""

    operator_id: str
    checkpoint_id: int
    epoch: int
    source: str
    """What identifies the recording (``source_mark``)."""
    streams: tuple[StreamState, ...]

    def encode(self) -> bytes:
        """The file."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()
        return _START.pack(MAGIC, VERSION, len(text)) + text


def decode_replay_state(data: bytes) -> ReplayState:
    """Decode a state. Raises CheckpointDamaged for anything ``encode`` does not write, CheckpointNewer for later
    versions.

    >>> state = ReplayState(operator_id="replay-1", checkpoint_id=2, epoch=1, source="", streams=())
    >>> decode_replay_state(state.encode()) == state
    True
    """
    if len(data) < _START.size:
        raise CheckpointDamaged("the state is cut short", want=_START.size, have=len(data))
    magic, version, head_bytes = _START.unpack_from(data)
    if magic != MAGIC:
        raise CheckpointDamaged("this is not the state of a replay", found=magic.hex())
    if version > VERSION:
        raise CheckpointNewer("a later version", want=VERSION, have=version)
    if version != VERSION or _START.size + head_bytes != len(data):
        raise CheckpointDamaged("a state's head makes no sense", version=version, want=head_bytes, have=len(data))
    try:
        head = json.loads(data[_START.size :])
        streams = tuple(_stream(each) for each in head["streams"])
        if len({each.stream for each in streams}) != len(streams):
            raise ValueError("a stream is named twice")
        return ReplayState(
            operator_id=str(head["operator_id"]),
            checkpoint_id=_count(head["checkpoint_id"]),
            epoch=_count(head["epoch"]),
            source=str(head["source"]),
            streams=streams,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as broken:
        raise CheckpointDamaged(f"a replay's state makes no sense: {broken!r}") from None


def _stream(found: Mapping[str, Any]) -> StreamState:
    return StreamState(
        stream=_count(found["stream"]),
        loop=_count(found["loop"]),
        position=_count(found["position"]),
        recorded_epoch=_optional(found["recorded_epoch"]),
        source_epoch=_optional(found["source_epoch"]),
        after_seq=_optional(found["after_seq"]),
    )


def _optional(found: object) -> int | None:
    return None if found is None else _count(found)


def _count(found: object) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _U64_MAX:
        raise TypeError(f"a count is wanted, not {found!r}")
    return found
