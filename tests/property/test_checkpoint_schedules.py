# SPDX-License-Identifier: Apache-2.0
"""Long random schedules with everything that can go wrong: both implementations answer alike, and lose nothing.

Duplicate, stale, mismatching and lost barriers, inputs that end, crash and come back, aborts and failures at any step,
limits reached, watermarks, clocks that stand still, jump and are set back.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any, Final

import pytest
from framegate.joinbarrier.checkpoint import (
    Action,
    AlignmentStateError,
    BarrierAligner,
    CheckpointBarrier,
    CheckpointBarrierInjector,
    Event,
    SignalAligner,
    UnalignedCheckpointer,
    Watermark,
)
from framegate.joinbarrier.checkpoint.signals import BarrierSignal, InstantSignal
from framegate.schema.errors import FramegateError
from hypothesis import given, settings
from hypothesis import strategies as st

IS_LONG: Final = os.environ.get("FRAMEGATE_TEST_LANE") == "long"
EXAMPLES, STEPS_MAX = (3000, 200) if IS_LONG else (150, 60)
INPUTS: Final = 3
_inputs = st.integers(0, INPUTS - 1)
_ids = st.integers(1, 6)
_times = st.sampled_from([0, 0, 0, 1, 60, 5, 200])
_perhaps_id = st.none() | _ids

_messages = st.one_of(
    st.tuples(st.just("event"), _inputs, st.integers(0, 6)),
    st.tuples(st.just("event"), _inputs, st.integers(0, 6)),
    st.tuples(st.just("watermark"), _inputs, st.integers(-3, 30)),
    st.tuples(st.just("barrier"), _inputs, _ids, st.integers(0, 3), st.booleans()),
    st.tuples(st.just("barrier"), _inputs, _ids, st.just(1), st.just(False)),
)
_happenings = st.one_of(
    st.tuples(st.just("tick")),
    st.tuples(st.just("abort"), _perhaps_id),
    st.tuples(st.just("fail"), _perhaps_id),
    st.tuples(st.just("end"), _inputs),
    st.tuples(st.just("lose"), _inputs),
    st.tuples(st.just("resume"), _inputs),
    st.tuples(st.just("complete")),
)
_schedules = st.lists(st.tuples(_messages | _messages | _messages | _happenings, _times), max_size=STEPS_MAX)
_limits = st.fixed_dictionaries(
    {
        "max_buffer_per_input": st.integers(0, 4),
        "max_buffer_memory_bytes": st.integers(0, 15),
        "alignment_timeout_s": st.sampled_from([0, 50e-9, 100e-9]),
        "floor": st.integers(0, 2),
    }
)
_options = st.fixed_dictionaries(
    {
        "enabled": st.booleans(),
        "force_unaligned": st.booleans(),
        "max_inflight_bytes": st.integers(0, 30),
        "late_barrier_timeout_s": st.sampled_from([None, 0, 60e-9]),
    }
)


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    """Hundreds of thousands of warnings say nothing."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def plain(action: Action) -> tuple[Any, ...]:
    """An action without the identity of its events."""
    released = [(i, event.payload) for i, event in action.released]
    event = None if action.event is None else action.event.payload
    return action.kind, action.input_id, event, action.watermark, action.barrier, released, action.cause, action.pending


class Delivered:
    """Numbers events, and sees that each is processed once, in the order of its input."""

    def __init__(self) -> None:
        self.sent = [0] * INPUTS
        self.processed = [0] * INPUTS

    def event(self, input_id: int, size: int) -> Event:
        self.sent[input_id] += 1
        return Event((input_id, self.sent[input_id] - 1), size)

    def take(self, input_id: int, event: Event) -> None:
        assert event.payload == (input_id, self.processed[input_id])
        self.processed[input_id] += 1

    def obey(self, action: Action) -> None:
        for input_id, event in action.released:
            self.take(input_id, event)
        if action.event is not None:
            assert action.input_id is not None
            if action.kind == "input_full":
                # Handed back: the agent gives up the checkpoint and processes it, but what waits comes before it.
                self.sent[action.input_id] -= 1
            else:
                self.take(action.input_id, action.event)


