# SPDX-License-Identifier: Apache-2.0
"""The rows that the journal's kill tests write and expect."""

from __future__ import annotations

from typing import Any, Final

INPUTS: Final = ("left", "right")
ROWS: Final = 150
SEGMENT_BYTES: Final = 1 << 16
SEGMENTS: Final = 6


def cells(row: int) -> dict[str, dict[str, Any] | None]:
    """The inputs of a row, by its number."""
    right = None if row % 4 == 3 else {"payload": b"r" * (row % 50), "seq": row}
    return {"left": {"payload": bytes([row % 251]) * (1500 + row), "seq": row}, "right": right}


def payloads(row: int) -> dict[str, bytes | None]:
    """What must be found in the columns of that row."""
    return {name: None if cell is None else cell["payload"] for name, cell in cells(row).items()}
