# SPDX-License-Identifier: Apache-2.0
"""What was not joined: a bounded queue of ranges of frames, each with its cause."""

from __future__ import annotations

from dataclasses import dataclass

from framegate.joinbarrier.journal.causes import Cause


@dataclass(slots=True)
class Unmatched:
    """Consecutive frames of one input and epoch that share a cause; time and output are the first one's."""

    input: int
    cause: Cause
    epoch: int
    seq: int
    seq_last: int
    timestamp_ns: int | None
    out_seq: int | None

    @property
    def frames(self) -> int:
        """How many frames these are."""
        return self.seq_last - self.seq + 1

    def is_continued_by(self, following: Unmatched) -> bool:
        """Whether both are one range."""
        same = (self.input, self.cause, self.epoch) == (following.input, following.cause, following.epoch)
        return same and self.seq_last + 1 == following.seq


class UnmatchedQueue:
    """First in, first out. A range goes on where it stands as long as nobody has taken it."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.entries = list[Unmatched]()

    @property
    def is_backed_up(self) -> bool:
        """Half full: nothing more is decided until it was drained, for one decision may fill as much again."""
        return len(self.entries) * 2 >= self.capacity

    def push(self, entry: Unmatched) -> bool:
        """False: there was no room, and the entry is lost."""
        own = [known for known in self.entries if known.input == entry.input]
        if own and own[-1].is_continued_by(entry):
            own[-1].seq_last = entry.seq_last
            return True
        if len(self.entries) == self.capacity:
            return False
        self.entries.append(entry)
        return True

    def take(self, count: int | None = None) -> list[Unmatched]:
        """The oldest entries, all of them without a count."""
        taken = self.entries[:count]
        del self.entries[: len(taken)]
        return taken
