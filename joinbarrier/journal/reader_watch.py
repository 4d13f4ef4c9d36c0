# SPDX-License-Identifier: Apache-2.0
"""Watches the named readers for the join agent. It looks ten times a second while frames wait, so unchanged files are
not read again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.description import JournalDescription
from framegate.joinbarrier.journal.layout import READERS_FOLDER
from framegate.joinbarrier.journal.readers import ReaderState, Survey, readers, survey

AGAIN_NS: Final = 1_000_000_000
"""The longest time until files are read again: one that could not be read may be readable by now."""
SETTLED_NS: Final = 50_000_000
"""How long a folder is distrusted after a change. It may change again with the same time stamp, because file systems
count time in ticks.
"""


class ReaderWatch:
    """Keeps the readers' files until their folder changes."""

    def __init__(self, directory: Path, description: JournalDescription) -> None:
        self._directory = directory
        self._description = description
        self._states: list[ReaderState] = []
        self._changed_ns: int | None = None
        self._noticed_ns = 0
        self._good_until_ns = 0
        self._read_at_ns = 0

    def look(self, now_ns: int) -> Survey:
        """What the readers mean for the writer now. ``now_ns`` is monotonic."""
        # Ask before the files are read, so that a change in between is seen the next time.
        changed_ns = _changed_ns(self._directory / READERS_FOLDER)
        if changed_ns != self._changed_ns or not self._read_at_ns <= now_ns < self._good_until_ns:
            self._states = readers(self._directory)
            if changed_ns != self._changed_ns:
                self._changed_ns, self._noticed_ns = changed_ns, now_ns
            self._read_at_ns = now_ns
            is_settled = changed_ns is None or now_ns - self._noticed_ns > SETTLED_NS
            self._good_until_ns = now_ns + AGAIN_NS if is_settled else now_ns
        return survey(self._states, self._description, now_ns)


def _changed_ns(folder: Path) -> int | None:
    """When a file in the folder was added, removed or replaced; None if there is no such folder."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - a path of many parts costs as much as the call
    except FileNotFoundError:
        return None
