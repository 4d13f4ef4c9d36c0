# SPDX-License-Identifier: Apache-2.0
"""The pieces of an MCAP file: its records, found by their heads, even after damaged bytes.

If there is no valid record at a place, the next one is searched for. A chunk is recognized by its own fields, which
must agree with each other, and any other record by what follows it without a gap. A message outside of chunks is
accepted if records follow where its length says. After damage, such a message is accepted only among others outside of
chunks, or in a file without chunks. Anywhere else it could be the inside of a damaged chunk.
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
_SHORTEST: Final = {
    Opcode.HEADER: 8,
    Opcode.SCHEMA: 14,
    Opcode.CHANNEL: 16,
    Opcode.MESSAGE: _MESSAGE.size,
    Opcode.CHUNK: _CHUNK.size + _LENGTH.size,
    Opcode.MESSAGE_INDEX: _INDEX.size,
    Opcode.ATTACHMENT: 36,
    Opcode.METADATA: 8,
    **_EXACT,
}
"""The least fields of each kind of record in the data, with empty texts. Other kinds come after the data."""
_FREE_OPCODES: Final = 0x80
"""From this kind on, records belong to other programs."""
_ROW: Final = 4
"""How many records in a row are accepted in a file without chunks."""
_CHAIN: Final = 4096
"""The most records between a place and the chunk that confirms it."""
_WINDOW: Final = 1 << 20
_CANDIDATE: Final = re.compile(rb"[\x01-\x0f](?=.{5}\x00{3})", re.DOTALL)
"""A kind of record, and a length below 2^40."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A record of the data: the bytes with the head, and the range of log times that it states."""

    opcode: int
    at: int
    end: int
    first_ns: int = 0
    last_ns: int = 0
    content_bytes: int = 0
    """The unpacked bytes of a chunk; 0 for other records."""

    @property
    def is_chunk(self) -> bool:
        """Whether the piece contains messages."""
        return self.opcode == Opcode.CHUNK


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes in which no record could be found."""

    at: int
    end: int
    is_to_the_end: bool = False
    reason: str = ""


def pieces(stream: IO[bytes]) -> Iterator[Piece | Gap]:
    """All records of the data in the order of the file, and the gaps between them. This moves the stream."""
    size = stream.seek(0, 2)
    stream.seek(0)
    at = len(MAGIC)
    if stream.read(at) != MAGIC:
        at = 0
    # A record is returned only when it is known what comes after it.
    before: Piece | None = None
    has_chunks = False
    while True:
        found = _record(stream, at, size) if at else None
        if found is not None:
            if before is not None:
                yield before
            if found.opcode in (Opcode.DATA_END, Opcode.FOOTER):
                return
            has_chunks = has_chunks or found.is_chunk
            before, at = found, found.end
            continue
        behind = _next(stream, at, size, before, has_chunks=has_chunks)
        if before is not None and not _leads_astray(stream, before, behind, size):
            yield before
        elif before is not None:
            at = before.at
        if behind is None:
            yield Gap(at, size, is_to_the_end=True, reason=_why(stream, at, size))
            return
        yield Gap(at, max(at, behind))
        before, at = None, behind


def _next(stream: IO[bytes], at: int, size: int, before: Piece | None, *, has_chunks: bool) -> int | None:
    """The place of the next acceptable record, after the last one that was read, if it ends there."""
    # The length of a record may be wrong and mislead. A chunk's length is right, because the chunk repeats it.
    begin = at if before is None or before.is_chunk else before.at + 1
    if before is None or before.opcode != Opcode.MESSAGE:
        behind = _search(stream, begin, size, _leads_to_data_end if has_chunks else _leads_to_chunk)
        if has_chunks or behind is not None:
            return behind
    return _search(stream, begin, size, _is_row_of_records)


def _leads_astray(stream: IO[bytes], message: Piece, behind: int | None, size: int) -> bool:
    """Whether a message's own length is wrong, because no record stands at its end and the next one stands elsewhere.

    Otherwise the record at its end is damaged, and its length must lead to the other one; or the file is cut there.
    """
    if message.opcode != Opcode.MESSAGE:
        return False
    if behind is not None and behind < message.end:
        return True
    stream.seek(message.end)
    head = stream.read(_HEAD.size)
    opcode, length = _HEAD.unpack(head.ljust(_HEAD.size, b"\0"))
    if behind is None:
        is_cut = opcode in _SHORTEST and (len(head) < _HEAD.size or message.end + _HEAD.size + length > size)
        return head != b"" and not is_cut and _is_a_bit_off(message.end - message.at - _HEAD.size, size - message.at)
    is_the_other_ones = _is_a_bit_off(length, behind - message.end)
    return not is_the_other_ones and _is_a_bit_off(message.end - message.at - _HEAD.size, behind - message.at)


def _is_a_bit_off(length: int, record_bytes: int) -> bool:
    """Whether a length is right for a record of this many bytes, or was before one of its bits changed."""
    return record_bytes >= _HEAD.size and (length ^ (record_bytes - _HEAD.size)).bit_count() <= 1


def _record(stream: IO[bytes], at: int, size: int) -> Piece | None:
    """The complete record at a place; None if there is none."""
    found = _head(stream, at, size)
    return None if found is not None and found.opcode == Opcode.MESSAGE and _swallows(stream, found) else found


def _head(stream: IO[bytes], at: int, size: int) -> Piece | None:
    stream.seek(at)
    return _at(stream.read(_LOOKED_AT), at, size)


def _swallows(stream: IO[bytes], message: Piece) -> bool:
    """Whether a message contains other messages up to its end, and one wrong bit of its length explains it."""
    length = message.end - message.at - _HEAD.size
    for bit in range(_SHORTEST[Opcode.MESSAGE].bit_length(), length.bit_length()):
        at = message.end - (1 << bit)
        if not length >> bit & 1 or at < message.at + _HEAD.size + _MESSAGE.size:
            continue
        while (found := _head(stream, at, message.end)) is not None:
            at = found.end
            if at == message.end or found.opcode == Opcode.DATA_END:
                return True
    return False


def _at(data: bytes, at: int, size: int) -> Piece | None:
    if len(data) < _HEAD.size:
        return None
    opcode, length = _HEAD.unpack_from(data)
    end = at + _HEAD.size + length
    if end > size or (opcode < _FREE_OPCODES and length < _SHORTEST.get(opcode, size)):
        return None
    body = data[_HEAD.size :]
    if opcode in _EXACT:
        return Piece(opcode, at, end) if length == _EXACT[opcode] else None
    if opcode == Opcode.MESSAGE:
        if length > CHUNK_BYTES_MAX or len(body) < _MESSAGE.size:
            return None
        log_time = _MESSAGE.unpack_from(body)[2]
        return Piece(opcode, at, end, log_time, log_time)
    if opcode == Opcode.CHUNK:
        return _chunk(body, at, end, length)
    if opcode == Opcode.CHUNK | _FREE_OPCODES and _chunk(body, at, end, length) is not None:
        # A chunk with one damaged bit.
        return None
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
    """The place of the next acceptable record."""
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
    """Whether a chunk is at this place, or other records without messages lead to one."""
    return _led_to(stream, at, size) == Opcode.CHUNK


def _leads_to_data_end(stream: IO[bytes], at: int, size: int) -> bool:
    """Whether a chunk or the data's end is at this place, or other records without messages lead there."""
    return _led_to(stream, at, size) is not None


def _led_to(stream: IO[bytes], at: int, size: int) -> int | None:
    for _ in range(_CHAIN):
        found = _record(stream, at, size)
        if found is None or found.opcode == Opcode.MESSAGE:
            return None
        if found.is_chunk or found.opcode == Opcode.DATA_END:
            return found.opcode
        at = found.end
    return None


def _is_row_of_records(stream: IO[bytes], at: int, size: int) -> bool:
    for _ in range(_ROW):
        found = _record(stream, at, size)
        if found is None:
            return False
        at = found.end
        if found.opcode == Opcode.DATA_END or at == size:
            return True
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
    """Put adjacent messages that are outside of chunks into one piece, so that there are few pieces."""
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
