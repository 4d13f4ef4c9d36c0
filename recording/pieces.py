# SPDX-License-Identifier: Apache-2.0
"""Where the records of an MCAP file lie, found by their heads: also behind bytes that are damaged.

Where no record stands that makes sense, the next one is searched for. A chunk is known by its own fields, which have to
agree with each other; any other record by what follows it without a gap. Messages that stand alone are believed only
in a file without chunks: in any other they are the inside of a chunk that is damaged, and nothing vouches for them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Final

from framegate.recording.framing import CHUNK_BYTES_MAX, MAGIC
from mcap.opcode import Opcode

_HEAD: Final = struct.Struct("<BQ")
_CHUNK: Final = struct.Struct("<QQQII")
_INDEX: Final = struct.Struct("<HI")
_MESSAGE: Final = struct.Struct("<HIQQ")
_LENGTH: Final = struct.Struct("<Q")
_COMPRESSIONS: Final = {b"", b"zstd", b"lz4"}
_LONGEST_NAME: Final = 4
_LOOKED_AT: Final = _HEAD.size + _CHUNK.size + _LONGEST_NAME + _LENGTH.size
_EXACT: Final = {Opcode.DATA_END: 4, Opcode.FOOTER: 20}
_FREE_OPCODES: Final = 0x80
"""From here on records are a program's own."""
_ROW: Final = 4
"""So many records in a row are believed in a file without chunks."""
_CHAIN: Final = 4096
"""Records between a place and the chunk that makes it believed, at most."""
_WINDOW: Final = 1 << 20
_CANDIDATE: Final = re.compile(rb"[\x01-\x0f](?=.{5}\x00{3})", re.DOTALL)
"""A kind of record, and a length below 2^40."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A record of the data: its bytes with its head, and the log times that it says it spans."""

    opcode: int
    at: int
    end: int
    first_ns: int = 0
    last_ns: int = 0
    content_bytes: int = 0
    """Of a chunk, unpacked."""

    @property
    def is_chunk(self) -> bool:
        """Whether messages lie within it."""
        return self.opcode == Opcode.CHUNK


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes in which no record could be found."""

    at: int
    end: int
    is_to_the_end: bool = False
    reason: str = ""


def pieces(stream: IO[bytes]) -> Iterator[Piece | Gap]:
    """All records of the data, in the order of the file, and what lies between them. The stream is moved meanwhile."""
    size = stream.seek(0, 2)
    stream.seek(0)
    at = len(MAGIC)
    if stream.read(at) != MAGIC:
        at = 0
    before: Piece | None = None
    has_chunks = False
    while True:
        found = _record(stream, at, size) if at else None
        if found is not None and found.opcode in (Opcode.DATA_END, Opcode.FOOTER):
            return
        if found is not None:
            yield found
            has_chunks = has_chunks or found.is_chunk
            before, at = found, found.end
            continue
        # A record whose length lies leads astray; a chunk's is sound, for it is there twice.
        is_sound = before is None or before.is_chunk or before.end != at
        begin = at if is_sound or before is None else before.at + 1
        behind = _search(stream, begin, size, _leads_to_chunk)
        if behind is None and not has_chunks:
            behind = _search(stream, begin, size, _is_row_of_records)
        if behind is None:
            yield Gap(at, size, is_to_the_end=True, reason=_why(stream, at, size))
            return
        yield Gap(at, max(at, behind))
        before, at = None, behind


def _record(stream: IO[bytes], at: int, size: int) -> Piece | None:
    """The record that stands there whole; None where there is none."""
    stream.seek(at)
    return _at(stream.read(_LOOKED_AT), at, size)


def _at(data: bytes, at: int, size: int) -> Piece | None:
    if len(data) < _HEAD.size:
        return None
    opcode, length = _HEAD.unpack_from(data)
    end = at + _HEAD.size + length
    if opcode == 0 or Opcode.DATA_END < opcode < _FREE_OPCODES or end > size:
        return None
    body = data[_HEAD.size :]
    if opcode in _EXACT:
        return Piece(opcode, at, end) if length == _EXACT[opcode] else None
    if opcode == Opcode.MESSAGE:
        if length < _MESSAGE.size or len(body) < _MESSAGE.size:
            return None
        log_time = _MESSAGE.unpack_from(body)[2]
        return Piece(opcode, at, end, log_time, log_time)
    if opcode == Opcode.CHUNK:
        return _chunk(body, at, end, length)
    if opcode == Opcode.MESSAGE_INDEX:
        is_index = len(body) >= _INDEX.size and _INDEX.unpack_from(body)[1] == length - _INDEX.size
        return Piece(opcode, at, end) if is_index else None
    return Piece(opcode, at, end)


def _chunk(body: bytes, at: int, end: int, length: int) -> Piece | None:
    if len(body) < _CHUNK.size + _LENGTH.size:
        return None
    first_ns, last_ns, unpacked, _, name_bytes = _CHUNK.unpack_from(body)
    if name_bytes > _LONGEST_NAME or body[_CHUNK.size : _CHUNK.size + name_bytes] not in _COMPRESSIONS:
        return None
    (packed,) = _LENGTH.unpack_from(body, _CHUNK.size + name_bytes)
    is_one = packed == length - _CHUNK.size - name_bytes - _LENGTH.size and unpacked <= CHUNK_BYTES_MAX
    return Piece(Opcode.CHUNK, at, end, first_ns, last_ns, unpacked) if is_one and first_ns <= last_ns else None


_Test = Callable[[IO[bytes], int, int], bool]


def _search(stream: IO[bytes], begin: int, size: int, is_believed: _Test) -> int | None:
    """Where the next record begins that can be believed."""
    at = begin
    while at < size:
        stream.seek(at)
        window = stream.read(_WINDOW + _LOOKED_AT)
        for found in _CANDIDATE.finditer(window):
            candidate = found.start()
            if candidate >= _WINDOW:
                break
            if is_believed(stream, at + candidate, size):
                return at + candidate
        at += _WINDOW
    return None


def _leads_to_chunk(stream: IO[bytes], at: int, size: int) -> bool:
    """Whether a chunk stands there, or the data's end, or what leads to either without a message between."""
    for _ in range(_CHAIN):
        found = _record(stream, at, size)
        if found is None or found.opcode == Opcode.MESSAGE:
            return False
        if found.is_chunk or found.opcode == Opcode.DATA_END:
            return True
        at = found.end
    return False


