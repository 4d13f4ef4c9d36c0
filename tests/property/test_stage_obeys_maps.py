# SPDX-License-Identifier: Apache-2.0
"""Maps that differ from every configuration, changed in the middle: each row is what the map of its version asks for.

The oracle knows no history: of each input it has the set of frames that came and are not decided yet, and says for any
output which frames the map in force gives it. What a stage makes, skips and waits for is compared with that. Both twins
are told the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.errors import MapRefused
from framegate.schema.merge import ClockDomain, TimestampSource
from framegate.spec.join.stage_config import Attempt, InputConfig, StageConfig
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.joins.stage_world import IMPLEMENTATIONS, make_stage

OUT = 20001
STREAMS = (1, 2, 3)
THOROUGH = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
Op = tuple[Any, ...]
Frame = tuple[int, int | None, int | None]
"""Sequence, and the times of slot header and descriptor."""
_NEVER = 10**9


# --- Scripts ---


def _sequence_rule(stream: int) -> st.SearchStrategy[Any]:
    offsets = st.builds(lambda offset: SequenceRule(stream, offset=offset), st.integers(-4, 3))
    return st.one_of(offsets, offsets, st.builds(lambda size: SequenceRule(stream, window=size), st.integers(1, 5)))


def _timestamp_rule(stream: int) -> st.SearchStrategy[Any]:
    source = st.sampled_from(TimestampSource)
    offsets = st.builds(lambda by, which: TimestampRule(stream, offset_ns=by, source=which), st.integers(-9, 5), source)
    return st.one_of(
        offsets,
        st.builds(lambda by, which: TimestampRule(stream, window_ns=by, source=which), st.integers(1, 15), source),
    )


@st.composite
def _joins(draw: st.DrawFn, policy: str) -> tuple[list[int], list[Op]]:
    """The streams of the inputs, and a script. Most maps have a rule for each input, some have fewer or others."""
    streams = draw(st.lists(st.sampled_from(STREAMS), min_size=1, max_size=3))
    rule = _timestamp_rule if policy == "timestamp" else _sequence_rule
    step = st.integers(0, 5)
    frame = st.tuples(st.just("frame"), st.sampled_from(STREAMS), st.just(1), step, step, st.sampled_from("bbbbsd"))
    every = st.tuples(st.just("round"), st.sampled_from([1, 1, 1, 1, 2]), step, step, st.sampled_from("bbbbbsd"))
    ask = st.tuples(st.just("next"), st.integers(1, 4))
    push = st.tuples(st.just("push"), st.integers(1, 9))
    often = [every, every, frame, push, ask, ask]

    def fresh() -> Op:
        inputs = draw(st.permutations(streams))[draw(st.sampled_from([0, 0, 0, 1])) :] or streams
        more = draw(st.lists(st.sampled_from(STREAMS), max_size=1)) if draw(st.integers(0, 5)) == 0 else []
        rules = [draw(rule(stream)) for stream in (*inputs, *more)]
        return "map", rules, draw(st.sampled_from([0, 0, 3, 8]))

    script: list[Op] = []
    for _ in range(draw(st.integers(1, 5))):
        script += draw(st.lists(every, max_size=2))
        script.append(fresh())
        script += draw(st.lists(st.one_of(*often), min_size=4, max_size=25))
        if draw(st.integers(0, 7)) == 0:
            script.append(("invalidate",))
    return streams, script


# --- The oracle ---


@dataclass
class Column:
    """One input, as the oracle sees it."""

    stream: int
    came: dict[int, Frame] = field(default_factory=dict)
    decided: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    """Decided too, and told when everything older is."""
    kept: int | None = None

    def available(self) -> list[Frame]:
        """Frames that may be joined, the last joined one included."""
        waiting = self.came.keys() - self.decided - self.lost
        return [frame for seq, frame in sorted(self.came.items()) if seq in waiting or seq == self.kept]


class Oracle:
    """Says what a map asks for."""

    def __init__(self, streams: list[int], applied: MergeMap) -> None:
        self.applied = applied
        taken: dict[int, int] = {}
        self.rules: list[Any] = []
        for stream in streams:
            own = [rule for rule in applied.rules if rule.stream == stream]
            place = taken.get(stream, 0)
            taken[stream] = place + 1
            self.rules.append(own[place] if place < len(own) else None)

    def bounds(self, rule: Any, out: int) -> tuple[int, int]:
        """The lowest and highest number that an output may take of an input."""
        if isinstance(rule, SequenceRule):
            return (out - rule.window + 1, out) if rule.window else (out + (rule.offset or 0),) * 2
        return (out - rule.window_ns, out) if rule.window_ns else (-_NEVER, out + (rule.offset_ns or 0))

    def number(self, rule: Any, frame: Frame) -> int | None:
        """What the rule reads of a frame."""
        if isinstance(rule, SequenceRule):
            return frame[0]
        return frame[2] if rule.source is TimestampSource.FRAME_DESCRIPTOR else frame[1]

    def pick(self, index: int, column: Column, out: int) -> int | None:
        """The frame that an output takes: the newest within the bounds."""
        rule = self.rules[index]
        low, high = self.bounds(rule, out)
        numbered = [(self.number(rule, frame), frame[0]) for frame in column.available()]
        found = [seq for number, seq in numbered if number is not None and low <= number <= high]
        if isinstance(rule, SequenceRule) and rule.window is None:
            # What one certain output takes is not taken again.
            found = [seq for seq in found if seq not in column.decided]
        return max(found, default=None)

    def row(self, columns: list[Column], out: int) -> list[int | str] | None:
        """A row, or None: an input has no frame for it."""
        cells: list[int | str] = []
        for index, column in enumerate(columns):
            seq = None if self.rules[index] is None else self.pick(index, column, out)
            if seq is None and self.rules[index] is not None:
                return None
            cells.append("not_joined" if seq is None else seq)
        return cells

    @property
    def start(self) -> int:
        """The first output that no rule forbids."""
        firsts = []
        for rule in self.applied.rules:
            if isinstance(rule, SequenceRule):
                firsts.append(rule.window - 1 if rule.window else max(0, -(rule.offset or 0)))
            else:
                firsts.append(rule.window_ns or max(0, -(rule.offset_ns or 0)))
        return max(firsts)

    def is_ready(self, frames: dict[int, list[Frame]], out: int) -> bool:
        """Whether every rule, of a column or of none, was observed as far as it asks."""
        for rule in self.applied.rules:
            known = [number for frame in frames[rule.stream] if (number := self.number(rule, frame)) is not None]
            if not known or max(known) < max(0, self.bounds(rule, out)[1] - self.applied.lateness_ns):
                return False
        return True


class Comparison:
    """A stage and the oracle, told the same."""

    def __init__(self, impl: Any, policy: str, streams: list[int]) -> None:
        inputs = tuple(InputConfig(stream=stream) for stream in streams)
        drive: Any = "counter" if policy == "sequence" else "external"
        self.is_by_time = policy == "timestamp"
        self.stage = make_stage(impl, StageConfig(policy=policy, inputs=inputs, drive=drive, history=4096))  # type: ignore[arg-type]
        self.streams = streams
        self.columns = [Column(stream) for stream in streams]
        self.frames: dict[int, list[Frame]] = {stream: [] for stream in STREAMS}
        self.oracle: Oracle | None = None
        self.version = 0
        self.pushed: list[int] = []
        self.newest_push = 0
        self.seen: list[Any] = []
        self.last_out: int | None = None

    def play(self, script: list[Op]) -> list[Any]:
        """Everything that was made and given up."""
        for kind, *words in script:
            getattr(self, f"_{kind}")(*words)
            self._take_unmatched()
        return self.seen

    def _round(self, gap: int, slot: int, descriptor: int, which: str) -> None:
        for stream in STREAMS:
            self._frame(stream, gap, slot, descriptor, which)

    def _frame(self, stream: int, gap: int, slot: int, descriptor: int, which: str) -> None:
        last = self.frames[stream][-1] if self.frames[stream] else (-1, 0, 0)
        known = [[frame[place] for frame in self.frames[stream] if frame[place] is not None] for place in (1, 2)]
        newest = [max((time for time in times if time is not None), default=0) for times in known]
        # b: both times, s: of the slot alone, d: of the descriptor alone.
        times = [newest[0] + slot if which in "bs" else None, newest[1] + descriptor if which in "bd" else None]
        frame = (last[0] + gap, times[0], times[1])
        self.frames[stream].append(frame)
        for column in self.columns:
            if column.stream == stream:
                column.came[frame[0]] = frame
        if stream in self.streams:
            assert self.stage.observe(stream, 1, frame[0], times[1], times[0], 0, 0)
            self._note_lost(frame)

    def _map(self, rules: list[Any], lateness_ns: int) -> None:
        timed = {"clock_domain": ClockDomain.MONOTONIC, "lateness_ns": lateness_ns} if self.is_by_time else {}
        fresh = MergeMap(OUT, 0, rules, **timed)  # type: ignore[arg-type]
        self.version += 1
        if set(fresh.streams) <= set(self.streams):
            assert self.stage.apply(fresh, self.version)
            self.oracle = Oracle(self.streams, fresh)
            self._note_lost(None)
            return
        with pytest.raises(MapRefused) as refused:
            self.stage.apply(fresh, self.version)
        assert refused.value.facts["reason"] == "unknown_stream"
        self.oracle = None

    def _note_lost(self, arrived: Frame | None) -> None:
        """What a map decides of frames at once: those without a time, and those that come too late, stay undecided
        under no later map."""
        if self.oracle is None:
            return
        for column, rule in zip(self.columns, self.oracle.rules, strict=True):
            column.kept = None if rule is None else column.kept
        if not self.is_by_time:
            return
        done = json.loads(self.stage.state())["time"]
        for column, rule in zip(self.columns, self.oracle.rules, strict=True):
            for seq, frame in column.came.items():
                number = None if rule is None else self.oracle.number(rule, frame)
                is_late = frame is arrived and number is not None and number < self.oracle.bounds(rule, done)[0]
                if number is None or (is_late and done >= 0):
                    column.lost.add(seq)
            if column.kept in column.lost:
                column.kept = None

    def _invalidate(self) -> None:
        self.stage.invalidate()
        self.oracle = None

    def _push(self, by: int) -> None:
        if self.is_by_time:
            self.newest_push = time = max(self.newest_push, json.loads(self.stage.state())["time"]) + by
            assert self.stage.push_time(time)
            self.pushed.append(time)

    def _next(self, count: int) -> None:
        for _ in range(count):
            self._take_unmatched()
            self._ask()

    def _ask(self) -> None:
        before = self.stage.status()["out"]
        attempt: Attempt | None = self.stage.next(0)
        if self.oracle is None:
            assert attempt is None
            return
        after = self.stage.status()["out"] if attempt is None else None
        if attempt is not None:
            after = attempt.out_seq if attempt.out_time_ns is None else attempt.out_time_ns
        for out in self._passed(before, after, is_row=attempt is not None):
            assert self.oracle.row(self.columns, out) is None or out < self.oracle.start, f"output {out} was skipped"
        if attempt is None:
            if after is not None and (not self.is_by_time or self.pushed):
                assert not self.oracle.is_ready(self.frames, after), f"output {after} is ready: {self.stage.status()}"
            self._take_unmatched()
            return
        assert after is not None
        assert self.last_out is None or (after >= self.last_out if self.is_by_time else after > self.last_out)
        self._take_unmatched()
        cells = [pick if isinstance(pick, str) else pick.seq for pick in attempt.picks]
        assert json.loads(self.stage.state())["map"] == self.version
        assert self.oracle.is_ready(self.frames, after)
        assert cells == self.oracle.row(self.columns, after), f"the row of {after}"
        self.stage.joined(0)
        self.last_out = after
        self.seen.append((after, self.version, *cells))
        for column, cell in zip(self.columns, cells, strict=True):
            if isinstance(cell, int):
                column.kept = cell
                column.decided.add(cell)

    def _passed(self, before: int | None, after: int | None, *, is_row: bool) -> Iterator[int]:
        """Outputs that the stage went past in this call."""
        if self.is_by_time:
            assert self.oracle is not None
            # What lies before the first output of a map is passed by at once.
            self.pushed = [time for time in self.pushed if time >= self.oracle.start]
            # Of an output without a row the state alone tells that it is done.
            done = json.loads(self.stage.state())["time"]
            gone = len([time for time in self.pushed if time <= done or (after is not None and time < after)])
            yield from self.pushed[:gone]
            self.pushed = self.pushed[gone:]
            if is_row:
                self.pushed = self.pushed[1:]
        elif after is not None and before is not None:
            yield from range(before, after)

    def _take_unmatched(self) -> None:
        for entry in self.stage.take_unmatched():
            self.seen.append(("unmatched", entry.input, entry.seq, entry.seq_last, str(entry.cause), entry.out_seq))
            column = self.columns[entry.input]
            gone = set(range(entry.seq, entry.seq_last + 1))
            assert not gone & column.decided, "a frame has two fates"
            column.decided |= gone


def _compare(policy: str, streams: list[int], script: list[Op]) -> list[Any]:
    made = [Comparison(impl, policy, streams).play(script) for impl in IMPLEMENTATIONS]
    assert all(each == made[0] for each in made)
    return made[0]


# --- The laws ---

_LOCKSTEP = [("round", 1, 5, 5, "b")] * 6


@pytest.mark.parametrize("policy", ["sequence", "timestamp"])
@THOROUGH
@given(data=st.data())
def test_rows_are_those_of_the_map_in_force(policy: str, data: st.DataObject) -> None:
    streams, script = data.draw(_joins(policy))
    _compare(policy, streams, script)


def test_a_changed_map_acts_from_the_next_output_on_and_one_that_reaches_back_skips_what_is_decided() -> None:
    first, second, third = (
        ("map", [SequenceRule(1, offset=0), SequenceRule(2, offset=offset)], 0) for offset in (0, 1, -2)
    )
    script: list[Op] = [*_LOCKSTEP, first, ("next", 2), second, ("next", 2), third, ("next", 9)]
    made = _compare("sequence", [1, 2], script)
    rows = [each for each in made if len(each) == 4]
    # The third map asks for the second input's frame 2 with output 4: it is joined already, and so is its frame 4.
    assert rows == [(0, 1, 0, 0), (1, 1, 1, 1), (2, 2, 2, 3), (3, 2, 3, 4)]


def test_the_script_of_the_property_makes_rows_under_several_maps() -> None:
    """Otherwise it would hold for a stage that does nothing."""
    found = Counter[str]()

    @settings(max_examples=25, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def count(data: st.DataObject) -> None:
        for policy in ("sequence", "timestamp"):
            streams, script = data.draw(_joins(policy))
            rows = Comparison("reference", policy, streams).play(script)
            versions = {each[1] for each in rows if each[0] != "unmatched"}
            found[policy] += len(rows)
            found[f"{policy}, several maps"] += len(versions) > 1

    count()
    assert min(found.values()) > 2, found
    assert found["sequence"] > 50
    assert found["timestamp"] > 50
