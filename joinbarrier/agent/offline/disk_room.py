# SPDX-License-Identifier: Apache-2.0
"""The disk space that the journal of an offline join may use. Nobody reads while it runs, so no row may be dropped.

If the configuration gives no ``max_bytes``, the bound is the free space of the disk. A journal that may block drops
rows that every living named reader has finished, as in a live join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.journal.readers import surveyed
from framegate.schema.errors import JournalFull
from framegate.shmpool.clock import monotonic_ns

from framegate._native import JoinEngine

_UNBOUNDED: Final = 2**63 - 1


@dataclass(slots=True)
class OfflineRoom:
    """The space of one join's journal."""

    max_bytes: int | None
    """The ``max_bytes`` of the configuration; None if it gives none."""
    may_wait: bool
    """Whether the join may wait for readers."""

    @classmethod
    def of(cls, config: JoinConfig) -> tuple[Self, JoinConfig]:
        """Make the space, and the configuration whose journal stays within it."""
        journal = config.journal
        is_written = "max_bytes" in journal.model_fields_set
        changes: dict[str, object] = {"when_full": "block"}
        if not is_written:
            changes |= {"max_bytes": _UNBOUNDED, "prefault": "next"}
        kept = config.model_copy(update={"journal": journal.model_copy(update=changes)})
        return cls(journal.max_bytes if is_written else None, is_written and journal.when_full == "block"), kept

    def begin(self, engine: JoinEngine) -> None:
        """Keep retention from dropping rows that nobody has read."""
        engine.set_floor(0)

    def make(self, engine: JoinEngine, folder: JournalFolder, reason: str, position: int) -> None:
        """Ask readers for space. Raises ``JournalFull`` if none can come.

        ``reason``: why the journal takes no row; empty while its next file is being made. ``position``: how much of the
        recording was read.
        """
        floor = surveyed(folder.path, monotonic_ns()).floor if self.may_wait else None
        engine.set_floor(floor or 0)
        if not reason or floor is not None:
            return
        full = "it has its max_bytes" if self.max_bytes is not None else reason
        raise JournalFull(
            f"the journal is full ({full}): the recording is joined up to position {position}",
            journal=str(folder.path),
            position=position,
            next_row=engine.counters()["journal"]["next_row"],
            max_bytes=self.max_bytes or "none",
        )
