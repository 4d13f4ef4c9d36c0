# SPDX-License-Identifier: Apache-2.0
"""The frames of one input that wait for a decision, oldest first.

Frames are decided in order, so one cursor, ``decided``, tells what is behind. A frame that is known to be lost stays in
its place until everything older is decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.demand import Demand
from framegate.spec.join.seen import Seen, Times, place_of
from framegate.spec.join.stage_config import I64_MAX, InputConfig


@dataclass(slots=True)
class Frame:
    """One frame or, never to be joined, a range of them."""

    seq: int
    seq_last: int
    time: int | None
    """By the rule's source."""
    slot_ns: int | None
    descriptor_ns: int | None
    trace_id: int
    arrival_ns: int
    order: int
    lost: Cause | None = None

    def time_at(self, place: int) -> int | None:
        """The time of a place; None too where either does not fit its field."""
        times = self.slot_ns, self.descriptor_ns
        return None if any(time is not None and time > I64_MAX for time in times) else times[place]


@dataclass(frozen=True, slots=True)
class Rejection:
    """By which frame a stream was rejected; ``place`` is that of the time that went back."""

    stream: int
    epoch: int
    seq: int
    place: int
    last_ns: int | None
    found_ns: int | None


@dataclass(slots=True)
class Source:
    """One stream, in its producer's current epoch."""

    stream: int
    seen: Seen = field(default_factory=Seen)
    is_observed: bool = False
    """A frame came, not only news of frames that nobody heard."""
    is_ended: bool = False
    watermark_ms: int | None = None
    is_rejection_told: bool = False

    @property
    def epoch(self) -> int | None:
        """The producer's."""
        return self.seen.epoch

    @property
    def last_seq(self) -> int | None:
        """The newest sequence."""
        return self.seen.observed.seq

    @property
    def last_times(self) -> Times:
        """The newest times."""
        return self.seen.observed.times


@dataclass(slots=True)
class Input:
    """One ``[[input]]`` and its frames."""

    index: int
    config: InputConfig
    source: Source
    room: int
    """How many frames may wait, beside one range of lost ones at the end."""
    demand: Demand | None = None
    """Its rule, of the map that was applied last; None: it takes no part in outputs."""
    shift: int = 0
    """From an output to what the rule asks of this input."""
    window: int | None = None
    """Of a window rule."""
    place: int = 0
    """Of the source of its times, in pairs of them."""
    pending: list[Frame] = field(default_factory=list)
    behind: list[Frame] = field(default_factory=list)
    """Frames of the next epoch, behind the fence."""
    kept: Frame | None = None
    """The last joined frame; it may be joined again."""
    decided: int | None = None
    joined: int | None = None
    looked: int | None = None
    """Up to which sequence a window has looked at frames."""

    def __post_init__(self) -> None:
        self.place = place_of(self.config.source)

    def read_times_at(self, place: int) -> None:
        """Frames have the times of this place from now on."""
        self.place = place
        for frame in [*self.pending, *([] if self.kept is None else [self.kept])]:
            frame.time = frame.time_at(place)

    @property
    def is_one_to_one(self) -> bool:
        """Whether each frame is joined once at most, with the output that it suits best; if it drives no join."""
        return self.config.pick == "nearest" and not self.config.reuse

    @property
    def readable(self) -> Iterator[Frame]:
        """Pending frames that are not lost."""
        return (frame for frame in self.pending if frame.lost is None)

    @property
    def again(self) -> Frame | None:
        """The last joined frame, if it may be joined again."""
        return self.kept if self.config.reuse else None

    @property
    def next_seq(self) -> int | None:
        """The least sequence that may still come."""
        return None if self.source.last_seq is None else self.source.last_seq + 1

    def push(self, frame: Frame, source: Source) -> None:
        """A frame waits, on its epoch's side of the fence. A late one of the epoch before counts as if it had come
        before that."""
        if source is not self.source:
            self.behind.append(frame)
            return
        if self.behind:
            frame.order = self.behind[0].order
        self.pending.append(frame)

    def begin(self, following: Source) -> None:
        """A new epoch: its sequences start again, and what stood behind the fence are its frames."""
        self.source, self.pending, self.behind = following, self.behind, []
        self.kept = self.decided = self.joined = self.looked = None
