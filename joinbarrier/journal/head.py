# SPDX-License-Identifier: Apache-2.0
"""``journal.head``: what the writer tells its readers, mapped. These are only hints; the segments are the truth."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.layout import CLOSED, FORMAT, HEAD, HEAD_BYTES, HEAD_MAGIC, RUNNING, HeadWord
from framegate.shmpool.processes import process_exists

HEARTBEAT_STALE_NS: Final = 1_000_000_000
"""How old a heartbeat may be. The writer beats every 100 ms; taking a slow writer for dead only makes readers poll."""


class Head:
    """One mapped head. A restarted writer may replace the file; see ``is_replaced``."""

    def __init__(self, path: Path, mapped: mmap.mmap, identity: tuple[int, int]) -> None:
        self._path = path
        self._words = memoryview(mapped).cast("Q")
        self._identity = identity

    @classmethod
    def open(cls, directory: Path) -> Head | None:
        """Open the head of a journal; None if there is none in a known format."""
        path = directory / HEAD
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if status.st_size < HEAD_BYTES:
                return None
            mapped = mmap.mmap(descriptor, HEAD_BYTES, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return None
        finally:
            os.close(descriptor)
        head = cls(path, mapped, (status.st_dev, status.st_ino))
        is_known = head[HeadWord.MAGIC] == HEAD_MAGIC and head[HeadWord.VERSION] == FORMAT
        return head if is_known else None

    def __getitem__(self, word: HeadWord) -> int:
        return int(self._words[word])

    @property
    def next_row(self) -> int:
        """The next row to be sealed. Read it before other words, because it is stored after them."""
        return self[HeadWord.NEXT_ROW]

    @property
    def journal_epoch(self) -> int:
        """The epoch of the journal."""
        return self[HeadWord.JOURNAL_EPOCH]

    @property
    def is_closed(self) -> bool:
        """Whether the writer closed the journal. It sealed its final rows before it said so."""
        return self[HeadWord.STATE] == CLOSED

    def is_writer_alive(self, now_ns: int) -> bool:
        """Whether a writer is alive at ``now_ns`` of the monotonic clock."""
        age_ns = now_ns - self[HeadWord.HEARTBEAT_NS]
        # A heartbeat in the future comes from another boot.
        is_fresh = 0 <= age_ns <= HEARTBEAT_STALE_NS
        return self[HeadWord.STATE] == RUNNING and is_fresh and process_exists(self[HeadWord.WRITER_PID])

    def is_replaced(self) -> bool:
        """Whether the directory holds another head by now, or none."""
        try:
            status = self._path.stat(follow_symlinks=False)
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != self._identity
