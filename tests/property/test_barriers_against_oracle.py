# SPDX-License-Identifier: Apache-2.0
"""Both implementations of the barriers against an oracle that keeps the whole history and searches it each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from framegate.joinbarrier import (
    LatestValueJoinBarrier,
    MergeMap,
    Reason,
    SequenceJoinBarrier,
    SequenceRule,
    TimestampJoinBarrier,
    TimestampRule,
)
from framegate.joinbarrier.barriers.barriers import Implementation, JoinBarrier
from framegate.joinbarrier.barriers.native import NativeBarrier
from framegate.schema.merge import ClockDomain, TimestampSource
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

U64: Final = 2**64 - 1
STREAMS: Final = (1, 2, 3)
NEEDED: Final = frozenset({2})
THOROUGH: Final = settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])

near = st.integers(0, 12)
numbers = st.one_of(near, near, near, st.sampled_from([2**31, 2**32 - 4, 2**63 - 1, 2**63, U64 - 2, U64 - 1, U64]))
epochs = st.one_of(st.none(), st.integers(0, 2))
streams = st.sampled_from(STREAMS)


# --- What happens ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Applied:
    map: MergeMap


@dataclass(frozen=True)
class Invalidated:
    pass


@dataclass(frozen=True)
class Observed:
    stream: int
    seq: int
    times: dict[TimestampSource, int | None]
    now_ns: int
    epoch: int | None


@dataclass(frozen=True)
class Entered:
    stream: int
    epoch: int


@dataclass(frozen=True)
class Processed:
    stream: int
    seq: int | None
    times: dict[TimestampSource, int | None]
    epoch: int | None


@dataclass(frozen=True)
class Failed:
    stream: int
    seq: int


@dataclass(frozen=True)
class Emitted:
    out: int


def maps(is_by_time: bool) -> st.SearchStrategy[MergeMap]:
    stale = st.one_of(st.none(), st.integers(0, 5))
    if not is_by_time:
        offsets = st.one_of(st.integers(-5, 5), st.sampled_from([-(2**31) + 1, 2**31 - 1]))
        windows = st.one_of(st.integers(1, 6), st.just(2**32 - 2))
        rule = st.one_of(
            st.builds(lambda stream, offset: SequenceRule(stream, offset=offset), streams, offsets),
            st.builds(lambda stream, window: SequenceRule(stream, window=window), streams, windows),
        )
        return st.builds(
            lambda rules, stale_ns: MergeMap(9, 0, rules, stale_timeout_ns=stale_ns),
            st.lists(rule, min_size=1, max_size=5),
            stale,
        )
    offsets = st.one_of(st.integers(-5, 5), st.sampled_from([-(2**63) + 1, 2**63 - 1]))
    windows = st.one_of(st.integers(1, 6), st.sampled_from([2**63, U64 - 1]))
    sources = st.sampled_from(TimestampSource)
    time_rule = st.one_of(
        st.builds(lambda s, o, source: TimestampRule(s, offset_ns=o, source=source), streams, offsets, sources),
        st.builds(lambda s, w, source: TimestampRule(s, window_ns=w, source=source), streams, windows, sources),
    )
    lateness = st.one_of(st.integers(0, 5), st.sampled_from([2**63, U64 - 1]))
    return st.builds(
        lambda rules, stale_ns, late_ns: MergeMap(
            9, 0, rules, stale_timeout_ns=stale_ns, clock_domain=ClockDomain.MONOTONIC, lateness_ns=late_ns
        ),
        st.lists(time_rule, min_size=1, max_size=5),
        stale,
        lateness,
    )


def one_source(made: MergeMap) -> MergeMap:
    """The same with one source an input, as the latest-value barrier wants it."""
    first = {rule.stream: rule.source for rule in reversed(made.timestamp_rules)}
    rules = [
        TimestampRule(rule.stream, offset_ns=rule.offset_ns, window_ns=rule.window_ns, source=first[rule.stream])
        for rule in made.timestamp_rules
    ]
    return MergeMap(9, 0, rules, stale_timeout_ns=made.stale_timeout_ns, clock_domain=made.clock_domain)


def histories(applied: st.SearchStrategy[MergeMap]) -> st.SearchStrategy[list[Any]]:
    stamp = st.one_of(st.none(), numbers)
    times = st.fixed_dictionaries(dict.fromkeys(TimestampSource, stamp))
    observed = st.builds(Observed, streams, numbers, times, near, epochs)
    event = st.one_of(
        observed,
        observed,
        observed,
        st.builds(Processed, streams, st.one_of(st.none(), numbers), times, epochs),
        st.builds(Applied, applied),
        st.builds(Entered, streams, st.integers(0, 2)),
        st.builds(Failed, streams, near),
        st.builds(Emitted, near),
        st.just(Invalidated()),
    )
    return st.builds(lambda first, rest: [Applied(first), *rest], applied, st.lists(event, max_size=14))


# --- The oracle -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Life:
    """What counts of one input: its events since it joined the map, in its current epoch."""

    observed: list[tuple[int, Observed]]
    processed: list[Processed]


class Oracle:
    """Asks the history. ``source_matters``: an input whose source changed starts anew."""

    def __init__(self, history: list[Any], source_matters: bool) -> None:
        self.history = history
        self.applied = [(at, event.map) for at, event in enumerate(history) if isinstance(event, Applied)]
        self.source_matters = source_matters

    @property
    def map(self) -> MergeMap | None:
        settled = [event for event in self.history if isinstance(event, (Applied, Invalidated))]
        return settled[-1].map if isinstance(settled[-1], Applied) else None

    def life(self, stream: int) -> Life:
        def same(made: MergeMap) -> bool:
            if stream not in made.streams:
                return False
            return not self.source_matters or source_of(made, stream) == source_of(self.applied[-1][1], stream)

        others = [at for at, made in self.applied if not same(made)]
        since = next(at for at, _ in self.applied if not others or at > others[-1])
        own = [(at, event) for at, event in enumerate(self.history) if at > since and event_of(event, stream)]
        # The epoch is the highest that was named so far.
        current: int | None = None
        counted: list[tuple[int | None, int, Any]] = []
        for at, event in own:
            named = event.epoch
            if isinstance(event, Processed):
                if named in (None, current):
                    counted.append((current, at, event))
                continue
            if named is not None and (current is None or named > current):
                current = named
            if named in (None, current):
                counted.append((current, at, event))
        kept = [(at, event) for epoch, at, event in counted if epoch == current]
        return Life(
            [(at, event) for at, event in kept if isinstance(event, Observed)],
            [event for _, event in kept if isinstance(event, Processed)],
        )

    def answer(
        self, out: int, now_ns: int, obstacles: Callable[[Oracle, MergeMap, int], Iterator[tuple[int, Reason | None]]]
    ) -> tuple[Reason | None, set[int], set[int]]:
        made = self.map
        if made is None:
            return Reason.NO_MAP, set(), set()
        if obstacles is timestamp_obstacles and out < self.last_emitted():
            return Reason.OUT_OF_ORDER, set(), set()
        waiting: dict[int, list[Reason]] = {}
        absent: set[int] = set()
        for stream, reason in obstacles(self, made, out):
            seen = [event.now_ns for _, event in self.life(stream).observed]
            is_stale = made.stale_timeout_ns is not None and bool(seen) and now_ns - max(seen) > made.stale_timeout_ns
            if reason is Reason.BEFORE_START or (reason is not None and not is_stale):
                waiting.setdefault(stream, []).append(reason)
            elif is_stale and (reason is not None or obstacles is latest_obstacles):
                absent.add(stream)
        order = list(Reason)
        found = sorted((reason for reasons in waiting.values() for reason in reasons), key=order.index)
        return (found[0] if found else None), set(waiting), absent - set(waiting)

    def last_emitted(self) -> int:
        return max((event.out for event in self.history if isinstance(event, Emitted)), default=0)


def event_of(event: Any, stream: int) -> bool:
    return isinstance(event, (Observed, Processed, Entered)) and event.stream == stream


def source_of(made: MergeMap, stream: int) -> TimestampSource | None:
    return next((rule.source for rule in made.timestamp_rules if rule.stream == stream), None)


def sequence_obstacles(oracle: Oracle, made: MergeMap, out: int) -> Iterator[tuple[int, Reason | None]]:
    for rule in made.sequence_rules:
        first = out - rule.window + 1 if rule.window else out + (rule.offset or 0)
        last = out if rule.window else first
        life = oracle.life(rule.stream)
        observed = [event.seq for _, event in life.observed]
        processed = [event.seq for event in life.processed if event.seq is not None]
        if first < 0:
            yield rule.stream, Reason.BEFORE_START
        elif not observed:
            yield rule.stream, Reason.NOT_OBSERVED
        elif all(seq < last for seq in observed) or (rule.stream in NEEDED and all(seq < last for seq in processed)):
            yield rule.stream, Reason.BEHIND
        else:
            yield rule.stream, None


def known(events: list[Any], source: TimestampSource) -> list[int]:
    return [time for event in events if (time := event.times[source]) not in (None, U64)]


def timestamp_obstacles(oracle: Oracle, made: MergeMap, out: int) -> Iterator[tuple[int, Reason | None]]:
    for rule in made.timestamp_rules:
        life = oracle.life(rule.stream)
        events = [event for _, event in life.observed]
        read = {other.source for other in made.timestamp_rules if other.stream == rule.stream}
        goes_back = any(sorted(known(events, source)) != known(events, source) for source in read)
        first = out - rule.window_ns if rule.window_ns else out + (rule.offset_ns or 0)
        last = out if rule.window_ns else first
        least = max(0, last - made.lateness_ns)
        if first < 0:
            yield rule.stream, Reason.BEFORE_START
        elif goes_back:
            yield rule.stream, Reason.REJECTED
        elif not known(events, rule.source):
            yield rule.stream, Reason.NOT_OBSERVED
        elif max(known(events, rule.source)) < least or (
            rule.stream in NEEDED and all(time < least for time in known(life.processed, rule.source))
        ):
            yield rule.stream, Reason.BEHIND
        else:
            yield rule.stream, None


def newest(oracle: Oracle, made: MergeMap, stream: int) -> tuple[int, int, int] | None:
    """Order, sequence, and when it first came."""
    source = source_of(made, stream) if oracle.source_matters else None
    candidates = list[tuple[int, int, int]]()
    for at, event in oracle.life(stream).observed:
        order = event.seq if source is None else event.times[source]
        if source is None or order not in (None, U64):
            candidates.append((order or 0, event.seq, -at))
    if not candidates:
        return None
    order, seq, at = max(candidates)
    return order, seq, -at


def latest_obstacles(oracle: Oracle, made: MergeMap, out: int) -> Iterator[tuple[int, Reason | None]]:
    for stream in made.streams:
        found = newest(oracle, made, stream)
        if found is None:
            yield stream, Reason.NOT_OBSERVED
            continue
        failed = Failed(stream, found[1]) in oracle.history[found[2] :]
        yield stream, Reason.INVALID if failed else None


# --- The barriers ---------------------------------------------------------------------------------------


def tell(barrier: JoinBarrier, event: Any) -> None:
    slot, descriptor = TimestampSource.SLOT_HEADER, TimestampSource.FRAME_DESCRIPTOR
    match event:
        case Applied(made):
            assert barrier.apply(made)
        case Invalidated():
            barrier.invalidate()
        case Observed(stream, seq, times, now_ns, epoch):
            barrier.observe(stream, seq, times[slot], now_ns, epoch, descriptor_timestamp_ns=times[descriptor])
        case Processed(stream, seq, times, epoch):
            barrier.processed(stream, seq, times[slot], epoch, descriptor_timestamp_ns=times[descriptor])
        case Entered(stream, epoch):
            barrier.input_epoch(stream, epoch)
        case Failed(stream, seq) if isinstance(barrier, LatestValueJoinBarrier):
            barrier.invalid(stream, seq)
        case Emitted(out) if type(barrier) is TimestampJoinBarrier:
            barrier.emitted(out)


def check(
    barrier: JoinBarrier, history: list[Any], asked: list[tuple[int, int]], obstacles: Any, *, source_matters: bool
) -> None:
    """After every event, every question has the oracle's answer."""
    told: list[Any] = []
    for event in history:
        if isinstance(event, Emitted) and event.out < Oracle(told, source_matters).last_emitted():
            continue
        tell(barrier, event)
        told.append(event)
        oracle = Oracle(told, source_matters)
        for out, now_ns in asked:
            found = barrier.ready(out, now_ns)
            wanted = oracle.answer(out, now_ns, obstacles)
            assert (found.reason, set(found.waiting), set(found.absent)) == wanted, (out, now_ns)
            decides = barrier._decides
            if isinstance(decides, NativeBarrier):
                # What the join stage asks looks at the last blocker first, and must come to the same.
                absent = decides.attempt(out, now_ns)
                assert (None if absent is None else set(absent)) == (wanted[2] if found.ok else None)
        made = oracle.map
        if isinstance(barrier, LatestValueJoinBarrier) and made is not None:
            for stream, reason in latest_obstacles(oracle, made, 0):
                best = newest(oracle, made, stream)
                assert barrier.selected(stream) == (None if reason or best is None else best[1])


