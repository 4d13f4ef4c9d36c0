# SPDX-License-Identifier: Apache-2.0
"""What all policies of a stage share: inputs, decisions about their frames, and the gate before an output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.barriers.readiness import Reason
from framegate.joinbarrier.journal.causes import Absence, Cause
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.spec.join.demand import MET, STALE, Demand, demands
from framegate.spec.join.history import Frame, Input, Rejection, Source
from framegate.spec.join.kind import Kind
from framegate.spec.join.seen import place_of
from framegate.spec.join.stage_config import I64_MAX, StageConfig
from framegate.spec.join.unmatched import Unmatched, UnmatchedQueue

if TYPE_CHECKING:
    from framegate.spec.join.stage_policy import Policy

_QUEUE_MIN: Final = 1024


@dataclass(slots=True)
class Counters:
    """What was counted since the start. The lists are by input, in their order."""

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
    """One-to-one choices made before it was certain that nothing later would change them."""
    unmatched: list[Counter[Cause]] = field(default_factory=list)


class StageCore:
    """The state of a stage, and the steps that are the same for every policy."""

    def __init__(self, config: StageConfig) -> None:
        self.config = config
        self.sources = {stream: Source(stream) for stream in config.streams}
        self.behind = dict[int, Source]()
        """For each stream, the epoch behind its fence, if it has one."""
        self.inputs = [
            Input(index, each, self.sources[each.stream], config.history) for index, each in enumerate(config.inputs)
        ]
        self.queue = UnmatchedQueue(max(_QUEUE_MIN, 2 * sum(each.capacity for each in self.inputs)))
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
        """The kind of readiness. None for a union, which waits for no map and no other input."""
        self.demands = list[Demand]()
        """The rules of the applied map."""
        self.has_map = self.kind is None
        self.is_map_fresh = False
        """Whether a map was applied since the previous call of ``next``."""
        self.start = 0
        """The first output that every rule allows."""
        self.asked_ns: int | None = None
        """When the current output began to wait."""
        self.is_counted = False
        self.absent: list[Absence | None] = [None] * count
        self.order = 0

    lateness_ns: int
    stale_timeout_ns: int | None

    def on(self, stream: int) -> list[Input]:
        """The inputs of a stream."""
        return [each for each in self.inputs if each.config.stream == stream]

    @property
    def required(self) -> list[Input]:
        """The inputs that outputs wait for."""
        return [each for each in self.inputs if not each.config.optional and self.takes_part(each)]

    @property
    def bound(self) -> list[Input]:
        """The inputs that outputs use."""
        return [each for each in self.inputs if self.takes_part(each)]

    def takes_part(self, each: Input) -> bool:
        """Whether outputs use an input: the valid map has a rule for it, or there is no valid map yet."""
        return self.kind is None or not self.has_map or each.demand is not None

    @property
    def has_all_ended(self) -> bool:
        """Whether no more frames come. An optional stream that never came is not waited for."""
        return all(
            source.is_ended or not (source.is_observed or any(each in self.required for each in self.on(source.stream)))
            for source in self.sources.values()
        )

    @property
    def is_all_observed(self) -> bool:
        """Whether every required input showed a frame in its present epoch."""
        return all(each.source.is_observed for each in self.required)

    # --- Decisions ---

    def note(self, each: Input, epoch: int, frame: Frame, cause: Cause) -> None:
        """Record a frame as not joined."""
        out_seq = None
        if self.config.policy == "sequence" and each.demand is not None and each.window is None:
            own = frame.seq - each.shift
            out_seq = own if 0 <= own <= I64_MAX else None
        entry = Unmatched(each.index, cause, epoch, frame.seq, frame.seq_last, frame.time, out_seq)
        self.counters.unmatched[each.index][cause] += entry.frames
        if not self.queue.push(entry):
            self.counters.unmatched_dropped += entry.frames

    def drop(self, each: Input, cause: Cause) -> None:
        """Decide an input's oldest frame: it is not joined."""
        frame = each.pending.pop(0)
        each.decided = frame.seq_last
        self.note(each, each.source.epoch or 0, frame, frame.lost or cause)

    def settle(self, each: Input) -> None:
        """Decide lost frames that have nothing older before them."""
        while each.pending and each.pending[0].lost is not None:
            self.drop(each, Cause.NO_MATCH)

    def drop_all(self, each: Input, cause: Cause) -> None:
        """Decide all waiting frames of an input."""
        while each.pending:
            self.drop(each, cause)

    def drop_older(self, each: Input, seq: int) -> None:
        """Drop all frames older than this, because a newer one is preferred."""
        while each.pending and each.pending[0].seq < seq:
            self.drop(each, Cause.SUPERSEDED)

    def add(self, each: Input, frame: Frame, source: Source) -> None:
        """Add a frame. A full history, which has no fence, loses new frames as one range at its end."""
        if len(each.pending) + len(each.behind) >= each.capacity:
            frame.lost = frame.lost or Cause.NO_ROOM
            newest = each.pending[-1]
            if newest.lost is frame.lost and newest.seq_last + 1 == frame.seq:
                newest.seq_last = frame.seq_last
                return
            if len(each.pending) > each.capacity:
                # A second range does not continue the first, so the oldest frame is dropped to make space for it.
                self.drop(each, Cause.NO_ROOM)
                self.settle(each)
        each.push(frame, source)
        self.settle(each)

    def take(self, each: Input, frame: Frame) -> None:
        """Take a joined frame; every older one is decided."""
        self.drop_older(each, frame.seq)
        if each.pending and each.pending[0] is frame:
            each.pending.pop(0)
            each.decided = each.joined = frame.seq
            each.kept = frame
        self.settle(each)

    # --- Epochs ---

    def close_if_due(self) -> bool:
        """Close the output's epoch if nothing more can be made of it, or if the next one is nearer. True if it was
        closed.
        """
        raise NotImplementedError

    def close_epoch(self) -> None:
        """Move all streams that have a fence to their next epoch. What is left of the old ones is dropped."""
        raise NotImplementedError

    def pass_in_order(self) -> None:
        """Keep a union's frames in the order in which they came: a fence is removed once everything that waits came
        after it.
        """
        raise NotImplementedError

    def advance_watermark(self) -> None:
        """Make an output of the lowest watermark, if it has advanced."""
        raise NotImplementedError

    # --- The gate ---

    def bind(self, kind: Kind, applied: MergeMap) -> None:
        """Apply the demands of a map to each input."""
        self.demands = demands(applied, kind, {each.stream for each in self.config.inputs if each.processed})
        for each in self.inputs:
            place = self.rule_of(applied, each)
            rule = None if place is None else applied.rules[place]
            if kind.is_latest:
                each.demand = next((demand for demand in self.demands if demand.stream == each.config.stream), None)
                each.shift, each.window = 0, None
            else:
                if place is not None and each.config.pick in ("latest", "sequence"):
                    self.demands[place] = replace(self.demands[place], is_first_only=True)
                each.demand = None if place is None else self.demands[place]
                each.shift, each.window = (0, None) if rule is None else _parameters(rule)
            source = rule.source if isinstance(rule, TimestampRule) and kind.reads_times else each.config.source
            if place_of(source) != each.place:
                each.read_times_at(place_of(source))
                if kind is Kind.LATEST_BY_TIME:
                    self._select_anew(each)

    def rule_of(self, applied: MergeMap, each: Input) -> int | None:
        """The index of the rule that binds an input: the k-th rule of a stream binds its k-th input. Where parameters
        are ignored, one rule binds all inputs of its stream.
        """
        rules = [index for index, rule in enumerate(applied.rules) if rule.stream == each.config.stream]
        place = 0 if self.config.policy == "latest" else self.on(each.config.stream).index(each)
        return rules[place] if place < len(rules) else None

    def _select_anew(self, each: Input) -> None:
        """Search the newest frame anew among the waiting ones, because times of two sources cannot be compared."""
        seen = each.source.seen
        seen.newest, seen.is_invalid = None, False
        if each.kept is not None and each.kept.time is None:
            each.kept = None
        known = [frame for frame in (each.kept, *each.readable) if frame is not None and frame.time is not None]
        for frame in known:
            seen.select(frame.time or 0, frame.seq)
        for frame in known:
            if frame is not each.kept and (frame.time, frame.seq) != seen.newest:
                frame.lost = Cause.SUPERSEDED

    def reconsider(self, policy: Policy) -> None:
        """Judge the waiting frames by the new map: those that no output can take are lost."""
        for each in self.inputs:
            newest, goes_back = -1, False
            for frame in each.pending:
                is_less = frame.time is not None and frame.time < newest
                goes_back = is_less or (goes_back and not self.drops_regressed(each.source))
                newest = max(newest, -1 if frame.time is None else frame.time)
                if frame.lost is None:
                    frame.lost = self._never_cause(each, frame, policy, goes_back=goes_back)
            is_untimed = self.config.reads_times and each.kept is not None and each.kept.time is None
            if is_untimed or not self.takes_part(each):
                each.kept = None
            self.settle(each)

    def _never_cause(self, each: Input, frame: Frame, policy: Policy, *, goes_back: bool) -> Cause | None:
        """Why a waiting frame can never be joined under the applied map. ``goes_back``: times decreased up to it."""
        if not self.takes_part(each):
            return Cause.NO_MATCH
        if self.config.policy == "sequence":
            return policy.arrival_cause(each, frame)
        if goes_back and (self.drops_regressed(each.source) or self.is_rejected(each.source)):
            return Cause.REGRESSED
        return Cause.NULL_TIMESTAMP if self.config.reads_times and frame.time is None else None

    def opens(self, out: int, now_ns: int, policy: Policy) -> bool:
        """Whether an output may be tried. Sets ``absent`` to the inputs that it goes without."""
        self.absent = ["not_joined" if each.demand is None else None for each in self.inputs]
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
        """Whether a stream was rejected because its times decreased, so that nothing of it is joined by them."""
        return bool(self._rejected_places(source))

    def drops_regressed(self, source: Source) -> bool:
        """Whether the inputs of a stream drop frames whose times go back. All inputs of a stream agree on that."""
        return self.config.policy == "timestamp" and self.on(source.stream)[0].config.drops_regressed

    def _rejected_places(self, source: Source) -> set[int]:
        if self.config.policy != "timestamp":
            return set()
        return source.seen.rejected.keys() & {each.place for each in self.on(source.stream) if self.takes_part(each)}

    def take_rejections(self) -> list[Rejection]:
        """Take the rejections of this output epoch that were not taken yet."""
        found = []
        for source in self.sources.values():
            places = self._rejected_places(source)
            if places and not source.is_rejection_taken:
                source.is_rejection_taken = True
                place = min(places)
                found.append(
                    Rejection(source.stream, source.epoch or 0, place=place, **source.seen.rejected[place]._asdict())
                )
        return found

    def _goes_stale(self, each: Input, out: int, policy: Policy) -> bool:
        """Whether an output goes on although this input is stale. Without its anchor's frame there is no output, and
        the newest frame of an input that has ended may be joined again.
        """
        if each is policy.anchor:
            return self.lacks(each, out) is None
        if not self._outlives_end(each):
            self.absent[each.index] = "stale"
        return True

    def _outlives_end(self, each: Input) -> bool:
        """Whether an input has ended and its newest frame may be joined again for ever."""
        is_timed = self.config.policy == "timestamp"
        return is_timed and each.source.is_ended and not self.is_rejected(each.source)

    def _excused(self, each: Input, now_ns: int, policy: Policy) -> bool:
        """Whether an output goes on although this input lacks a frame for it. Without its anchor's frame there is no
        output.
        """
        if each is policy.anchor:
            return self.config.policy == "timestamp" and each.source.is_ended
        if self._outlives_end(each):
            return True
        if each.config.optional:
            self.absent[each.index] = "not_joined"
        elif self.is_overdue(each, now_ns):
            self.absent[each.index] = "late"
        return self.absent[each.index] is not None

    def is_overdue(self, each: Input, now_ns: int) -> bool:
        """Whether the current output has waited longer than this input's deadline."""
        deadline_ns = each.config.deadline_ns
        return deadline_ns > 0 and self.asked_ns is not None and now_ns - self.asked_ns > deadline_ns

    def is_stale(self, source: Source, now_ns: int) -> bool:
        """Whether a stream was silent for longer than the map's timeout."""
        return source.seen.is_stale(now_ns, self.stale_timeout_ns)

    def not_ready(self) -> None:
        """Count once that the current output was asked for before it was possible."""
        self.counters.ticks_not_ready += not self.is_counted
        self.is_counted = True

    def next_output(self) -> None:
        """Go on to the next output."""
        self.asked_ns, self.is_counted = None, False

    def choose(self, out: int, candidate: Callable[[Input, int], Frame | None]) -> list[Frame | None]:
        """Choose the frames of an output, for the inputs that it does not go without; an optional one may have none."""
        frames = [candidate(each, out) if self.absent[each.index] is None else None for each in self.inputs]
        for each, frame in zip(self.inputs, frames, strict=True):
            if frame is None and self.absent[each.index] is None and each.config.optional:
                self.absent[each.index] = "not_joined"
        return frames

    def is_skewed(self, frames: Iterable[Frame | None]) -> bool:
        """Whether frames lie further apart than a row may have them."""
        times = [frame.time for frame in frames if frame is not None and frame.time is not None]
        return 0 < self.config.max_skew_ns < max(times, default=0) - min(times, default=0)

    def is_aged(self, frames: Iterable[Frame | None], now_ns: int) -> bool:
        """Whether the oldest of these frames came too long ago."""
        arrivals = [frame.arrival_ns for frame in frames if frame is not None]
        return bool(arrivals) and 0 < self.config.max_age_ns < now_ns - min(arrivals)


def _parameters(rule: SequenceRule | TimestampRule) -> tuple[int, int | None]:
    """The shift from an output to what a rule asks of its input, and the rule's window."""
    if isinstance(rule, TimestampRule):
        return rule.offset_ns or 0, rule.window_ns
    return rule.offset or 0, rule.window


def encoded(state: dict[str, object]) -> str:
    """A state as JSON without spaces."""
    return json.dumps(state, separators=(",", ":"))