def _is_row_of_records(stream: IO[bytes], at: int, size: int) -> bool:
    for _ in range(_ROW):
        found = _record(stream, at, size)
        if found is None:
            return False
        if found.opcode == Opcode.DATA_END:
            return True
        at = found.end
    return True


def _why(stream: IO[bytes], at: int, size: int) -> str:
    if at == 0:
        return "the file does not begin as an MCAP file does"
    stream.seek(at)
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return "the file ends before its data does"
    opcode, length = _HEAD.unpack(head)
    if opcode == 0:
        return "there is no record where one should begin"
    return "the last record is not whole" if at + _HEAD.size + length > size else "a record makes no sense"


def grouped(found: Iterable[Piece]) -> Iterator[Piece]:
    """Messages that stand alone, put together where nothing lies between them, so that there are few pieces."""
    run: Piece | None = None
    for piece in found:
        if piece.opcode != Opcode.MESSAGE:
            yield piece
            continue
        if run is not None and run.end == piece.at and piece.end - run.at <= _WINDOW:
            first_ns, last_ns = min(run.first_ns, piece.first_ns), max(run.last_ns, piece.last_ns)
            run = Piece(Opcode.MESSAGE, run.at, piece.end, first_ns, last_ns)
            continue
        if run is not None:
            yield run
        run = piece
    if run is not None:
        yield run
