# SPDX-License-Identifier: Apache-2.0
"""What was observed of one stream in one epoch of its producer. Readiness depends on nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from framegate.joinbarrier.maps.rules import U64_MAX
from framegate.schema.merge import TimestampSource

NULL_TIMESTAMP: Final = U64_MAX
Times = list[int | None]
"""The times of slot header and frame descriptor, in this order."""


def times_of(timestamp_ns: int | None, descriptor_timestamp_ns: int | None) -> Times:
    """A pair of times, in which all ones becomes None."""
    return [None if time == NULL_TIMESTAMP else time for time in (timestamp_ns, descriptor_timestamp_ns)]


def place_of(source: TimestampSource) -> int:
    """The index of a timestamp field in a pair of times."""
    return 1 if source is TimestampSource.FRAME_DESCRIPTOR else 0


@dataclass(slots=True)
class Cursor:
    """How far a stream has come."""

    seq: int | None = None
    times: Times = field(default_factory=lambda: [None, None])


class Regression(NamedTuple):
    """A time that decreased where it must not. The times are None if they came from a checkpoint, which does not store
    them.
    """

    seq: int
    last_ns: int | None
    found_ns: int | None


@dataclass(slots=True)
class Seen:
    """What was observed of one stream in one epoch."""

    epoch: int | None = None
    observed: Cursor = field(default_factory=Cursor)
    """The newest sequence and times. A rejected field stays at its value."""
    rejected: dict[int, Regression] = field(default_factory=dict)
    """The fields whose times decreased where they must not, with the frames that did it."""
    heard_ns: int | None = None
    newest: tuple[int, int] | None = None
    """The newest frame under a latest policy: what it is ordered by, and its sequence."""
    is_invalid: bool = False
    """Whether that frame could not be read."""
    processed: Cursor = field(default_factory=Cursor)

    def observe(self, seq: int, times: Times, now_ns: int, *, is_ordered: bool) -> None:
        """Observe a frame. Ordered times must not decrease."""
        self.observed.seq = higher(self.observed.seq, seq)
        self.heard_ns = higher(self.heard_ns, now_ns)
        for place, time in enumerate(times):
            if time is None or place in self.rejected:
                continue
            if is_ordered and self.goes_back(place, time):
                self.rejected[place] = Regression(seq, self.observed.times[place], time)
            else:
                self.observed.times[place] = time

    def goes_back(self, place: int, time: int | None) -> bool:
        """Whether a time is earlier than its field's newest one."""
        known = self.observed.times[place]
        return known is not None and time is not None and time < known

    def select(self, order: int, seq: int) -> None:
        """Take a frame as the newest if it is newer."""
        if self.newest is None or (order, seq) > self.newest:
            self.newest, self.is_invalid = (order, seq), False

    @property
    def selected(self) -> int | None:
        """The sequence of the newest frame, if it can be read."""
        return None if self.newest is None or self.is_invalid else self.newest[1]

    def invalid(self, seq: int) -> bool:
        """Mark the newest frame as unreadable, so that the input is absent until a newer one comes. False if another
        frame is the newest.
        """
        is_selected = self.selected == seq
        self.is_invalid |= is_selected
        return is_selected

    def consumed(self, seq: int | None, times: Times) -> None:
        """Note how far consumers have processed the stream."""
        if seq is not None:
            self.processed.seq = higher(self.processed.seq, seq)
        self.processed.times = [
            known if time is None else higher(known, time)
            for known, time in zip(self.processed.times, times, strict=True)
        ]

    def is_stale(self, now_ns: int, timeout_ns: int | None) -> bool:
        """Whether the stream was silent for longer than the timeout. A stream of which no frame came is not stale."""
        return timeout_ns is not None and self.heard_ns is not None and now_ns - self.heard_ns > timeout_ns


def higher(known: int | None, value: int) -> int:
    """The higher of two numbers, of which the first may be unknown."""
    return value if known is None else max(known, value)
