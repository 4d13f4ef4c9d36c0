# SPDX-License-Identifier: Apache-2.0
"""How much room the journal of an offline join has. Nobody reads while it runs, so no row makes room for another.

Where no ``max_bytes`` is written, the bound is the free space of the disk. A journal that may block gives rows up
that a living named reader is done with, as in a live join.
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
    """The room of one join."""

    max_bytes: int | None
    """The ``max_bytes`` of the file; None without one."""
    may_wait: bool
    """Whether readers may be waited for."""

    @classmethod
    def of(cls, config: JoinConfig) -> tuple[Self, JoinConfig]:
        """The room, and the configuration whose journal keeps to it."""
        journal = config.journal
        is_written = "max_bytes" in journal.model_fields_set
        changes: dict[str, object] = {"when_full": "block"}
        if not is_written:
            changes |= {"max_bytes": _UNBOUNDED, "prefault": "next"}
        kept = config.model_copy(update={"journal": journal.model_copy(update=changes)})
        return cls(journal.max_bytes if is_written else None, is_written and journal.when_full == "block"), kept

    def begin(self, engine: JoinEngine) -> None:
        """Let no row be dropped that nobody has read."""
        engine.set_floor(0)

    def make(self, engine: JoinEngine, folder: JournalFolder, reason: str, position: int) -> None:
        """Ask readers for room. Raises ``JournalFull`` where there is none to come.

        ``reason``: why no row is taken; empty while the next file is on its way. ``position``: how much of the
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
