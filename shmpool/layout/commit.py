# SPDX-License-Identifier: Apache-2.0
"""The commit word: ``(sequence << 1) | state``, with state 0 while the frame is being written and 1 once it is
complete.

It is the first eight bytes of a slot (PROTOCOL 4). The native twin stores with release order and a fence, and loads
with acquire order and a fence; this one only stores and loads.
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
    """The word once frame ``seq`` is complete."""
    return seq << 1 | 1


def is_committed(word: int) -> bool:
    """Whether a word says that its frame is complete."""
    return word & 1 == 1


def sequence(word: int) -> int:
    """The sequence in a word."""
    return word >> 1


def store(slot: memoryview, word: int) -> None:
    """Store the word. A writer does this first and last with a slot."""
    _WORD.pack_into(slot, 0, word)


def load(slot: memoryview) -> int:
    """Load the word. A reader does this first and last with a slot."""
    word: int = _WORD.unpack_from(slot)[0]
    return word
