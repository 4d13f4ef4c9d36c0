# SPDX-License-Identifier: Apache-2.0
"""Rules in the form in which they are evaluated: offsets and windows both ask an input for a least number."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from framegate.joinbarrier.barriers.readiness import Reason
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.spec.join.kind import Kind
from framegate.spec.join.seen import Cursor, Seen, place_of

Verdict = Reason | Literal["met", "stale"]
MET: Final = "met"
STALE: Final = "stale"


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """What one rule demands: output ``out`` needs ``out + shift`` of its input, but not less than 0, from output
    ``start`` on.
    """

    stream: int
    kind: Kind
    place: int
    """The timestamp field that the rule reads."""
    places: frozenset[int]
    """Every timestamp field that a rule of this input reads. If one decreases, the whole input is rejected."""
    start: int
    shift: int
    needs_processed: bool
    is_first_only: bool = False
    """Whether any frame of the input fulfils it, whatever its time."""

    def obstacle(self, seen: Seen, out: int) -> Reason | None:
        """What an output has to wait for, if anything."""
        unseen = self.unseen(seen, out)
        if unseen is not None or not self.needs_processed:
            return unseen
        known = self._known(seen.processed)
        return Reason.BEHIND if known is None or known < self._required(out) else None

    def unseen(self, seen: Seen, out: int) -> Reason | None:
        """What an output has to wait for, whatever was processed."""
        if self.kind.is_latest:
            if seen.newest is None:
                return Reason.NOT_OBSERVED
            return Reason.INVALID if seen.is_invalid else None
        if out < self.start:
            return Reason.BEFORE_START
        if seen.rejected.keys() & self.places:
            return Reason.REJECTED
        known = self._known(seen.observed)
        if known is None:
            return Reason.NOT_OBSERVED
        return Reason.BEHIND if not self.is_first_only and known < self._required(out) else None

    def verdict(self, seen: Seen, out: int, now_ns: int, stale_timeout_ns: int | None) -> Verdict:
        """What becomes of the demand: a stale input may be absent. Under the latest policy a stale input is absent
        whatever it showed, because no rule could be fulfilled by an old value.
        """
        reason, is_stale = self.obstacle(seen, out), seen.is_stale(now_ns, stale_timeout_ns)
        if reason is None:
            return STALE if self.kind.is_latest and is_stale else MET
        return STALE if is_stale and reason is not Reason.BEFORE_START else reason

    def _known(self, cursor: Cursor) -> int | None:
        return cursor.times[self.place] if self.kind is Kind.TIMESTAMP else cursor.seq

    def _required(self, out: int) -> int:
        return max(0, out + self.shift)


def demands(applied: MergeMap, kind: Kind, needs_processed: Collection[int]) -> list[Demand]:
    """Make one demand for each rule, or one for each input where parameters are ignored."""
    rules = applied.rules
    if kind.is_latest:
        rules = [next(rule for rule in rules if rule.stream == stream) for stream in applied.streams]
    return [
        Demand(
            rule.stream,
            kind,
            _place(rule),
            frozenset(_place(other) for other in rules if other.stream == rule.stream),
            start(rule),
            _offset(rule) - applied.lateness_ns,
            not kind.is_latest and rule.stream in needs_processed,
        )
        for rule in rules
    ]


def start(rule: SequenceRule | TimestampRule) -> int:
    """The first output that a rule allows."""
    if isinstance(rule, TimestampRule):
        # [t - w, t] fits from t = w on; [n - N + 1, n] from one earlier.
        return max(0, -_offset(rule)) if rule.window_ns is None else rule.window_ns
    return max(0, -_offset(rule)) if rule.window is None else rule.window - 1


def _offset(rule: SequenceRule | TimestampRule) -> int:
    return (rule.offset_ns if isinstance(rule, TimestampRule) else rule.offset) or 0


def _place(rule: SequenceRule | TimestampRule) -> int:
    return place_of(rule.source) if isinstance(rule, TimestampRule) else 0
