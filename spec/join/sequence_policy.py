# SPDX-License-Identifier: Apache-2.0
"""The sequence policy: output n takes an input's frame n + offset, or its newest frame of the last N."""

from __future__ import annotations

from collections.abc import Callable

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Input, Source
from framegate.spec.join.stage_config import I64_MAX, SKIPS_MAX
from framegate.spec.join.stage_core import StageCore
from framegate.spec.join.stage_policy import Policy


class SequencePolicy(Policy):
    """The sequence policy. ``n`` is the current output, None until the first one is known."""

    def __init__(self, core: StageCore) -> None:
        super().__init__(core)
        self.n: int | None
        self.first: int | None
        self.last_row: int | None = None
        self._is_waiting = False
        self.anchor = core.inputs[self.config.drive_input] if self.config.drive == "input" else None
        self.n = self.first = self.config.first

    @property
    def is_waiting(self) -> bool:
        return self._is_waiting

    def begin_not_before(self, start: int) -> None:
        """Raise a configured first output to the first one that a map allows, if no row was made yet."""
        if self.first is not None and self.last_row is None:
            self.first = max(self.first, start)
            self.n = max(self.n or 0, self.first)

    # --- Which frame is whose ---

    def is_exact(self, each: Input) -> bool:
        """Whether an output takes one certain frame of this input: by an offset, or because it is the anchor."""
        return each.window is None or each is self.anchor

    def need(self, each: Input, n: int) -> int:
        """The sequence that the input must have reached for n."""
        return n + each.shift

    def floor(self, each: Input, n: int) -> int:
        """The oldest sequence that n or a later output can take."""
        return self.need(each, n) if self.is_exact(each) else n - (each.window or 0) + 1

    def candidate(self, each: Input, n: int) -> Frame | None:
        """The frame that n would take."""
        low, high = self.floor(each, n), self.need(each, n)
        found = [frame for frame in each.readable if low <= frame.seq <= high]
        if found:
            return found[-1]
        again = None if self.is_exact(each) else each.reusable
        return again if again is not None and low <= again.seq <= high else None

    def possible(self, each: Input, n: int) -> int:
        """The first output from n on for which the input may have a frame."""
        if self.candidate(each, n) is not None:
            return n
        # The most recently joined frame may lie ahead, if it was joined under another map.
        known = [*([] if each.reusable is None or self.is_exact(each) else [each.reusable]), *each.readable]
        nearest = min((frame.seq for frame in known if frame.seq >= self.need(each, n)), default=each.next_seq)
        return n if nearest is None else max(n, nearest - each.shift)

    def arrival_cause(self, each: Input, frame: Frame) -> Cause | None:
        if self.n is None or frame.seq >= self.floor(each, self.n):
            return None
        if self.first is not None and frame.seq < self.floor(each, self.first):
            return Cause.BEFORE_FIRST
        if self.last_row is not None and frame.seq - each.shift <= self.last_row:
            return Cause.LATE
        return self._unjoined_cause(each)

    def _unjoined_cause(self, each: Input) -> Cause:
        return Cause.NO_PARTNER if self.is_exact(each) else Cause.NO_MATCH

    def observed(self, source: Source, is_new: bool, now_ns: int) -> None:
        self.start_wait(now_ns)

    # --- Outputs ---

    def next(self, now_ns: int) -> list[Frame | None] | None:
        self._is_waiting = False
        for _ in range(SKIPS_MAX):
            if self.core.close_if_due():
                break
            if self.n is None and not self._begin(now_ns):
                return None
            n = self._follow(now_ns)
            if n > I64_MAX:
                return None
            if any(self._is_over(each, n) for each in self.core.inputs):
                self._give_up()
                return None
            if not self.core.opens(n, now_ns, self):
                self._is_waiting = True
                if self.core.asked_ns is not None:
                    self.core.not_ready()
                return None
            frames = self.core.choose(n, self.candidate)
            later = self._skip_to(n, frames, now_ns)
            if later is None:
                return frames if any(frames) else None
            self.core.counters.skipped_outputs += later[0] - n
            self._advance(*later, now_ns)
        self._is_waiting = True
        return None

    def _begin(self, now_ns: int) -> bool:
        """Find the first output of an epoch: the smallest that the first frame of every required input allows. False if
        it is not known yet.
        """
        if not self.core.is_all_observed:
            return False
        awaited = [each for each in self.core.required if self._is_awaited(each, now_ns)]
        n = self.first_output(lambda each: None if each in awaited and not each.pending else self.first_seq(each))
        if n is None or any(self.core.lacks(each, n) is not None for each in awaited):
            # The sequences that an input had reached prove nothing: its source may begin anew, as the one did that
            # began this epoch.
            return False
        self.first = n
        self._advance(n, Cause.BEFORE_FIRST, None, now_ns)
        return True

    def _is_awaited(self, each: Input, now_ns: int) -> bool:
        """Whether the first row has to wait for a frame of this input."""
        return not (each.source.is_ended or each.config.deadline_ns or self.core.is_stale(each.source, now_ns))

    @property
    def proposed(self) -> int | None:
        """The current output, or the first one as far as it is known."""
        return self.first_output(self.first_seq) if self.n is None and self.core.is_all_observed else self.n

    def first_output(self, first: Callable[[Input], int | None]) -> int | None:
        """The smallest output that the first frame of every required input allows; None if one of them has none yet."""
        n = self.core.start
        for each in self.core.required:
            seq = first(each)
            if seq is None:
                return None
            n = max(n, seq - each.shift)
        return n

    def first_seq(self, each: Input) -> int:
        """The sequence of the oldest frame that waits, or of the next one to come."""
        return each.pending[0].seq if each.pending else each.next_seq or 0

    def _follow(self, now_ns: int) -> int:
        """Move the current output to the map's first one, or to the anchor's next frame, if that is later."""
        n = self.n or 0
        later = max(n, self.core.start)
        if self.anchor is not None:
            later = self.possible(self.anchor, later)
        if later > n:
            self._advance(later, None, None, now_ns)
        return later

    def _is_over(self, each: Input, n: int) -> bool:
        """Whether an ended input makes every output from n on impossible."""
        may_be_absent = each.config.optional or each.config.deadline_ns > 0
        is_awaited = self.core.takes_part(each) and not may_be_absent
        return each.source.is_ended and is_awaited and self.core.lacks(each, n) is not None

    def _give_up(self) -> None:
        """Give up: this epoch has no more outputs."""
        if self.core.behind:
            self.core.close_epoch()
            self._is_waiting = True
            return
        # Frames of windows keep waiting, because another epoch may use them.
        for each in filter(self.is_exact, self.core.inputs):
            self.core.drop_all(each, Cause.NO_PARTNER)

    def _skip_to(
        self, n: int, frames: list[Frame | None], now_ns: int
    ) -> tuple[int, Cause | None, list[Frame | None] | None] | None:
        """The later output to go to instead of n, the cause for frames that are skipped, and the frames that lie too
        far apart.
        """
        present = [each for each in self.core.inputs if self.core.absent[each.index] is None]
        if any(frames[each.index] is None for each in present):
            required = [each for each in present if not each.config.optional]
            return max(self.possible(each, n + 1) for each in required), None, None
        if self.core.is_aged(frames, now_ns):
            newest = min((each.source.last_seq or 0) - each.shift for each in present)
            if newest > n:
                return newest, Cause.AGED, None
        if self.core.is_skewed(frames):
            return n + 1, None, frames
        return None

    def _advance(self, n: int, cause: Cause | None, skewed: list[Frame | None] | None, now_ns: int) -> None:
        """Go on to output n: decide the frames that neither n nor a later output can take."""
        self.n = n
        self.core.next_output()
        for each in self.core.inputs:
            while each.pending and each.pending[0].seq < self.floor(each, n):
                is_skewed = skewed is not None and skewed[each.index] is each.pending[0]
                self.core.drop(each, Cause.SKEW if is_skewed else cause or self._unjoined_cause(each))
            self.core.settle(each)
        self.start_wait(now_ns)

    def start_wait(self, now_ns: int) -> None:
        """Start the wait of the current output, once one input has what it needs."""
        if (
            self.core.asked_ns is None
            and self.core.has_map
            and self.n is not None
            and any(self.core.lacks(each, self.n) is None for each in self.core.inputs)
        ):
            self.core.asked_ns = now_ns

    def joined(self, now_ns: int) -> None:
        n = self.n or 0
        self.last_row = n
        self._advance(n + 1, None, None, now_ns)

    def new_epoch(self) -> None:
        self.n = self.first = self.last_row = None
        self.core.next_output()

    # --- State ---

    def state(self) -> dict[str, int]:
        return {key: -1 if value is None else value for key, value in self._numbers().items()}

    def _numbers(self) -> dict[str, int | None]:
        return {"next": self.n, "first": self.first, "last": self.last_row}

    def resume(self, state: dict[str, int]) -> None:
        self.n, self.first, self.last_row = (
            None if state[key] < 0 else state[key] for key in ("next", "first", "last")
        )
