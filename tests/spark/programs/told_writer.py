# SPDX-License-Identifier: Apache-2.0
"""Writes a journal as it is told: a number on standard input is so many rows, sealed, and some more that are not.

Prints ``sealed ROW`` then. Goes on behind what an earlier run sealed; to be killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from framegate.shmpool.clock import monotonic_ns

from framegate._native import JournalWriter
from tests.unit.joinbarrier.journal_writing import append, cell

UNSEALED = 3


def main(directory: str) -> None:
    writer = JournalWriter(Path(directory), ["left"], segment_bytes=1 << 16, max_bytes=1 << 24, seal_rows=64)
    for line in sys.stdin:
        add(writer, int(line))
        writer.heartbeat(monotonic_ns())
        writer.seal()
        print("sealed", writer.next_row, flush=True)
        add(writer, UNSEALED)


def add(writer: JournalWriter, rows: int) -> None:
    """Rows whose content follows from their numbers."""
    for _ in range(rows):
        row = writer.next_row
        append(writer, {"left": cell(row.to_bytes(8, "little") * 40, row)}, out_seq=row)


if __name__ == "__main__":
    main(sys.argv[1])
