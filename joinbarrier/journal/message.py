# SPDX-License-Identifier: Apache-2.0
"""The frame around one Arrow message, read without trusting it: its end, its own metadata, its buffers.

Arrow's reader gives columns, but not the stated length of every buffer, which the checksum covers. Nor can it say what
lies at an offset of a segment that is still being written. So this module reads the flatbuffer and checks every offset;
Arrow still reads the columns.

::

    FFFFFFFF | i32 length of the metadata | flatbuffer Message, padded | body
    00000000 | 00000000                     nothing here yet
    FFFFFFFF | 00000000                     the end of the stream
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from framegate.schema.errors import JournalDamaged

PREFIX_BYTES: Final = 8
_CONTINUATION: Final = 0xFFFF_FFFF
_ALIGNMENT: Final = 8
_KEYS_MAX: Final = 64
_U16, _U32, _I32, _I64, _U8 = (struct.Struct(f"<{kind}") for kind in "HIiqB")
_PAIR: Final = struct.Struct("<qq")


class Kind(Enum):
    """The kind of a message."""

    SCHEMA = 1
    RECORD_BATCH = 3


class Ending(Enum):
    """Why there is no message at an offset."""

    NOT_YET = "nothing was sealed here yet"
    FINISHED = "the segment ends here"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a segment, with checked bounds."""

    offset: int
    body: int
    """The offset of its body in the segment."""
    end: int
    """The offset of the next message."""
    kind: Kind
    rows: int
    custom: Mapping[str, bytes]
    _metadata: _Table

    def buffers(self) -> Iterator[tuple[int, int]]:
        """Offset in the segment and length in bytes of every buffer, in the batch's order."""
        try:
            places = list(self._metadata.table(2).pairs(2))
        except struct.error as broken:
            raise JournalDamaged(f"the batch's buffers cannot be read: {broken}", offset=self.offset) from None
        body_bytes = self.end - self.body
        for offset, length in places:
            # An empty buffer may point anywhere, because nothing of it is read.
            if min(offset, length) < 0 or (length and offset + length > body_bytes):
                raise JournalDamaged("a buffer lies outside its batch", offset=self.offset, buffer=offset, bytes=length)
            yield self.body + offset, length


def read_message(memory: memoryview, offset: int, end: int) -> Message | Ending:
    """Read what lies at ``offset`` of a segment of ``end`` bytes. Raises JournalDamaged if it is no message."""
    if offset + PREFIX_BYTES > end:
        return Ending.NOT_YET
    prefix = bytes(memory[offset : offset + PREFIX_BYTES])
    if not any(prefix):
        return Ending.NOT_YET
    (mark,), (metadata_bytes,) = _U32.unpack_from(prefix), _I32.unpack_from(prefix, 4)
    if mark != _CONTINUATION:
        raise JournalDamaged("no message begins here", offset=offset, want="ffffffff", have=prefix[:4].hex())
    if metadata_bytes == 0:
        return Ending.FINISHED
    body = offset + PREFIX_BYTES + metadata_bytes
    if metadata_bytes < 0 or metadata_bytes % _ALIGNMENT or body > end:
        raise JournalDamaged("the metadata's length is impossible", offset=offset, bytes=metadata_bytes)
    try:
        return _parsed(memory[offset + PREFIX_BYTES : body], offset, body, end)
    except (struct.error, UnicodeDecodeError) as broken:
        raise JournalDamaged(f"the metadata cannot be read: {broken}", offset=offset) from None


def _parsed(metadata: memoryview, offset: int, body: int, end: int) -> Message:
    table = _Table.root(metadata)
    number, body_bytes = table.u8(1), table.i64(3)
    if body_bytes < 0 or body_bytes % _ALIGNMENT or body + body_bytes > end:
        raise JournalDamaged("the body's length is impossible", offset=offset, bytes=body_bytes)
    if number not in (Kind.SCHEMA.value, Kind.RECORD_BATCH.value):
        raise JournalDamaged("a message of a kind that no journal has", offset=offset, kind=number)
    kind, rows = Kind(number), 0
    if kind is Kind.RECORD_BATCH:
        batch = table.table(2)
        rows = batch.i64(0)
        if rows < 0 or batch.has(3):
            raise JournalDamaged("the batch is compressed, or has less than no rows", offset=offset, rows=rows)
    return Message(offset, body, body + body_bytes, kind, rows, table.key_values(4), table)


@dataclass(frozen=True, slots=True)
class _Table:
    """A flatbuffer table. Raises struct.error for anything outside its memory."""

    memory: memoryview
    at: int
    vtable: int
    vtable_bytes: int

    @classmethod
    def root(cls, memory: memoryview) -> _Table:
        return cls._at(memory, _get(memory, _U32, 0))

    @classmethod
    def _at(cls, memory: memoryview, at: int) -> _Table:
        vtable = at - _get(memory, _I32, at)
        return cls(memory, at, vtable, _get(memory, _U16, vtable))

    def _field(self, index: int) -> int:
        """The position of a field; 0 if it was left out."""
        slot = 4 + 2 * index
        if slot + 2 > self.vtable_bytes:
            return 0
        offset = _get(self.memory, _U16, self.vtable + slot)
        return self.at + offset if offset else 0

    def has(self, index: int) -> bool:
        return self._field(index) > 0

    def u8(self, index: int) -> int:
        at = self._field(index)
        return _get(self.memory, _U8, at) if at else 0

    def i64(self, index: int) -> int:
        at = self._field(index)
        return _get(self.memory, _I64, at) if at else 0

    def _reference(self, index: int) -> int:
        at = self._field(index)
        return at + _get(self.memory, _U32, at) if at else 0

    def table(self, index: int) -> _Table:
        at = self._reference(index)
        if not at:
            raise struct.error("a table is missing")
        return _Table._at(self.memory, at)

    def text(self, index: int) -> bytes:
        at = self._reference(index)
        return bytes(_slice(self.memory, at + 4, _get(self.memory, _U32, at))) if at else b""

    def pairs(self, index: int) -> Iterator[tuple[int, int]]:
        at = self._reference(index)
        if at:
            count = _get(self.memory, _U32, at)
            yield from _PAIR.iter_unpack(_slice(self.memory, at + 4, count * _PAIR.size))

    def key_values(self, index: int) -> dict[str, bytes]:
        at = self._reference(index)
        count = _get(self.memory, _U32, at) if at else 0
        if count > _KEYS_MAX:
            raise struct.error(f"{count} keys")
        found = dict[str, bytes]()
        for entry in range(at + 4, at + 4 + 4 * count, 4):
            pair = _Table._at(self.memory, entry + _get(self.memory, _U32, entry))
            found[pair.text(0).decode()] = pair.text(1)
        return found


def _get(memory: memoryview, kind: struct.Struct, at: int) -> int:
    # A negative offset would count from the end.
    if at < 0:
        raise struct.error(f"offset {at}")
    found: int = kind.unpack_from(memory, at)[0]
    return found


def _slice(memory: memoryview, at: int, length: int) -> memoryview:
    if at < 0 or at + length > len(memory):
        raise struct.error(f"{length} bytes at {at}")
    return memory[at : at + length]
