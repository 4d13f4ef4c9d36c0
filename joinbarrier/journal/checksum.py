# SPDX-License-Identifier: Apache-2.0
"""The checksum of a sealed batch: over its buffers, its state, and its position."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import framegate._native as _native

if TYPE_CHECKING:
    from typing_extensions import Buffer

crc32c: Callable[[Buffer, int], int] = _native.crc32c


def batch_checksum(buffers: Iterable[Buffer], state: bytes, first_row: int, rows: int, generation: int) -> int:
    """CRC-32C over every buffer in the batch's order, the padded state, and three u64.

    >>> hex(batch_checksum([b"ab", b"c"], b"{}  ", first_row=0, rows=1, generation=7))
    '0xcdd68121'
    """
    running = 0
    for buffer in buffers:
        running = crc32c(buffer, running)
    running = crc32c(state, running)
    return crc32c(struct.pack("<QQQ", first_row, rows, generation), running)
