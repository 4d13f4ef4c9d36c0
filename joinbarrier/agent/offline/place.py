# SPDX-License-Identifier: Apache-2.0
"""The place of a recording in a journal: what rows are its own, and what the journal remembers of it."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from framegate.joinbarrier.agent.appended_epochs import AppendedEpochs
from framegate.joinbarrier.agent.offline.joined_recordings import Entry, entry_of, place_of, rows_of
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.recording.frames import Passage
from framegate.recording.identity import identity_of
from framegate.schema.errors import JournalMismatch

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RecordingPlace:
    """The place of one recording. Use ``found`` before writing, ``note`` once the journal is open, ``close`` at the
    end."""

    folder: JournalFolder
    streams: list[int]
    """The stream of each input."""
    entry: dict[str, Any]
    place: int | None
    """The index among the journal's recordings; None appends it to them."""
    is_appended: bool
    epochs: AppendedEpochs = field(default_factory=lambda: AppendedEpochs({}))
    rows_before: int = 0
    """How many rows of this recording the journal held already."""
    is_whole: bool = False
    """Whether the recording was read to its end."""

    @classmethod
    def found(cls, config: JoinConfig, folder: JournalFolder, passage: Passage, *, is_appended: bool) -> Self:
        """Find the place. Raises ``JournalMismatch`` if the journal is of another recording, or of other rules."""
        entry = entry_of(identity_of(Path(passage.recording.name)), config, passage.topics, passage.times)
        try:
            place = place_of(folder.recordings, entry, is_appended=is_appended)
            if place is None and folder.recordings and not folder.recordings[-1].get("is_whole"):
                _log.warning(
                    "%s was not joined to its end: the rest of it cannot be joined after %s",
                    folder.recordings[-1]["name"],
                    entry["name"],
                )
        except JournalMismatch:
            if not folder.leave_behind_rowless():
                raise
            place = None
        return cls(folder, [each.stream for each in config.input], entry, place, is_appended)

    @property
    def digest(self) -> str:
        """The digest by which the recording is recognized."""
        return str(self.entry["digest"])

    def note(self, recovered: dict[str, Any]) -> None:
        """Write the recording's entry into the journal that was opened."""
        # The journal may have begun a new epoch meanwhile, as for a checkpoint; that epoch has no recordings.
        known = list(self.folder.recordings)
        next_row = int(recovered["next_row"])
        place = self.place if self.place is not None and self.place < len(known) else None
        if place is None:
            # In a journal without recordings the rows may be of this one: its frames will tell.
            is_first = not known and not self.is_appended
            above = {} if is_first else _epochs(recovered["state"], self.streams)
            entry: Entry = {
                **self.entry,
                "first_row": 0 if is_first else next_row,
                "above": {str(stream): epoch for stream, epoch in above.items()},
                "is_whole": False,
            }
            place = len(known)
            known.append(entry)
            self.folder.note_recordings(known)
        self.place = place
        self.epochs = AppendedEpochs({int(stream): int(epoch) for stream, epoch in known[place]["above"].items()})
        self.rows_before = rows_of(known, place, next_row)

    def close(self) -> None:
        """Write down whether the recording was joined to its end, and what retention removed."""
        known = list(self.folder.recordings)
        if self.is_whole and self.place is not None:
            known[self.place] = {**known[self.place], "is_whole": True}
        self.folder.note_recordings(known)


def _epochs(state: str | None, streams: list[int]) -> dict[int, int]:
    """For each stream, the highest epoch of which the journal has decided a frame."""
    found: dict[int, int] = {}
    cursors = [] if state is None else json.loads(state)["inputs"]
    for stream, cursor in zip(streams, cursors, strict=False):
        if cursor[0] >= 0:
            found[stream] = max(found.get(stream, 0), cursor[0])
    return found
