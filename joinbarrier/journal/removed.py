# SPDX-License-Identifier: Apache-2.0
"""What retention removed from a journal, as the writer counted it before dropping each segment (PROTOCOL 16.8)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.description import read_regular_file
from framegate.joinbarrier.journal.layout import FOLDERS, RETIRED, Table
from framegate.schema.errors import JournalDamaged

_BYTES_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Removed:
    """The account of one table."""

    before: int = 0
    """The row below which all rows of the table are counted."""
    frames: dict[str, Counter[str]] = field(default_factory=dict)
    """Frames by input and fate: ``joined`` in the table of rows, the cause in the other table."""

    def frames_of(self, name: str) -> int:
        """How many removed frames of an input are counted."""
        return sum(self.frames.get(name, Counter()).values())


def removed(directory: Path, table: Table, journal_epoch: int) -> Removed:
    """Read the account of a table; empty if nothing was removed. Raises JournalDamaged."""
    path = directory / FOLDERS[table] / RETIRED
    try:
        found = json.loads(read_regular_file(path, _BYTES_MAX))
        if int(found["journal_epoch"]) != journal_epoch:
            return Removed()
        frames = dict[str, Counter[str]]()
        for entry in found["entries"]:
            frames.setdefault(str(entry["input"]), Counter())[str(entry["fate"])] += int(entry["frames"])
        return Removed(int(found["before"]), frames)
    except FileNotFoundError:
        return Removed()
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise JournalDamaged(f"retention's account makes no sense: {broken!r}", path=path) from None
