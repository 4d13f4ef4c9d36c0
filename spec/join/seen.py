# SPDX-License-Identifier: Apache-2.0
"""What was observed of one stream in one epoch of its producer: all that readiness is decided from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from framegate.joinbarrier.maps.rules import U64_MAX
from framegate.schema.merge import TimestampSource

NULL_TIMESTAMP: Final = U64_MAX
Times = list[int | None]
"""Of slot header and frame descriptor, in this order."""


def times_of(timestamp_ns: int | None, descriptor_timestamp_ns: int | None) -> Times:
    """All ones is null, in either field."""
    return [None if time == NULL_TIMESTAMP else time for time in (timestamp_ns, descriptor_timestamp_ns)]


def place_of(source: TimestampSource) -> int:
    """Where a timestamp field stands in a pair of times."""
    return 1 if source is TimestampSource.FRAME_DESCRIPTOR else 0


@dataclass(slots=True)
class Cursor:
    """How far something has come."""

    seq: int | None = None
    times: Times = field(default_factory=lambda: [None, None])


class Regression(NamedTuple):
    """A time that decreased where it must not; the times are None where a checkpoint does not tell them."""

    seq: int
    last_ns: int | None
    found_ns: int | None


@dataclass(slots=True)
class Seen:
    """One stream in one epoch."""

    epoch: int | None = None
    observed: Cursor = field(default_factory=Cursor)
    """The newest sequence and times. A field that is rejected has stopped."""
    rejected: dict[int, Regression] = field(default_factory=dict)
    """Places whose times decreased where they must not, and by which frame."""
    heard_ns: int | None = None
    newest: tuple[int, int] | None = None
    """The newest frame of the latest policy: what it is ordered by, and its sequence."""
    is_invalid: bool = False
    """That frame could not be read."""
    processed: Cursor = field(default_factory=Cursor)

    def observe(self, seq: int, times: Times, now_ns: int, *, is_ordered: bool) -> None:
        """A frame came. Where times are ordered, they must not decrease."""
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
        """Whether a time is less than its field has shown."""
        known = self.observed.times[place]
        return known is not None and time is not None and time < known

    def select(self, order: int, seq: int) -> None:
        """A frame may be the newest."""
        if self.newest is None or (order, seq) > self.newest:
            self.newest, self.is_invalid = (order, seq), False

    @property
    def selected(self) -> int | None:
        """The newest frame, if it can be read."""
        return None if self.newest is None or self.is_invalid else self.newest[1]

    def invalid(self, seq: int) -> bool:
        """The newest frame could not be read: the input is absent until a newer one comes. False: another is it."""
        is_selected = self.selected == seq
        self.is_invalid |= is_selected
        return is_selected

    def consumed(self, seq: int | None, times: Times) -> None:
        """How far those are who consume it."""
        if seq is not None:
            self.processed.seq = higher(self.processed.seq, seq)
        self.processed.times = [
            known if time is None else higher(known, time)
            for known, time in zip(self.processed.times, times, strict=True)
        ]

    def is_stale(self, now_ns: int, timeout_ns: int | None) -> bool:
        """Silent for longer than the time-out; what never was observed is not stale."""
        return timeout_ns is not None and self.heard_ns is not None and now_ns - self.heard_ns > timeout_ns


def higher(known: int | None, value: int) -> int:
    """The higher of two, of which one may not be known."""
    return value if known is None else max(known, value)