@given(_schedules, _limits)
@settings(max_examples=EXAMPLES, deadline=None)
def test_aligners_answer_alike_and_lose_nothing(
    schedule: list[tuple[tuple[Any, ...], int]], limits: dict[str, Any]
) -> None:
    aligners = [BarrierAligner(INPUTS, impl=impl, **limits) for impl in ("reference", "native")]
    delivered, now = Delivered(), 0
    for what, later in schedule:
        now = now + later if later != 5 else max(0, now - 5)
        message = _message(what, delivered)
        found = [_aligner_step(aligner, what, message, now) for aligner in aligners]
        one, other = (_plain(each) for each in found)
        assert one == other
        _obey(delivered, found[0])
        _same_state(aligners)
    rest = [aligner.abort() for aligner in aligners]
    if rest[0] is not None:
        delivered.obey(rest[0])
    assert delivered.processed == delivered.sent


def _message(what: tuple[Any, ...], delivered: Delivered) -> Any:
    match what:
        case ("event", input_id, size):
            return delivered.event(input_id, size)
        case ("watermark", _, ms):
            return Watermark(ms)
        case ("barrier", _, checkpoint_id, epoch, unaligned):
            return CheckpointBarrier(checkpoint_id, epoch, unaligned)
    return None


def _aligner_step(aligner: BarrierAligner, what: tuple[Any, ...], message: Any, now: int) -> Any:
    try:
        match what:
            case ("tick",):
                return aligner.check_timeout(now)
            case ("abort" | "fail", checkpoint_id):
                return aligner.abort(checkpoint_id)
            case ("end", input_id):
                return aligner.end_input(input_id, now)
            case ("lose", input_id):
                return aligner.lose_input(input_id)
            case ("resume", input_id):
                return aligner.resume_input(input_id)
            case ("complete",):
                return aligner.complete_alignment()
            case _:
                return aligner.process(what[1], message, now)
    except AlignmentStateError as refused:
        return refused


def _plain(found: Any) -> Any:
    if isinstance(found, Action):
        return plain(found)
    if isinstance(found, list):
        return [(i, event.payload) for i, event in found]
    return found.message if isinstance(found, FramegateError) else found


def _obey(delivered: Delivered, found: Any) -> None:
    if isinstance(found, list):
        for input_id, event in found:
            delivered.take(input_id, event)
    elif isinstance(found, Action):
        delivered.obey(found)


def _same_state(aligners: list[BarrierAligner]) -> None:
    one, other = (
        (each.metrics(), each.is_aligning, each.aligned_inputs, each.pending_inputs, each.buffered_events,
         each.buffered_bytes, each.input_watermarks(), each.operator_watermark())
        for each in aligners
    )  # fmt: skip
    assert one == other


@given(_schedules, _limits, _options)
@settings(max_examples=EXAMPLES, deadline=None)
def test_checkpointers_answer_alike_lose_nothing_and_cut_consistently(
    schedule: list[tuple[tuple[Any, ...], int]], limits: dict[str, Any], options: dict[str, Any]
) -> None:
    both = [UnalignedCheckpointer(INPUTS, impl=impl, **limits, **options) for impl in ("reference", "native")]
    delivered, cut, now = Delivered(), Cut(), 0
    for what, later in schedule:
        now = now + later if later != 5 else max(0, now - 5)
        message = _message(what, delivered)
        found = [_checkpointer_step(each, what, message, now) for each in both]
        assert [plain(each) for each in found[0]] == [plain(each) for each in found[1]]
        for action in found[0]:
            assert action.kind != "input_full"
            delivered.obey(action)
            cut.follow(action, delivered, both[0])
        if what[0] == "barrier":
            cut.barrier(what[1], message, delivered)
        if what[0] in ("end", "lose", "resume"):
            cut.came_and_went.add(what[1])
        cut.check()
        assert both[0].metrics() == both[1].metrics()
        assert _captured(both[0]) == _captured(both[1])
    for action in both[0].abort():
        delivered.obey(action)
    assert delivered.processed == delivered.sent


