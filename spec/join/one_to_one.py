# SPDX-License-Identifier: Apache-2.0
"""Nearest picks where each frame is joined only once: which frame the current output gets of each such input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from framegate.spec.join.history import Frame, Input
from framegate.spec.join.pairing import INFINITE, OUTPUTS_MAX, Closed, Reach, Time, first_choice
from framegate.spec.join.stage_config import I64_MAX

if TYPE_CHECKING:
    from framegate.spec.join.timestamp_policy import TimestampPolicy


@dataclass(frozen=True, slots=True)
class Question:
    """What ``first_choice`` is asked, beside the times."""

    reach: Reach
    x_horizon: Time
    y_horizon: Time
    is_forced: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for one input: a frame, or None. ``is_early``: a later frame or output might have changed it."""

    frame: Frame | None
    is_early: bool


class OneToOne:
    """What is known of one-to-one inputs and the current output."""

    def __init__(self, policy: TimestampPolicy) -> None:
        self.policy, self.core = policy, policy.core
        # At most half of the frames that may wait compete, so that there is space for the frames that decide.
        self.outputs_max = min(max(1, self.core.config.history // 2), OUTPUTS_MAX)
        self.answers = dict[int, Answer]()
        self.taken: list[Frame | None] | None = None
        """The current output's frames, while the output after it is looked at."""

    def is_answered(self, each: Input, out: int, now_ns: int) -> bool | None:
        """Whether the frame that the output gets is certain, or nothing more is waited for.

        None: the output has to wait. False: no frame came in time, and the input is absent, like any other that is too
        late.
        """
        taken = None if self.taken is None else self.taken[each.index]
        frames = [frame for frame in each.readable if taken is None or frame.seq > taken.seq]
        sure = self._question(each, out)
        hasty = self._hasty(sure, each, now_ns)
        choice, is_hasty = self._ask(sure, each, frames), False
        if choice is None and hasty != sure:
            choice, is_hasty = self._ask(hasty, each, frames), True
        if self.taken is not None:
            return None if choice is None else True
        self.answers.pop(each.index, None)
        if choice is None:
            return None
        frame = None if choice.partner is None else frames[choice.partner]
        self.answers[each.index] = Answer(frame, choice.is_early or is_hasty)
        return frame is not None or not (is_hasty and hasty.is_forced)

    def frame(self, each: Input) -> Frame | None:
        """The frame of an input for the current output."""
        told = self.answers.get(each.index)
        return None if told is None else told.frame

    def close(self) -> None:
        """Clear the answers, because the current output is decided."""
        for index, told in self.answers.items():
            self.core.counters.closed_early[index] += told.is_early and self.core.absent[index] is None
        self.answers.clear()

    def _ask(self, question: Question, each: Input, frames: list[Frame]) -> Closed | None:
        # Ask for one more than compete, so that it is known when the next one comes.
        waiting = islice(self.policy.outputs(), self.outputs_max + 2)
        outputs = [out + each.shift for out in waiting if out <= I64_MAX]
        return first_choice(
            outputs if self.taken is None else outputs[1:],
            [frame.time or 0 for frame in frames],
            question.reach,
            question.x_horizon,
            question.y_horizon,
            outputs_max=self.outputs_max,
            is_forced=question.is_forced,
        )

    def _question(self, each: Input, out: int) -> Question:
        """The question with what is certain: times do not decrease."""
        low, high = self.policy.bounds(each, out)
        asked = out + each.shift
        reach = Reach(INFINITE if low is None else asked - low, INFINITE if high is None else high - asked)
        return Question(reach, self._next_output() + each.shift, self._next_frame(each))

    def _next_output(self) -> Time:
        anchor = self.policy.anchor
        if anchor is None:
            known = [time for time in (self.policy.times.horizon, self.policy.last_ns) if time is not None]
            return INFINITE if self.core.has_all_ended else max(known, default=0)
        return self._next_frame(anchor) - anchor.shift

    def _next_frame(self, each: Input) -> Time:
        time = each.source.last_times[each.place]
        return INFINITE if each.source.is_ended else -INFINITE if time is None else time

    def _hasty(self, sure: Question, each: Input, now_ns: int) -> Question:
        """The question with what the join does not wait for: frames later than the map's lateness, stale inputs, and
        anything more of an input that is optional or overdue.
        """
        anchor, x_horizon, y_horizon = self.policy.anchor, sure.x_horizon, sure.y_horizon
        times = [time for other in self.core.bound if (time := other.source.last_times[other.place]) is not None]
        if self.core.lateness_ns > 0 and times:
            least = max(times) - self.core.lateness_ns
            y_horizon = max(y_horizon, least)
            x_horizon = max(x_horizon, least - (anchor.shift if anchor else 0) + each.shift)
        if self.core.is_stale(each.source, now_ns):
            y_horizon = INFINITE
        if anchor is not None and self.core.is_stale(anchor.source, now_ns):
            x_horizon = INFINITE
        is_forced = each.config.optional or self.core.is_overdue(each, now_ns)
        return replace(sure, x_horizon=x_horizon, y_horizon=y_horizon, is_forced=is_forced)
