# SPDX-License-Identifier: Apache-2.0
"""The error for rows that retention has dropped: the same text and facts for every reader."""

from __future__ import annotations

from pathlib import Path

from framegate.schema.errors import DataLoss


def dropped(directory: Path | str, first_row: int, end_row: int) -> DataLoss:
    """The error for the rows from ``first_row`` up to, and without, ``end_row``."""
    return DataLoss(
        "retention has dropped these rows",
        path=directory,
        first_row=first_row,
        last_row=end_row - 1,
        rows=end_row - first_row,
    )