questions = st.lists(st.tuples(numbers, st.integers(0, 20)), min_size=1, max_size=4)
both = pytest.mark.parametrize("impl", ["reference", "native"])


@both
@THOROUGH
@given(history=histories(maps(is_by_time=False)), asked=questions)
def test_sequence_barrier_answers_as_its_history(
    impl: Implementation, history: list[Any], asked: list[tuple[int, int]]
) -> None:
    barrier = SequenceJoinBarrier(9, needs_processed=NEEDED, impl=impl)
    check(barrier, history, asked, sequence_obstacles, source_matters=False)


@both
@THOROUGH
@given(history=histories(maps(is_by_time=True)), asked=questions)
def test_timestamp_barrier_answers_as_its_history(
    impl: Implementation, history: list[Any], asked: list[tuple[int, int]]
) -> None:
    barrier = TimestampJoinBarrier(9, needs_processed=NEEDED, impl=impl)
    check(barrier, history, asked, timestamp_obstacles, source_matters=False)


@both
@THOROUGH
@given(history=histories(maps(is_by_time=False)), asked=questions)
def test_latest_barrier_by_sequence_answers_as_its_history(
    impl: Implementation, history: list[Any], asked: list[tuple[int, int]]
) -> None:
    check(LatestValueJoinBarrier(9, impl=impl), history, asked, latest_obstacles, source_matters=False)


@both
@THOROUGH
@given(history=histories(maps(is_by_time=True).map(one_source)), asked=questions)
def test_latest_barrier_by_timestamp_answers_as_its_history(
    impl: Implementation, history: list[Any], asked: list[tuple[int, int]]
) -> None:
    barrier = LatestValueJoinBarrier(9, order_by="timestamp", impl=impl)
    check(barrier, history, asked, latest_obstacles, source_matters=True)
