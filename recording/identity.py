# SPDX-License-Identifier: Apache-2.0
"""The identity of a recording: its length and a digest of its content, independent of its name.

A file of up to a few megabytes is read as a whole. Of a longer one, the digest covers the beginning, the end, and
blocks spread evenly between them, so that a terabyte takes no longer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.recording.dump_framing import files_of

_WHOLE_BYTES: Final = 4 << 20
_EDGE_BYTES: Final = 256 << 10
_BLOCK_BYTES: Final = 4 << 10
_BLOCKS: Final = 256


@dataclass(frozen=True, slots=True)
class Identity:
    """Two recordings with the same ``bytes`` and ``digest`` are one. The name is for people."""

    name: str
    bytes: int
    digest: str
    """Empty if it cannot be computed, as for a pipe: such a recording equals no other."""


def identity_of(path: Path) -> Identity:
    """The identity of a recording, a dump, or a folder of messages. Raises ``OSError``."""
    if path.is_dir():
        parts = [(each.name, _of_file(each)) for each in files_of(path)]
        said = "\n".join(f"{name} {size} {digest}" for name, (size, digest) in parts)
        return Identity(path.name, sum(size for _, (size, _) in parts), hashlib.sha256(said.encode()).hexdigest())
    if not path.is_file():
        return Identity(path.name, 0, "")
    return Identity(path.name, *_of_file(path))


def _of_file(path: Path) -> tuple[int, str]:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        length = os.fstat(stream.fileno()).st_size
        for at, size in _blocks(length):
            stream.seek(at)
            found.update(stream.read(size))
    return length, found.hexdigest()


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that the digest covers.

    >>> list(_blocks(1000))
    [(0, 1000)]
    >>> sum(size for _, size in _blocks(1 << 40)) < 4 << 20
    True
    """
    if length <= _WHOLE_BYTES:
        yield 0, length
        return
    yield 0, _EDGE_BYTES
    step = (length - 2 * _EDGE_BYTES) // _BLOCKS
    for block in range(_BLOCKS):
        yield _EDGE_BYTES + block * step, _BLOCK_BYTES
    yield length - _EDGE_BYTES, _EDGE_BYTES
