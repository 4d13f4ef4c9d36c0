# SPDX-License-Identifier: Apache-2.0
"""The latest policy: joins the newest frame of every input, whatever its sequence or time."""

from __future__ import annotations

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Input, Source
from framegate.spec.join.out_times import OutTimes
from framegate.spec.join.stage_config import SKIPS_MAX
from framegate.spec.join.stage_core import StageCore
from framegate.spec.join.stage_policy import Policy


class LatestPolicy(Policy):
    """A tick asks for an output: an observation or a time. All observations between two calls of ``next`` make one
    tick.
    """

    def __init__(self, core: StageCore, times: OutTimes) -> None:
        super().__init__(core)
        self.times = times
        self.is_by_time = self.config.order_by == "timestamp"
        self.has_times = self.config.drive in ("clock", "watermark", "external")
        self.has_tick = False
        self.t: int | None = None
        self._is_waiting = False

    @property
    def out_time_ns(self) -> int | None:
        return self.t

    @property
    def is_waiting(self) -> bool:
        return self._is_waiting

    # --- Frames ---

    def arrival_cause(self, each: Input, frame: Frame) -> Cause | None:
        return Cause.NULL_TIMESTAMP if self.is_by_time and frame.time is None else None

    def arrived(self, each: Input, frame: Frame, now_ns: int) -> None:
        """Keep only the newest frame; the others are recorded as superseded."""
        if frame.lost is not None:
            if self.is_by_time or frame.lost is Cause.AGENT_DOWN:
                return
            each.source.seen.invalid(frame.seq)
        known = [other for other in (each.kept, *each.readable) if other is not None and other is not frame]
        if frame.lost is None and any(self._order(other) > self._order(frame) for other in known):
            frame.lost = Cause.SUPERSEDED
        else:
            for other in known:
                if other is not each.kept:
                    other.lost = Cause.SUPERSEDED
        self.core.settle(each)

    def _order(self, frame: Frame) -> tuple[int, int]:
        return (frame.time or 0, frame.seq) if self.is_by_time else (0, frame.seq)

    def observed(self, source: Source, is_new: bool, now_ns: int) -> None:
        if is_new and not self.has_times and self.core.is_all_observed:
            is_driven = self.config.drive == "counter" or source is self.core.inputs[self.config.drive_input].source
            self.has_tick = self.has_tick or is_driven

    def candidate(self, each: Input) -> Frame | None:
        """The newest frame of an input."""
        return next(each.readable, None) or each.reusable

    # --- Outputs ---

    def next(self, now_ns: int) -> list[Frame | None] | None:
        self._is_waiting = False
        for _ in range(SKIPS_MAX):
            self.t = self.times.current if self.has_times else None
            if self.t is None and not self.has_tick:
                return None
            if self.core.asked_ns is None:
                self.core.asked_ns = now_ns
            frames = self._frames(now_ns)
            if frames is None:
                self._not_ready()
            elif self.core.is_skewed(frames):
                self.core.counters.skipped_outputs += 1
                self._consume()
            else:
                return frames
        self._is_waiting = True
        return None

    def _frames(self, now_ns: int) -> list[Frame | None] | None:
        if not self.core.opens(self.t or 0, now_ns, self):
            return None
        frames = list[Frame | None]()
        for each, why in zip(self.core.inputs, self.core.absent, strict=True):
            frame = self.candidate(each) if why is None else None
            if why is None and frame is None:
                if not each.config.optional:
                    return None
                self.core.absent[each.index] = "not_joined"
            frames.append(frame)
        return frames if any(frames) else None

    def _not_ready(self) -> None:
        self.core.counters.ticks_not_ready += 1
        self._consume()

    def _consume(self) -> None:
        if self.has_times:
            self.times.pop()
        self.has_tick = False

    def failed(self, each: Input, frame: Frame) -> None:
        """Drop the tick; the next one tries the newest frames at that time."""
        each.source.seen.invalid(frame.seq)
        if self.t is not None or self.has_tick:
            self._not_ready()
            self.t = None

    def joined(self, now_ns: int) -> None:
        self._consume()
        self.t = None
        self.core.next_output()

    def new_epoch(self) -> None:
        self.has_tick, self.t = False, None
        self.times.new_epoch()
        self.core.next_output()
