# SPDX-License-Identifier: Apache-2.0
"""The timestamp policy: output t takes an input's newest frame up to t + offset or within [t - w, t], or the nearest
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from framegate.joinbarrier.journal.causes import Absence, Cause
from framegate.spec.join.history import Frame, Input
from framegate.spec.join.one_to_one import OneToOne
from framegate.spec.join.out_times import OutTimes
from framegate.spec.join.stage_config import I64_MAX, SKIPS_MAX
from framegate.spec.join.stage_core import StageCore
from framegate.spec.join.stage_policy import Policy


class TimestampPolicy(Policy):
    """The timestamp policy. ``t`` is the current output, None while nothing asks for one."""

    def __init__(self, core: StageCore, times: OutTimes) -> None:
        super().__init__(core)
        self.times = times
        self.anchor = core.inputs[self.config.drive_input] if self.config.drive == "input" else None
        self.t: int | None = None
        self.last_ns: int | None = None
        """The newest decided output, with or without a row."""
        self._is_waiting = False
        self.one_to_one = OneToOne(self)

    @property
    def out_time_ns(self) -> int | None:
        return self.t

    @property
    def is_waiting(self) -> bool:
        return self._is_waiting

    # --- Which frame is whose ---

    def bounds(self, each: Input, t: int) -> tuple[int | None, int | None]:
        """The oldest and newest time that an output may take of an input; None: any."""
        asked = t + each.shift
        # A tolerance narrows what the rule allows.
        reach = min((bound for bound in (each.window, each.config.tolerance_ns) if bound is not None), default=None)
        low = None if reach is None else asked - reach
        if each.config.pick != "nearest" or each.window is not None:
            return low, asked
        return low, None if reach is None else asked + reach

    def candidate(self, each: Input, t: int) -> Frame | None:
        """The frame that t would take."""
        if each is self.anchor:
            return each.pending[0]
        if each.is_one_to_one:
            return self.one_to_one.frame(each)
        if each.config.pick == "sequence":
            wanted = self.wanted(each)
            return next((frame for frame in each.readable if frame.seq == wanted), None)
        low, high = self.bounds(each, t)
        found = [frame for frame in (each.reusable, *each.readable) if frame is not None and frame.time is not None]
        found = [frame for frame in found if _within(frame.time, low, high)]
        if not found:
            return None
        if each.config.pick != "nearest":
            return found[-1]
        # min keeps the first of equals, which is the older frame.
        return min(found, key=lambda frame: abs((frame.time or 0) - t - each.shift))

    def _time(self, each: Input) -> int | None:
        return each.source.last_times[each.place]

    def is_near(self, each: Input, out: int, now_ns: int) -> bool | None:
        if each.config.pick in ("newest", "latest") or each is self.anchor:
            return True
        if each.config.pick == "sequence":
            return self._has_come(each, now_ns)
        if each.is_one_to_one:
            return self.one_to_one.is_answered(each, out, now_ns)
        asked, time = out + each.shift, self._time(each)
        others = [other for other in map(self._time, self.core.bound) if other is not None]
        is_there = time is not None and time >= asked
        is_overtaken = max(others, default=-1) >= asked + self.core.lateness_ns
        return is_there or is_overtaken or each.source.is_ended or self.core.is_stale(each.source, now_ns)

    def wanted(self, each: Input) -> int | None:
        """The sequence that the anchor's frame asks of an input; None if the anchor has no frame for the output.

        The output is the current one, or the one after it while that is looked at."""
        assert self.anchor is not None  # noqa: S101  (a configuration without an anchor has no such input)
        anchors = list(islice(self.anchor.readable, 2))
        place = 0 if self.one_to_one.taken is None else 1
        return anchors[place].seq + each.config.seq_offset if place < len(anchors) else None

    def missing(self, each: Input) -> int:
        """How many sequences an input that is picked by sequence lacks for the current output."""
        wanted, last_seq = self.wanted(each), each.source.last_seq
        is_awaited = wanted is not None and last_seq is not None and not each.source.is_ended
        return max(0, (wanted or 0) - (last_seq or 0)) if is_awaited else 0

    def _has_come(self, each: Input, now_ns: int) -> bool:
        """Whether the wanted frame was seen, or never comes. A stale input is absent."""
        wanted, last_seq = self.wanted(each), each.source.last_seq
        if each.source.is_ended or (wanted is not None and last_seq is not None and last_seq >= wanted):
            return True
        if self.core.is_stale(each.source, now_ns):
            self.core.absent[each.index] = "stale"
        return self.core.absent[each.index] is not None

    def arrival_cause(self, each: Input, frame: Frame) -> Cause | None:
        if self.core.is_rejected(each.source):
            return Cause.REGRESSED
        if frame.time is None:
            return Cause.NULL_TIMESTAMP
        if self.last_ns is None or each is self.anchor:
            return None
        if each.config.pick == "sequence":
            decided = None if self.anchor is None else self.anchor.decided
            return Cause.LATE if decided is not None and frame.seq <= decided + each.config.seq_offset else None
        low, _ = self.bounds(each, self.last_ns)
        return Cause.LATE if low is not None and frame.time < low else None

    # --- Outputs ---

    def next(self, now_ns: int) -> list[Frame | None] | None:
        self._is_waiting = False
        for _ in range(SKIPS_MAX):
            if self.core.close_if_due():
                break
            t = self._current()
            if t is None:
                return None
            if self.t != t or self.core.asked_ns is None:
                self.t, self.core.asked_ns = t, now_ns
            if not self.core.opens(t, now_ns, self):
                self._is_waiting = True
                self.core.not_ready()
                return None
            for each in self._others():
                self._drop_passed(each, t, None, None)
            frames = self.core.choose(t, self.candidate)
            cause = self._why_no_row(t, frames, now_ns)
            if cause is None:
                return frames
            self._skip(t, frames, cause)
        self._is_waiting = True
        return None

    def _current(self) -> int | None:
        """The current output time. Times that can be no output are decided on the way."""
        for _ in range(SKIPS_MAX):
            t = self.proposed(0)
            if t is None:
                return None
            if self.core.start <= t <= I64_MAX and (self.last_ns is None or t >= self.last_ns):
                return t
            if self.last_ns is not None and t < self.last_ns:
                self.core.counters.time_refused += 1
                cause = Cause.LATE
            else:
                self.core.counters.skipped_outputs += 1
                cause = Cause.BEFORE_FIRST if t < self.core.start else Cause.NO_MATCH
            self._drop_current(cause)
        self._is_waiting = True
        return None

    def outputs(self) -> Sequence[int]:
        """The times of the current output and of those that wait behind it."""
        if self.anchor is None:
            return self.times.due
        times = [frame.time for frame in self.anchor.readable if frame.time is not None]
        return [time - self.anchor.shift for time in times]

    def proposed(self, ahead: int) -> int | None:
        """The time of the current output, or of the one ``ahead`` of it."""
        outputs = self.outputs()
        return outputs[ahead] if len(outputs) > ahead else None

    def _drop_current(self, cause: Cause) -> None:
        if self.anchor is None:
            self.times.pop()
        else:
            self.core.drop(self.anchor, cause)
            self.core.settle(self.anchor)

    def _others(self) -> list[Input]:
        return [each for each in self.core.inputs if each is not self.anchor]

    def _why_no_row(self, t: int, frames: list[Frame | None], now_ns: int) -> Cause | None:
        """Why there is no row for t."""
        is_missing = any(frame is None and why is None for frame, why in zip(frames, self.core.absent, strict=True))
        if is_missing or not any(frames):
            return Cause.NO_PARTNER
        if self.core.is_aged(frames, now_ns) and self._has_newer(frames, now_ns):
            return Cause.AGED
        return Cause.SKEW if self.core.is_skewed(frames) else None

    def _has_newer(self, frames: list[Frame | None], now_ns: int) -> bool:
        """Whether the output after the current one is already possible."""
        t = self.proposed(1)
        if t is None or t > I64_MAX:
            return False
        absent: list[Absence | None] = self.core.absent
        asked_ns, self.core.asked_ns = self.core.asked_ns, None
        self.one_to_one.taken = frames
        is_open = self.core.opens(t, now_ns, self)
        self.one_to_one.taken = None
        self.core.absent, self.core.asked_ns = absent, asked_ns
        return is_open

    def _skip(self, t: int, frames: list[Frame | None], cause: Cause) -> None:
        """Decide output t without a row."""
        self.core.counters.skipped_outputs += 1
        for each in self._others():
            frame = frames[each.index]
            if each.config.pick == "sequence":
                self._drop_passed_by_sequence(each, 1, cause)
            elif not each.is_one_to_one:
                self._drop_passed(each, t, frame, Cause.AGED if cause is Cause.AGED else None)
            elif frame is not None:
                # The frame belonged to no other output than this one, which gave no row.
                self.core.drop_older(each, frame.seq)
                self.core.drop(each, cause)
                self.core.settle(each)
        self._drop_current(cause)
        self._done(t)

    def _done(self, t: int) -> None:
        self.one_to_one.close()
        self.last_ns, self.t = t, None
        self.core.next_output()

    def _drop_passed(self, each: Input, t: int, preferred: Frame | None, cause: Cause | None) -> None:
        """Decide the frames that no later output can take."""
        if each.config.pick == "sequence":
            self._drop_passed_by_sequence(each, 0, Cause.NO_PARTNER)
            return
        low, high = self.bounds(each, t)
        while each.pending:
            frame = each.pending[0]
            if frame.lost is not None:
                self.core.drop(each, Cause.NO_MATCH)
            elif preferred is not None and frame.seq < preferred.seq:
                self.core.drop(each, cause or Cause.SUPERSEDED)
            elif low is not None and frame.time is not None and frame.time < low:
                is_first_look = each.window is not None and frame.seq > (-1 if each.looked is None else each.looked)
                self.core.drop(each, cause or (Cause.BEFORE_WINDOW if is_first_look else Cause.NO_MATCH))
            else:
                break
        if each.window is not None:
            for frame in each.readable:
                if frame.time is not None and _within(frame.time, None, high):
                    each.looked = frame.seq

    def _drop_passed_by_sequence(self, each: Input, past: int, cause: Cause) -> None:
        """Decide the frames below the one that the anchor's next frame wants; with ``past`` 1 that one too."""
        wanted = self.wanted(each)
        while wanted is not None and each.pending and each.pending[0].seq < wanted + past:
            self.core.drop(each, cause if each.pending[0].seq == wanted else Cause.NO_PARTNER)
        self.core.settle(each)

    def joined(self, now_ns: int) -> None:
        t = self.t or 0
        for each in self._others():
            self._drop_passed(each, t, None, None)
        if self.anchor is None:
            self.times.pop()
        self._done(t)

    def new_epoch(self) -> None:
        self.t = self.last_ns = None
        self.times.new_epoch()
        self.core.next_output()

    # --- State ---

    def state(self) -> dict[str, int]:
        return {"time": -1 if self.last_ns is None else self.last_ns}

    def resume(self, state: dict[str, int]) -> None:
        self.last_ns = None if state["time"] < 0 else state["time"]


def _within(time: int | None, low: int | None, high: int | None) -> bool:
    return time is not None and (low is None or time >= low) and (high is None or time <= high)
