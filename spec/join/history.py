# SPDX-License-Identifier: Apache-2.0
"""The frames of one input that wait for a decision, oldest first.

Frames are decided in order, so one number, ``decided``, covers all older ones. A lost frame stays in its place until
everything older is decided.
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
    """One frame, or a range of frames that can never be joined."""

    seq: int
    seq_last: int
    time: int | None
    """The time by the rule's source."""
    slot_ns: int | None
    descriptor_ns: int | None
    trace_id: int
    arrival_ns: int
    order: int
    lost: Cause | None = None

    def time_at(self, place: int) -> int | None:
        """The time of a field; None also if any of the frame's times is out of range."""
        times = self.slot_ns, self.descriptor_ns
        return None if any(time is not None and time > I64_MAX for time in times) else times[place]


@dataclass(frozen=True, slots=True)
class Rejection:
    """The frame by which a stream was rejected; ``place`` is the field whose time went back."""

    stream: int
    epoch: int
    seq: int
    place: int
    last_ns: int | None
    found_ns: int | None


@dataclass(slots=True)
class Source:
    """What is known of one stream in one epoch of its producer."""

    stream: int
    seen: Seen = field(default_factory=Seen)
    is_observed: bool = False
    """Whether a frame of the epoch came, not only news of missed frames."""
    is_ended: bool = False
    watermark_ms: int | None = None
    is_rejection_taken: bool = False

    @property
    def epoch(self) -> int | None:
        """The producer's epoch."""
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
    """One ``[[input]]`` and its waiting frames."""

    index: int
    config: InputConfig
    source: Source
    capacity: int
    """How many frames may wait, apart from one range of lost ones at the end."""
    demand: Demand | None = None
    """Its rule in the applied map; None if it takes no part in outputs."""
    shift: int = 0
    """The shift from an output to what the rule asks of this input."""
    window: int | None = None
    """The window, if its rule is one."""
    place: int = 0
    """The index of its time's source in pairs of times."""
    pending: list[Frame] = field(default_factory=list)
    behind: list[Frame] = field(default_factory=list)
    """Frames of the next epoch, behind the fence."""
    kept: Frame | None = None
    """The frame that was joined most recently; it may be joined again."""
    decided: int | None = None
    joined: int | None = None
    looked: int | None = None
    """The newest sequence that a window has looked at."""

    def __post_init__(self) -> None:
        self.place = place_of(self.config.source)

    def read_times_at(self, place: int) -> None:
        """Take the times of all frames from this field from now on."""
        self.place = place
        for frame in [*self.pending, *([] if self.kept is None else [self.kept])]:
            frame.time = frame.time_at(place)

    @property
    def is_one_to_one(self) -> bool:
        """Whether each frame is joined at most once, with the output that it suits best. Only for an input that drives
        no join.
        """
        return self.config.pick == "nearest" and not self.config.reuse

    @property
    def readable(self) -> Iterator[Frame]:
        """The pending frames that are not lost."""
        return (frame for frame in self.pending if frame.lost is None)

    @property
    def reusable(self) -> Frame | None:
        """The most recently joined frame, if it may be joined again."""
        return self.kept if self.config.reuse else None

    @property
    def next_seq(self) -> int | None:
        """The smallest sequence that may still come."""
        return None if self.source.last_seq is None else self.source.last_seq + 1

    def push(self, frame: Frame, source: Source) -> None:
        """Add a frame on its epoch's side of the fence. A late frame of the epoch before the fence counts as if it had
        come before the fence.
        """
        if source is not self.source:
            self.behind.append(frame)
            return
        if self.behind:
            frame.order = self.behind[0].order
        self.pending.append(frame)

    def begin(self, following: Source) -> None:
        """Begin the epoch behind the fence. Its sequences start anew, and the frames behind the fence become the
        candidates.
        """
        self.source, self.pending, self.behind = following, self.behind, []
        self.kept = self.decided = self.joined = self.looked = None
