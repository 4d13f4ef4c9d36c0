# SPDX-License-Identifier: Apache-2.0
"""The largest message of each topic, by the indexes after the chunks. Chunks without an index are read."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

import numpy as np
import numpy.typing as npt
from framegate.recording.pieces import Piece
from framegate.recording.reader import Recording
from mcap.opcode import Opcode

_MESSAGE_HEAD: Final = 9 + 22
"""How many bytes a record has before a message's data: the head, and the fields of the message."""
_INDEX_HEAD: Final = struct.Struct("<9x H I")
_ENTRY_BYTES: Final = 16


def largest_messages(recording: Recording) -> dict[str, int]:
    """For each topic, a number of bytes that no message exceeds. It may be larger than the largest message."""
    topics = {topic.name: 0 for topic in recording.holdings.topics}
    for topic, size in _sizes(recording):
        topics[topic] = max(topics.get(topic, 0), size)
    return topics


def _sizes(recording: Recording) -> Iterator[tuple[str, int]]:
    places = recording.places
    for number, piece in enumerate(places):
        if piece.is_chunk:
            indexes = list(takewhile(lambda each: each.opcode == Opcode.MESSAGE_INDEX, places[number + 1 :]))
            found = _by_indexes(piece, [recording.bytes_of(index) for index in indexes])
            if found is not None:
                yield from ((recording.topic(channel).name, size) for channel, size in found.items())
                continue
        if piece.is_chunk or piece.opcode == Opcode.MESSAGE:
            yield from ((message.topic.name, len(message.data)) for message in recording.messages_of(piece))


def _by_indexes(chunk: Piece, indexes: Sequence[bytes]) -> dict[int, int] | None:
    """The largest message of each channel in a chunk; None if its indexes are missing or invalid."""
    parts = [(channel, _offsets(index)) for index in indexes for channel, _ in [_INDEX_HEAD.unpack_from(index)]]
    if not parts or any(part is None for _, part in parts):
        return None
    offsets = np.concatenate([part for _, part in parts if part is not None])
    channels = np.concatenate([np.full(len(part), channel) for channel, part in parts if part is not None])
    if not len(offsets) or int(offsets.max()) >= chunk.content_bytes:
        return None
    order = np.argsort(offsets, kind="stable")
    ends = np.append(offsets[order][1:], np.uint64(chunk.content_bytes))
    sizes = (ends - offsets[order]).astype(np.int64) - _MESSAGE_HEAD
    return {int(channel): int(sizes[channels[order] == channel].max()) for channel in np.unique(channels)}


def _offsets(index: bytes) -> npt.NDArray[np.uint64] | None:
    entries = index[_INDEX_HEAD.size :]
    return None if len(entries) % _ENTRY_BYTES else np.frombuffer(entries, "<u8")[1::2]