def _checkpointer_step(each: UnalignedCheckpointer, what: tuple[Any, ...], message: Any, now: int) -> list[Action]:
    match what:
        case ("tick",):
            return each.on_tick(now)
        case ("abort", checkpoint_id):
            return each.abort(checkpoint_id)
        case ("fail", checkpoint_id):
            return each.fail(checkpoint_id)
        case ("end", input_id):
            return each.end_input(input_id, now)
        case ("lose", input_id):
            return each.lose_input(input_id)
        case ("resume", input_id):
            each.resume_input(input_id)
        case ("complete",):
            return []
        case _:
            return each.process(what[1], message, now)
    return []


def _captured(each: UnalignedCheckpointer) -> dict[int, list[Any]]:
    found = each.snapshot()
    return {i: [m.payload if isinstance(m, Event) else m for m in messages] for i, messages in found.items()}


class Cut:
    """For each complete checkpoint: state and in-flight are what came before the barrier, for inputs that sent one."""

    def __init__(self) -> None:
        self.sent_before: dict[tuple[int, int], int] = {}
        self.states: dict[int, list[int]] = {}
        self.complete: list[tuple[int, dict[int, list[Any]]]] = []
        self.came_and_went = set[int]()
        """Inputs that ended or were lost count as having delivered, so a barrier of theirs says nothing."""

    def barrier(self, input_id: int, barrier: CheckpointBarrier, delivered: Delivered) -> None:
        """The first barrier of an input counts; a later one of the same id is a duplicate, or of a dead checkpoint."""
        self.sent_before.setdefault((barrier.checkpoint_id, input_id), delivered.sent[input_id])

    def follow(self, action: Action, delivered: Delivered, each: UnalignedCheckpointer) -> None:
        if action.kind == "trigger_snapshot" and action.barrier:
            self.states[action.barrier.checkpoint_id] = list(delivered.processed)
        if action.kind == "checkpoint_complete" and action.barrier:
            self.complete.append((action.barrier.checkpoint_id, _captured(each)))

    def check(self) -> None:
        for checkpoint_id, captured in self.complete:
            for input_id in range(INPUTS):
                before = self.sent_before.get((checkpoint_id, input_id))
                events = [m for m in captured.get(input_id, []) if not isinstance(m, Watermark)]
                if before is not None and input_id not in self.came_and_went:
                    state = self.states[checkpoint_id][input_id]
                    assert [(input_id, n) for n in range(state, before)] == events
                    assert state <= before
        self.complete.clear()


@given(
    st.none() | st.sampled_from([1e-9, 10e-9]),
    st.lists(st.tuples(st.sampled_from(["poll", "poll", "inject"]), st.integers(0, 8), st.integers(0, 4)), max_size=60),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_injectors_answer_alike_and_never_go_back(interval: float | None, calls: list[tuple[str, int, int]]) -> None:
    both = [CheckpointBarrierInjector("camera", interval, impl=impl) for impl in ("reference", "native")]
    now, last = 0, (0, 0)
    for what, number, epoch in calls:
        if what == "inject" and number:
            for each in both:
                each.handle().inject(number, epoch, unaligned=number % 2 == 1)
        else:
            now += number
            found = [each.poll(now) for each in both]
            assert found[0] == found[1]
            if found[0] is not None:
                assert found[0].checkpoint_id > last[0]
                assert found[0].epoch >= last[1]
                last = found[0].checkpoint_id, found[0].epoch
        assert both[0].metrics() == both[1].metrics()


_signals = st.builds(BarrierSignal, st.sampled_from(["SyncTest", "StreamGracefulEnd"]), st.integers(0, 2))


@given(
    st.integers(1, 4),
    st.lists(_signals | st.just(InstantSignal("SyncTest")) | st.booleans(), max_size=30),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_signal_aligners_answer_alike(expected: int, calls: list[Any]) -> None:
    both = [SignalAligner(expected, impl) for impl in ("reference", "native")]
    for call in calls:
        found = [_signal_step(each, call) for each in both]
        assert found[0] == found[1]
        assert both[0].pending == both[1].pending


def _signal_step(each: SignalAligner, call: Any) -> Any:
    try:
        return each.end_input(has_delivered=call) if isinstance(call, bool) else each.align(call)
    except FramegateError as refused:
        return str(refused)


def test_a_wrong_answer_would_be_seen() -> None:
    delivered = Delivered()
    delivered.event(0, 1)
    with pytest.raises(AssertionError):
        delivered.take(0, Event((0, 1)))
