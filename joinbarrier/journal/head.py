# SPDX-License-Identifier: Apache-2.0
"""``journal.head``: what the writer tells its readers, mapped. Hints only: the segments are what counts."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from framegate.joinbarrier.journal.layout import CLOSED, FORMAT, HEAD, HEAD_BYTES, HEAD_MAGIC, RUNNING, HeadWord
from framegate.shmpool.processes import process_exists

HEARTBEAT_STALE_NS: Final = 1_000_000_000
"""The writer beats every 100 ms; taking a slow writer for dead only costs its readers some polling."""


class Head:
    """One mapped head. It may be replaced by a restarted writer: see ``is_replaced``."""

    def __init__(self, path: Path, mapped: mmap.mmap, identity: tuple[int, int]) -> None:
        self._path = path
        self._words = memoryview(mapped).cast("Q")
        self._identity = identity

    @classmethod
    def open(cls, directory: Path) -> Head | None:
        """The head of a journal; None where there is none that this program understands."""
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
        """The row that will be sealed next. Read it before other words: it is stored after them."""
        return self[HeadWord.NEXT_ROW]

    @property
    def journal_epoch(self) -> int:
        """Which life of the journal this is."""
        return self[HeadWord.JOURNAL_EPOCH]

    @property
    def is_closed(self) -> bool:
        """Whether the writer ended in good order. Its last rows were sealed before it said so."""
        return self[HeadWord.STATE] == CLOSED

    def is_writer_alive(self, now_ns: int) -> bool:
        """Whether somebody seals at ``now_ns`` of the monotonic clock."""
        age_ns = now_ns - self[HeadWord.HEARTBEAT_NS]
        # A heartbeat that lies ahead is of another boot.
        is_fresh = 0 <= age_ns <= HEARTBEAT_STALE_NS
        return self[HeadWord.STATE] == RUNNING and is_fresh and process_exists(self[HeadWord.WRITER_PID])

    def is_replaced(self) -> bool:
        """Whether the directory holds another head by now, or none."""
        try:
            status = self._path.stat(follow_symlinks=False)
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != self._identity
