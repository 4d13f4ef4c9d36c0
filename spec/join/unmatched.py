# SPDX-License-Identifier: Apache-2.0
"""The unmatched: a bounded queue of ranges of frames that were not joined, each with its cause."""

from __future__ import annotations

from dataclasses import dataclass

from framegate.joinbarrier.journal.causes import Cause


@dataclass(slots=True)
class Unmatched:
    """Consecutive frames of one input and epoch that share a cause; time and output are those of the first."""

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
        """Whether another entry continues this one, so that both are one range."""
        same = (self.input, self.cause, self.epoch) == (following.input, following.cause, following.epoch)
        return same and self.seq_last + 1 == following.seq


class UnmatchedQueue:
    """A first-in, first-out queue. A range grows in place until it is taken."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.entries = list[Unmatched]()

    @property
    def is_backed_up(self) -> bool:
        """Whether the queue is half full. Then nothing more is decided until it is drained, because one decision may
        fill the other half.
        """
        return len(self.entries) * 2 >= self.capacity

    def push(self, entry: Unmatched) -> bool:
        """Add an entry; False if there was no space, and the entry is lost."""
        own = [known for known in self.entries if known.input == entry.input]
        if own and own[-1].is_continued_by(entry):
            own[-1].seq_last = entry.seq_last
            return True
        if len(self.entries) == self.capacity:
            return False
        self.entries.append(entry)
        return True

    def take(self, count: int | None = None) -> list[Unmatched]:
        """Take the oldest entries; all of them without a count."""
        taken = self.entries[:count]
        del self.entries[: len(taken)]
        return taken
