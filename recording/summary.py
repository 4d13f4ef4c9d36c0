# SPDX-License-Identifier: Apache-2.0
"""The summary at the end of a finished MCAP file: it repeats every schema and channel, and counts the messages."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass, field
from typing import IO, Final

from framegate.recording.framing import MAGIC, Damage, Record, records_in
from mcap.opcode import Opcode
from mcap.records import Channel, Schema

_FOOTER: Final = struct.Struct("<BQQQI")
_HEAD: Final = struct.Struct("<BQ")
_COUNT: Final = struct.Struct("<Q")
_END_BYTES: Final = _FOOTER.size + len(MAGIC)
_FOOTER_BYTES: Final = 20
_SUMMARY_BYTES_MAX: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Summary:
    """The definitions that the end of a file repeats."""

    definitions: list[Schema | Channel] = field(default_factory=list)
    messages: int | None = None
    """The number of messages that the file states; None if it does not."""


def read_summary(stream: IO[bytes]) -> Summary | None:
    """Read the summary; None if the file has no end, no summary, or a damaged one. This moves the stream."""
    size = stream.seek(0, io.SEEK_END)
    if size < _END_BYTES:
        return None
    stream.seek(size - _END_BYTES)
    end = stream.read(_END_BYTES)
    opcode, length, begin, _, crc = _FOOTER.unpack_from(end)
    is_footer = opcode == Opcode.FOOTER and length == _FOOTER_BYTES and end.endswith(MAGIC)
    content_bytes = size - _END_BYTES - begin
    if not is_footer or begin == 0 or not 0 <= content_bytes <= _SUMMARY_BYTES_MAX:
        return None
    stream.seek(begin)
    content = stream.read(content_bytes)
    # The check sum covers the footer too, up to the check sum itself.
    if crc and zlib.crc32(content + end[: _FOOTER.size - 4]) != crc:
        return None
    try:
        found: list[Record] = records_in(content)
    except Damage:
        return None
    return Summary([each for each in found if isinstance(each, Schema | Channel)], _messages(content))


def _messages(content: bytes) -> int | None:
    """The number of messages, which is the first field of the statistics record. All records are complete."""
    at = 0
    while at < len(content):
        opcode, length = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        if opcode == Opcode.STATISTICS and length >= _COUNT.size:
            return int(_COUNT.unpack_from(content, at)[0])
        at += length
    return None
