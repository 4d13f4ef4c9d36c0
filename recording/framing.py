# SPDX-License-Identifier: Apache-2.0
"""The framing of an MCAP file: its records, and those inside its chunks. Every length is checked against the bytes.

```
 magic | opcode u8, length u64, body | ... | magic
```
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Header, Metadata, Schema

MAGIC: Final = b"\x89MCAP0\r\n"
CHUNK_BYTES_MAX: Final = 1 << 30
"""The most bytes of an unpacked chunk. Nobody writes longer ones, and a wrong length must not exhaust the memory."""
_HEAD: Final = struct.Struct("<BQ")
_MESSAGE: Final = struct.Struct("<HIQQ")
# The errors of record classes and unpackers for invalid bytes.
_NONSENSE: Final = (McapError, struct.error, ValueError, OverflowError, MemoryError, IndexError, KeyError, RuntimeError)


class Damage(Exception):
    """Bytes that are invalid, or contradict their own length or check sum."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message record: its header fields and its data."""

    channel_id: int
    sequence: int
    log_time: int
    publish_time: int
    data: bytes


Record = Schema | Channel | Chunk | Header | Metadata | Message
_READERS: Final[dict[int, Callable[[ReadDataStream], Any]]] = {
    Opcode.HEADER: Header.read,
    Opcode.SCHEMA: Schema.read,
    Opcode.CHANNEL: Channel.read,
    Opcode.CHUNK: Chunk.read,
    Opcode.METADATA: Metadata.read,
}


def parsed(opcode: int, body: bytes) -> Record | None:
    """The record in a body; None for a kind that is not needed. Raises ``Damage`` for an invalid body."""
    if opcode == Opcode.MESSAGE:
        return _message(body)
    read = _READERS.get(opcode)
    if read is None:
        return None
    try:
        found: Record = read(ReadDataStream(io.BytesIO(body)))
    except _NONSENSE as failure:
        raise Damage(f"a record of kind {opcode} makes no sense: {_said(failure)}") from failure
    return found


def _message(body: bytes) -> Message:
    if len(body) < _MESSAGE.size:
        raise Damage("a message record is shorter than its own fields")
    channel_id, sequence, log_time, publish_time = _MESSAGE.unpack_from(body)
    return Message(channel_id, sequence, log_time, publish_time, body[_MESSAGE.size :])


def inner_records(chunk: Chunk) -> list[Record]:
    """The records of a chunk. Raises ``Damage`` if one of them is not complete."""
    data = _unpacked(chunk)
    if len(data) != chunk.uncompressed_size:
        raise Damage("a chunk is not as long as it says")
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise Damage("a chunk does not match its check sum")
    return records_in(data)


def records_in(data: bytes) -> list[Record]:
    """The records that stand one after the other in these bytes. Raises ``Damage`` if one is not complete."""
    found: list[Record] = []
    at = 0
    while at < len(data):
        if len(data) - at < _HEAD.size:
            raise Damage("a record among others is not whole")
        opcode, length = _HEAD.unpack_from(data, at)
        end = at + _HEAD.size + length
        if end > len(data):
            raise Damage("a record among others is not whole")
        record = parsed(opcode, data[at + _HEAD.size : end])
        if record is not None and not isinstance(record, Chunk):
            found.append(record)
        at = end
    return found


def _unpacked(chunk: Chunk) -> bytes:
    if chunk.uncompressed_size > CHUNK_BYTES_MAX:
        raise Damage("a chunk says that it is longer than any is")
    try:
        return _unpack(chunk)
    except _NONSENSE as failure:
        raise Damage(f"a chunk cannot be unpacked: {_said(failure)}") from failure
    except Exception as failure:
        # The errors of the unpackers have no common base class.
        if type(failure).__module__.partition(".")[0] not in {"zstandard", "zstd", "lz4", "_lz4"}:
            raise
        raise Damage(f"a chunk cannot be unpacked: {_said(failure)}") from failure


def _unpack(chunk: Chunk) -> bytes:
    if chunk.compression == "":
        return bytes(chunk.data)
    if chunk.compression == "zstd":
        import zstandard

        # The packed frame contains its size too, and the unpacker reserves that much memory.
        if zstandard.frame_content_size(chunk.data) not in (-1, chunk.uncompressed_size):
            raise Damage("a packed chunk contradicts itself in its size")
        return zstandard.ZstdDecompressor().decompress(chunk.data, max_output_size=chunk.uncompressed_size)
    if chunk.compression == "lz4":
        import lz4.frame

        unpacker = lz4.frame.LZ4FrameDecompressor()
        return bytes(unpacker.decompress(chunk.data, max_length=chunk.uncompressed_size))
    raise Damage(f"chunks packed by {chunk.compression!r} are not read here")


def _said(failure: BaseException) -> str:
    return f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__
