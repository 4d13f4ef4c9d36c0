# SPDX-License-Identifier: Apache-2.0
"""Every order in which two inputs can deliver up to two checkpoints and a few events, the time-out at every point.

Each schedule is replayed from the start on both implementations, aligned and with the switch. Checked: the cut is
consistent, every event is in exactly one of state and in-flight, order is kept, nothing is lost or doubled after a
restore (a new run goes on from every different checkpoint), and a snapshot, a completion and an abort come exactly when
they must.
"""

from __future__ import annotations

import copy
import itertools
import logging
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest
from framegate.joinbarrier.checkpoint import BarrierAligner, UnalignedCheckpointer
from framegate.joinbarrier.checkpoint.settings import Implementation

from tests.property.checkpoint_scope import (
    LATER_NS,
    TIMEOUT,
    Operator,
    Script,
    Sequencer,
    Step,
    check_cut,
    check_restored,
    expected,
    replay_aligner,
    replay_checkpointer,
    schedules,
    scripts,
)

IS_LONG: Final = os.environ.get("FRAMEGATE_TEST_LANE") == "long"
EVENTS_MAX: Final = (3, 3, 3) if IS_LONG else (3, 3, 1)
"""For 0, 1 and 2 checkpoints. `native/checkpoint/tests/every_order.rs` delivers up to 3 events in every run."""
LIMITS: Final[dict[str, Any]] = {"max_buffer_per_input": 8, "alignment_timeout_s": 1.0}
"""Small buffers: a native aligner is made for every schedule."""


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    """Hundreds of thousands of warnings say nothing."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def pairs(inputs: int, checkpoints: int, events_max: int) -> list[tuple[Script, ...]]:
    return list(itertools.product(scripts(checkpoints, events_max), repeat=inputs))


def with_a_lost_barrier(checkpoints: int, events_max: int) -> list[tuple[Script, ...]]:
    """One input misses one of its barriers, whichever."""
    whole, found = scripts(checkpoints, events_max), list[tuple[Script, ...]]()
    for lost in range(1, checkpoints + 1):
        later = {str(number): str(number + (number >= lost)) for number in range(1, checkpoints)}
        short = [tuple(later.get(symbol, symbol) for symbol in each) for each in scripts(checkpoints - 1, events_max)]
        found += [*itertools.product(whole, short), *itertools.product(short, whole)]
    return found


def check_aligned(impl: Implementation, steps: list[Step], pair: tuple[Script, ...]) -> None:
    inputs = len(pair)
    operator = replay_aligner(BarrierAligner(inputs, impl=impl, **LIMITS), steps, inputs)
    check_cut(operator, pair)
    told, wanted = Counter(operator.told), expected(steps, inputs, may_switch=False)
    # An aligner cancels in silence where nothing was held back.
    missing = {(at, kind) for at, kind, _ in wanted - told}
    assert missing <= {(at, "aborted") for at, step in enumerate(steps) if step[1].isdigit()}, (steps, missing)
    assert not told - wanted, (steps, told - wanted)


def check_switching(impl: Implementation, steps: list[Step], pair: tuple[Script, ...], restored: set[Any]) -> None:
    inputs = len(pair)
    checkpointer = UnalignedCheckpointer(inputs, impl=impl, **LIMITS)
    operator = replay_checkpointer(checkpointer, steps, inputs)
    check_cut(operator, pair)
    assert Counter(operator.told) == expected(steps, inputs, may_switch=True), steps
    make = partial(UnalignedCheckpointer, inputs, impl=impl, **LIMITS)
    check_restored(operator, pair, lambda floor: make(floor=floor), restored)


@pytest.mark.parametrize("impl", ["reference", "native"])
@pytest.mark.parametrize("checkpoints", [0, 1, 2])
@pytest.mark.timeout(3000)
def test_two_inputs_in_every_order(impl: Implementation, checkpoints: int, record_property: Any) -> None:
    events_max = EVENTS_MAX[checkpoints]
    chosen = pairs(2, checkpoints, events_max)
    if checkpoints:
        chosen += with_a_lost_barrier(checkpoints, max(1, events_max - 1))
    count = deliveries = 0
    for pair in chosen:
        restored = set[Any]()
        for steps in schedules(pair):
            check_aligned(impl, steps, pair)
            check_switching(impl, steps, pair, restored)
            count, deliveries = count + 1, deliveries + len(steps)
    record_property("schedules", count)
    print(f"{impl}, {checkpoints} checkpoints, up to {events_max} events: {count} schedules, {deliveries} deliveries")
    assert count > (10 if checkpoints == 0 else 400)


def test_the_checks_see_what_they_are_for() -> None:
    """A cut that misses an event, a snapshot too early, and a doubled event: each is found."""
    pair = (("e", "1"), ("e", "1"))
    steps = [(0, "e"), (1, "e"), (0, "1"), (1, "1")]
    operator = replay_aligner(BarrierAligner(2, impl="reference"), steps, 2)
    operator.snapshots[1][1] -= 1
    with pytest.raises(AssertionError):
        check_cut(operator, pair)
    operator = replay_aligner(BarrierAligner(2, impl="reference"), steps, 2)
    assert Counter((at - 1, kind, each) for at, kind, each in operator.told) != expected(steps, 2, may_switch=False)
    with pytest.raises(AssertionError):
        operator.process(0, _event(0))


def _event(payload: int) -> Any:
    from framegate.joinbarrier.checkpoint import Event

    return Event(payload)


# --- Three inputs: the specification as a graph of states -----------------------------------------------


class _World:
    """A checkpointer of the specification, its operator, and how far each script is."""

    def __init__(self, inputs: int) -> None:
        self.checkpointer = UnalignedCheckpointer(inputs, impl="reference", **LIMITS)
        self.operator, self.sequencer = Operator(inputs), Sequencer(inputs)
        self.at = [0] * inputs
        self.has_struck = False

    def key(self) -> tuple[Any, ...]:
        """Everything that what follows can depend on. Events of an input are numbered, so counts say which."""
        decides: Any = self.checkpointer._decides
        current, late = decides.aligner.current, decides.late
        return (
            tuple(self.at),
            self.has_struck,
            None if current is None else (current.barrier.checkpoint_id, current.delivered, current.started_ns),
            None if late is None else (late.barrier.checkpoint_id, tuple(sorted(late.owing))),
            tuple((i, len(each)) for i, each in sorted(self.checkpointer.snapshot().items())),
            decides.aligner.history.highest,
            tuple(decides.aligner.history._aborted),
            tuple(self.operator.processed),
            tuple((i, tuple(each)) for i, each in sorted(self.operator.snapshots.items())),
            tuple(sorted(self.operator.told)),
        )

    def deliver(self, input_id: int, symbol: str) -> None:
        now_ns = LATER_NS if self.has_struck or symbol == "timeout" else 0
        if symbol == "timeout":
            self.has_struck, actions = True, self.checkpointer.on_tick(now_ns)
        else:
            self.at[input_id] += 1
            actions = self.checkpointer.process(input_id, self.sequencer.message(input_id, symbol), now_ns)
        for action in actions:
            self.operator.obey(action, 0)
            if action.kind == "checkpoint_complete":
                assert action.barrier is not None
                self.operator.captured[action.barrier.checkpoint_id] = dict(self.checkpointer.snapshot())


def explore(trio: tuple[Script, ...]) -> tuple[int, int]:
    """States and edges of everything that these scripts can lead to; every state is checked."""
    start, last = _World(len(trio)), sum(symbol.isdigit() for symbol in trio[0])
    seen, pending, edges = {start.key()}, [start], 0
    while pending:
        world = pending.pop()
        check_cut(world.operator, trio)
        moves = [(i, script[world.at[i]]) for i, script in enumerate(trio) if world.at[i] < len(script)]
        if not moves:
            # Every barrier came, so nothing waits, and the last checkpoint, which none could cancel, is complete once.
            assert world.operator.processed == world.sequencer.sent
            assert not world.checkpointer.metrics()["is_aligning"]
            told = Counter((kind, number) for _, kind, number in world.operator.told)
            assert told["trigger_snapshot", last] == told["checkpoint_complete", last] == 1, world.operator.told
            assert all(told["checkpoint_complete", each] + told["aborted", each] <= 1 for each in range(1, last + 1))
        for move in [*moves, *([] if world.has_struck else [TIMEOUT])]:
            edges += 1
            after = copy.deepcopy(world)
            after.deliver(*move)
            key = after.key()
            if key not in seen:
                seen.add(key)
                pending.append(after)
    return len(seen), edges


@pytest.mark.parametrize(
    ("checkpoints", "events_max"),
    [(1, 1), pytest.param(1, 3, marks=pytest.mark.long), pytest.param(2, 2, marks=pytest.mark.long)],
)
@pytest.mark.timeout(3000)
def test_three_inputs_as_a_graph_of_states(checkpoints: int, events_max: int) -> None:
    found = Counter[str]()
    for trio in itertools.combinations_with_replacement(scripts(checkpoints, events_max), 3):
        states, edges = explore(trio)
        found.update(states=states, edges=edges, scripts=1)
    print(f"3 inputs, {checkpoints} checkpoints, up to {events_max} events: {dict(found)}")
    assert found["edges"] > found["states"] > 100


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_three_inputs_natively_in_every_order() -> None:
    count = 0
    for trio in itertools.combinations_with_replacement(scripts(1, 2), 3):
        restored = set[Any]()
        for steps in schedules(trio):
            check_switching("native", steps, trio, restored)
            count += 1
    print(f"native, 3 inputs, 1 checkpoint, up to 2 events: {count} schedules")
