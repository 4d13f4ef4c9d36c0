# SPDX-License-Identifier: Apache-2.0
"""The framing of a raw dump: messages in one file, each after its length, or in a folder with a file for each.

```
 length | message | length | message | ...       length: u32 or u64 little-endian, or u32 big-endian
```

The length is that of the message alone. The first message, which must be one of ours, shows which of the three forms a
file has.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from framegate.recording.framing import Damage
from framegate.schema.codec import HEADER

START_BYTES: Final = 8 + HEADER.size
"""How many bytes of a file show whether it is a dump."""
MESSAGE_BYTES_MAX: Final = 1 << 30
_PREFIXES: Final = tuple(struct.Struct(form) for form in ("<I", ">I", "<Q"))
_SCHEMAS: Final = {900, 901, 903, 920}
_VERSION_MAX: Final = 1000
_DIGITS: Final = re.compile(r"(\d+)")


def begins_message(data: bytes, at: int = 0) -> bool:
    """Whether the header of one of our messages is at this place.

    >>> from framegate.schema.merge import SequenceMergeMapRequest
    >>> begins_message(SequenceMergeMapRequest(out_stream_id=7, epoch=1).encode()), begins_message(b"something else")
    (True, False)
    """
    if len(data) - at < HEADER.size:
        return False
    _, _, schema, version = HEADER.unpack_from(data, at)
    return schema in _SCHEMAS and version < _VERSION_MAX


def prefix_of(start: bytes) -> struct.Struct | None:
    """The form of a dump's lengths, by its first bytes; None if it is not a dump."""
    found: list[tuple[int, struct.Struct]] = []
    for prefix in _PREFIXES:
        if len(start) >= prefix.size and begins_message(start, prefix.size):
            (length,) = prefix.unpack_from(start)
            if HEADER.size <= length <= MESSAGE_BYTES_MAX:
                found.append((length, prefix))
    # Both byte orders may look possible. Messages are small, and a length with the wrong byte order is large.
    return min(found, key=lambda each: each[0])[1] if found else None


def messages_of_file(stream: IO[bytes], prefix: struct.Struct) -> Iterator[bytes]:
    """The messages up to the end of the file. Raises ``Damage`` if the last one is not complete."""
    while head := stream.read(prefix.size):
        if len(head) < prefix.size:
            raise Damage("the dump ends within a length")
        (length,) = prefix.unpack(head)
        if length > MESSAGE_BYTES_MAX:
            raise Damage(f"a message of {length} bytes is longer than any message can be: what follows is not a dump")
        message = stream.read(length)
        if len(message) < length:
            raise Damage(f"the last message is not whole: {len(message)} of {length} bytes are there")
        yield message


def files_of(folder: Path) -> list[Path]:
    """The files of a folder, sorted by name with numbers in names by their value. Hidden files are left out."""
    found = [each for each in folder.iterdir() if not each.name.startswith(".") and each.is_file()]
    return sorted(found, key=lambda each: _natural(each.name))


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """
    >>> sorted(["m10", "m9", "m09"], key=_natural)
    ['m09', 'm9', 'm10']
    """
    # Every second part is a number, so numbers are compared with numbers. The name itself decides between 9 and 09.
    parts = _DIGITS.split(name)
    return [(int(part), "") if at % 2 else (0, part) for at, part in enumerate(parts)], name


def messages_of_folder(folder: Path) -> Iterator[bytes]:
    """The message of each file. Raises ``Damage`` for a file that is longer than any message can be."""
    for path in files_of(folder):
        with path.open("rb") as stream:
            message = stream.read(MESSAGE_BYTES_MAX + 1)
        if len(message) > MESSAGE_BYTES_MAX:
            raise Damage(f"{path.name} is longer than any message")
        yield message
