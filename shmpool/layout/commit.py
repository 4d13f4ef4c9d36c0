# SPDX-License-Identifier: Apache-2.0
"""The commit word: ``(sequence << 1) | state``, state 0 while the frame is being written, 1 once it is whole.

The first eight bytes of a slot (PROTOCOL 4). Where the native twin stores with release order and a fence, and loads
with acquire order and a fence, this one only stores and loads.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

SEQUENCE_MAX: Final = 2**63 - 1
_WORD: Final = Struct("<Q")


def in_progress(seq: int) -> int:
    """The word while frame ``seq`` is being written."""
    return seq << 1


def committed(seq: int) -> int:
    """The word once frame ``seq`` is whole."""
    return seq << 1 | 1


def is_committed(word: int) -> bool:
    """Whether a frame is whole."""
    return word & 1 == 1


def sequence(word: int) -> int:
    """The frame that a word speaks of."""
    return word >> 1


def store(slot: memoryview, word: int) -> None:
    """Writer: first and last thing that is done to a slot."""
    _WORD.pack_into(slot, 0, word)


def load(slot: memoryview) -> int:
    """Reader: first and last thing that is asked of a slot."""
    word: int = _WORD.unpack_from(slot)[0]
    return word
