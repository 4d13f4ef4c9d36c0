# SPDX-License-Identifier: Apache-2.0
"""What every policy of a stage stands on: inputs, decisions about their frames, and the gate before an output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.mergemap import MergeMap
from framegate.joinbarrier.missing import Absence, Cause
from framegate.joinbarrier.readiness import Reason
from framegate.joinbarrier.reference.demand import MET, STALE, Demand, demands, start
from framegate.joinbarrier.reference.history import Frame, Input, Source
from framegate.joinbarrier.reference.kind import Kind
from framegate.joinbarrier.reference.stage_config import I64_MAX, StageConfig
from framegate.joinbarrier.reference.unmatched import Unmatched, UnmatchedQueue

if TYPE_CHECKING:
    from framegate.joinbarrier.reference.stage_policy import Policy

_QUEUE_MIN: Final = 1024


@dataclass(slots=True)
class Counters:
    """Since the start. Per input, in their order: absent, overwritten, closed early, and unmatched by cause."""

    rows: int = 0
    ticks_not_ready: int = 0
    skipped_outputs: int = 0
    time_refused: int = 0
    regressions: int = 0
    out_of_range: int = 0
    repeated: int = 0
    already_decided: int = 0
    unmatched_dropped: int = 0
    maps_refused: int = 0
    absent: list[int] = field(default_factory=list)
    overwritten: list[int] = field(default_factory=list)
    closed_early: list[int] = field(default_factory=list)
    """One-to-one choices that were made before it was certain that nothing later changes them."""
    unmatched: list[Counter[Cause]] = field(default_factory=list)


class StageCore:
    """State of a stage, and what is done to it whatever the policy."""

    def __init__(self, config: StageConfig) -> None:
        self.config = config
        self.sources = {stream: Source(stream) for stream in config.streams}
        self.behind = dict[int, Source]()
        """Of each stream the epoch behind its fence, if it has one."""
        self.inputs = [
            Input(index, each, self.sources[each.stream], config.history) for index, each in enumerate(config.inputs)
        ]
        self.queue = UnmatchedQueue(max(_QUEUE_MIN, 2 * sum(each.room for each in self.inputs)))
        count = len(self.inputs)
        self.counters = Counters(
            absent=[0] * count,
            overwritten=[0] * count,
            closed_early=[0] * count,
            unmatched=[Counter() for _ in self.inputs],
        )
        self.out_epoch, self.out_seq = config.out_epoch, 0
        self.map_version = 0
        self.lateness_ns, self.stale_timeout_ns = 0, None
        self.kind = config.kind
        """What readiness is about; None: nothing of a union waits for a map or for another input."""
        self.demands = list[Demand]()
        """The rules, of the map that was applied last."""
        self.has_map = self.kind is None
        if self.kind is not None:
            # So that the demands are those of the inputs before the authority has announced a map.
            self.obey(self.kind, config.map(config.out_epoch))
        self.own_start = max((start(rule) for rule in config.map(0).rules), default=0)
        self.start = self.own_start
        """The first output that every rule can be fulfilled for."""
        self.asked_ns: int | None = None
        """Since when the current output waits."""
        self.is_counted = False
        self.absent: list[Absence | None] = [None] * count
        self.order = 0

    lateness_ns: int
    stale_timeout_ns: int | None

    def on(self, stream: int) -> list[Input]:
        """The inputs on a stream."""
        return [each for each in self.inputs if each.config.stream == stream]

    @property
    def required(self) -> list[Input]:
        """The inputs that are not optional."""
        return [each for each in self.inputs if not each.config.optional]

    @property
    def has_all_ended(self) -> bool:
        """Whether no frame comes any more: an optional stream that never came is not waited for."""
        return all(
            source.is_ended
            or not (source.is_observed or any(not each.config.optional for each in self.on(source.stream)))
            for source in self.sources.values()
        )

    @property
    def is_all_observed(self) -> bool:
        """Whether every required input showed a frame in its present epoch."""
        return all(each.source.is_observed for each in self.required)

    # --- Decisions ---

    def note(self, each: Input, epoch: int, frame: Frame, cause: Cause) -> None:
        """Write down a frame that is not joined."""
        out_seq = None
        if self.config.policy == "sequence" and each.config.window is None:
            own = frame.seq - each.config.shift
            out_seq = own if 0 <= own <= I64_MAX else None
        entry = Unmatched(each.index, cause, epoch, frame.seq, frame.seq_last, frame.time, out_seq)
        self.counters.unmatched[each.index][cause] += entry.frames
        if not self.queue.push(entry):
            self.counters.unmatched_dropped += entry.frames

    def drop(self, each: Input, cause: Cause) -> None:
        """Decide an input's oldest frame: not joined."""
        frame = each.pending.pop(0)
        each.decided = frame.seq_last
        self.note(each, each.source.epoch or 0, frame, frame.lost or cause)

    def settle(self, each: Input) -> None:
        """Decide what is lost and has nothing older before it."""
        while each.pending and each.pending[0].lost is not None:
            self.drop(each, Cause.NO_MATCH)

    def drop_all(self, each: Input, cause: Cause) -> None:
        """Decide everything that waits."""
        while each.pending:
            self.drop(each, cause)

    def drop_older(self, each: Input, seq: int) -> None:
        """A newer frame is preferred."""
        while each.pending and each.pending[0].seq < seq:
            self.drop(each, Cause.SUPERSEDED)

    def add(self, each: Input, frame: Frame, source: Source) -> None:
        """A frame waits. A full history, which has no fence, loses what comes, as one range at its end."""
        if len(each.pending) + len(each.behind) >= each.room:
            frame.lost = frame.lost or Cause.NO_ROOM
            newest = each.pending[-1]
            if newest.lost is frame.lost and newest.seq_last + 1 == frame.seq:
                newest.seq_last = frame.seq_last
                return
            if len(each.pending) > each.room:
                # Two ranges that do not go on in one another: the oldest frame makes room for the second.
                self.drop(each, Cause.NO_ROOM)
                self.settle(each)
        each.push(frame, source)
        self.settle(each)

    def take(self, each: Input, frame: Frame) -> None:
        """A frame was joined."""
        self.drop_older(each, frame.seq)
        if each.pending and each.pending[0] is frame:
            each.pending.pop(0)
            each.decided = each.joined = frame.seq
            each.kept = frame
        self.settle(each)

    # --- Epochs ---

    def closes(self) -> bool:
        """Close the output's epoch if nothing more can be made of it, or the next one is nearer. Whether it was."""
        raise NotImplementedError

    def close_epoch(self) -> None:
        """Go over to the next epoch of all streams that have one. What is left of those before it is dropped."""
        raise NotImplementedError

    def pass_in_order(self) -> None:
        """Of a union: frames keep the order in which they came; a fence goes when it is the oldest thing that waits."""
        raise NotImplementedError

    def advance_watermark(self) -> None:
        """The lowest watermark may make an output."""
        raise NotImplementedError

    # --- The gate ---

    def obey(self, kind: Kind, applied: MergeMap) -> None:
        """The demands of a map. The k-th rule of a stream is that of its k-th input; more inputs share the last."""
        self.demands = demands(applied, kind, {each.stream for each in self.config.inputs if each.processed})
        for stream in self.sources:
            rules = [demand for demand in self.demands if demand.stream == stream]
            for place, each in enumerate(self.on(stream)):
                each.demand = rules[min(place, len(rules) - 1)]

    def opens(self, out: int, now_ns: int, policy: Policy) -> bool:
        """Whether an output may be tried; ``absent`` says which inputs it then goes without."""
        self.absent = [None] * len(self.inputs)
        for demand in self.demands:
            verdict = demand.verdict(self.sources[demand.stream].seen, out, now_ns, self.stale_timeout_ns)
            on = [each for each in self.inputs if each.demand is demand]
            if verdict == MET:
                continue
            if verdict == STALE:
                is_passed = all(self._goes_stale(each, out, policy) for each in on)
            else:
                is_passed = verdict is not Reason.BEFORE_START and all(
                    self._excused(each, now_ns, policy) for each in on
                )
            if not on or not is_passed:
                return False
        for each in self.inputs:
            near = self.absent[each.index] is not None or policy.is_near(each, out, now_ns)
            if near is None or not (near or self._excused(each, now_ns, policy)):
                return False
        return True

    def lacks(self, each: Input, out: int) -> Reason | None:
        """What the input's own rule has to wait for."""
        return Reason.NO_MAP if each.demand is None else each.demand.unseen(each.source.seen, out)

    def is_rejected(self, source: Source) -> bool:
        """Whether the times of a stream's rules have decreased: nothing of it is joined by them any more."""
        return self.config.policy == "timestamp" and bool(
            source.seen.rejected & {each.place for each in self.on(source.stream)}
        )

    def _goes_stale(self, each: Input, out: int, policy: Policy) -> bool:
        """Whether an output goes on though this input is stale: the last frame of one that has ended may be joined
        again, and without its anchor's frame it is none."""
        if each is policy.anchor:
            return self.lacks(each, out) is None
        outlives_end = self.config.policy in ("timestamp", "latest")
        if not (outlives_end and each.source.is_ended):
            self.absent[each.index] = "stale"
        return True

    def _excused(self, each: Input, now_ns: int, policy: Policy) -> bool:
        """Whether an output goes on though this input is not as far. Without its anchor's frame it is none."""
        if self.config.policy == "timestamp" and each.source.is_ended:
            return True
        if each is policy.anchor:
            return False
        if each.config.optional:
            self.absent[each.index] = "not_joined"
        elif self.is_overdue(each, now_ns):
            self.absent[each.index] = "late"
        return self.absent[each.index] is not None

    def is_overdue(self, each: Input, now_ns: int) -> bool:
        """Whether the current output waited longer than it does for this input."""
        deadline_ns = each.config.deadline_ns
        return deadline_ns > 0 and self.asked_ns is not None and now_ns - self.asked_ns > deadline_ns

    def is_stale(self, source: Source, now_ns: int) -> bool:
        """Silent for longer than the map's time-out."""
        return source.seen.is_stale(now_ns, self.stale_timeout_ns)

    def not_ready(self) -> None:
        """Count an output that was asked for in vain, once."""
        self.counters.ticks_not_ready += not self.is_counted
        self.is_counted = True

    def next_output(self) -> None:
        """Another output is the current one."""
        self.asked_ns, self.is_counted = None, False

    def choose(self, out: int, candidate: Callable[[Input, int], Frame | None]) -> list[Frame | None]:
        """The frames of an output, for the inputs that it does not go without; an optional one may have none."""
        frames = [candidate(each, out) if self.absent[each.index] is None else None for each in self.inputs]
        for each, frame in zip(self.inputs, frames, strict=True):
            if frame is None and self.absent[each.index] is None and each.config.optional:
                self.absent[each.index] = "not_joined"
        return frames

    def is_skewed(self, frames: Iterable[Frame | None]) -> bool:
        """Whether frames lie further apart than a row's may."""
        times = [frame.time for frame in frames if frame is not None and frame.time is not None]
        return 0 < self.config.max_skew_ns < max(times, default=0) - min(times, default=0)

    def is_aged(self, frames: Iterable[Frame | None], now_ns: int) -> bool:
        """Whether the oldest of these came too long ago."""
        arrivals = [frame.arrival_ns for frame in frames if frame is not None]
        return bool(arrivals) and 0 < self.config.max_age_ns < now_ns - min(arrivals)


def encoded(state: dict[str, object]) -> str:
    """Numbers only, without spaces."""
    return json.dumps(state, separators=(",", ":"))
