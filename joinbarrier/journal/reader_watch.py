# SPDX-License-Identifier: Apache-2.0
"""The join agent's eye on the named readers. It looks ten times a second, and frames wait meanwhile: so files that did
not change are not read again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.description import JournalDescription
from framegate.joinbarrier.journal.layout import READERS_FOLDER
from framegate.joinbarrier.journal.readers import ReaderState, Survey, readers, survey

AGAIN_NS: Final = 1_000_000_000
"""So old what was read may become at most: a file that could not be read may be readable now."""
SETTLED_NS: Final = 50_000_000
"""A folder that was seen to change so short a time ago may change once more with the same time: file systems count in
ticks."""


class ReaderWatch:
    """Remembers the readers' files for as long as their folder stays as it is."""

    def __init__(self, directory: Path, description: JournalDescription) -> None:
        self._directory = directory
        self._description = description
        self._states: list[ReaderState] = []
        self._changed_ns: int | None = None
        self._noticed_ns = 0
        self._good_until_ns = 0
        self._read_at_ns = 0

    def look(self, now_ns: int) -> Survey:
        """What the readers mean now. ``now_ns`` is monotonic."""
        # Asked before the files are read: what changes in between is seen the next time.
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
    """When a file in it came, went or was replaced; None where there is no such folder."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - a path of many parts costs as much as the call
    except FileNotFoundError:
        return None
