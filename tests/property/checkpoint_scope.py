# SPDX-License-Identifier: Apache-2.0
"""Everything that a few inputs can deliver in every order, an operator that obeys the actions, and what must come out.

An input's script is its events, numbered from 0, with the barriers of checkpoints 1, 2, ... somewhere between them. A
schedule is an order in which the scripts are delivered, with one moment at which the time-out strikes, or none.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from framegate.joinbarrier.checkpoint import Action, BarrierAligner, CheckpointBarrier, Event, UnalignedCheckpointer

Script: TypeAlias = tuple[str, ...]
Step: TypeAlias = tuple[int, str]
TIMEOUT: Final = (-1, "timeout")
LATER_NS: Final = 10**12


def scripts(checkpoints: int, events_max: int) -> list[Script]:
    """Every script: ``e`` is an event, a digit a barrier."""
    found = []
    for events in range(events_max + 1):
        for gaps in itertools.combinations_with_replacement(range(events + 1), checkpoints):
            script: list[str] = []
            for gap in range(events + 1):
                script += [str(number + 1) for number, place in enumerate(gaps) if place == gap]
                script += ["e"] * (gap < events)
            found.append(tuple(script))
    return found


def interleavings(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every order in which so many messages of each input can be delivered, as inputs."""
    if not any(lengths):
        yield ()
    for input_id, left in enumerate(lengths):
        if left:
            for rest in interleavings([n - (i == input_id) for i, n in enumerate(lengths)]):
                yield (input_id, *rest)


def schedules(pair: Sequence[Script]) -> Iterator[list[Step]]:
    """Every delivery of these scripts, without and with the time-out at every point."""
    for order in interleavings([len(script) for script in pair]):
        at, steps = [0] * len(pair), list[Step]()
        for input_id in order:
            steps.append((input_id, pair[input_id][at[input_id]]))
            at[input_id] += 1
        yield steps
        for point in range(len(steps) + 1):
            yield [*steps[:point], TIMEOUT, *steps[point:]]


@dataclass
class Operator:
    """Processes what it is told to, in that order, and remembers what its snapshots held: counts for each input."""

    inputs: int
    processed: list[int] = field(default_factory=list)
    snapshots: dict[int, list[int]] = field(default_factory=dict)
    captured: dict[int, dict[int, list[Any]]] = field(default_factory=dict)
    told: list[tuple[int, str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.processed = [0] * self.inputs

    def process(self, input_id: int, event: Event) -> None:
        """Events of an input are numbered: one out of order, lost or doubled is seen at once."""
        assert event.payload == self.processed[input_id], (input_id, event.payload, self.processed)
        self.processed[input_id] += 1

    def obey(self, action: Action, step: int) -> None:
        """Carry out one action."""
        for input_id, event in action.released:
            self.process(input_id, event)
        if action.kind in ("pass_through", "drain_buffered", "input_full"):
            assert action.event is not None
            assert action.input_id is not None
            self.process(action.input_id, action.event)
        if action.kind in ("trigger_snapshot", "aborted", "checkpoint_complete"):
            assert action.barrier is not None
            self.told.append((step, action.kind, action.barrier.checkpoint_id))
        if action.kind == "trigger_snapshot":
            assert action.barrier is not None
            self.snapshots[action.barrier.checkpoint_id] = list(self.processed)


class Sequencer:
    """Numbers the events of each input as they are delivered."""

    def __init__(self, inputs: int) -> None:
        self.sent = [0] * inputs

    def message(self, input_id: int, symbol: str) -> Event | CheckpointBarrier:
        if symbol != "e":
            return CheckpointBarrier(int(symbol), 1)
        self.sent[input_id] += 1
        return Event(self.sent[input_id] - 1)


def replay_aligner(aligner: BarrierAligner, steps: Sequence[Step], inputs: int) -> Operator:
    """Deliver a schedule to an aligner; completes a snapshot at once."""
    operator, sequencer, now_ns = Operator(inputs), Sequencer(inputs), 0
    for number, (input_id, symbol) in enumerate(steps):
        if symbol == "timeout":
            now_ns = LATER_NS
            action = aligner.check_timeout(now_ns)
        else:
            action = aligner.process(input_id, sequencer.message(input_id, symbol), now_ns)
        if action is not None:
            _obey_aligner(operator, aligner, action, number)
    last = aligner.abort()
    if last is not None:
        operator.obey(last, len(steps))
    assert operator.processed == sequencer.sent
    return operator


def _obey_aligner(operator: Operator, aligner: BarrierAligner, action: Action, number: int) -> None:
    if action.kind == "buffered" and action.barrier is not None and action.released:
        # A higher barrier took the place of the one before, which says nothing of its own.
        operator.told.append((number, "aborted", action.barrier.checkpoint_id - 1))
    operator.obey(action, number)
    if action.kind == "trigger_snapshot":
        assert action.barrier is not None
        for input_id, event in aligner.complete_alignment():
            operator.process(input_id, event)
        operator.captured[action.barrier.checkpoint_id] = {}
        operator.told.append((number, "checkpoint_complete", action.barrier.checkpoint_id))


def replay_checkpointer(checkpointer: UnalignedCheckpointer, steps: Sequence[Step], inputs: int) -> Operator:
    """Deliver a schedule to a checkpointer."""
    operator, sequencer, now_ns = Operator(inputs), Sequencer(inputs), 0
    for number, (input_id, symbol) in enumerate(steps):
        if symbol == "timeout":
            now_ns = LATER_NS
            actions = checkpointer.on_tick(now_ns)
        else:
            actions = checkpointer.process(input_id, sequencer.message(input_id, symbol), now_ns)
        for action in actions:
            operator.obey(action, number)
            if action.kind == "checkpoint_complete":
                assert action.barrier is not None
                operator.captured[action.barrier.checkpoint_id] = dict(checkpointer.snapshot())
    for action in checkpointer.abort():
        operator.obey(action, len(steps))
    assert operator.processed == sequencer.sent
    return operator


def check_cut(operator: Operator, pair: Sequence[Script]) -> None:
    """In every complete checkpoint, what came before each barrier is in the state or in flight, once; nothing else."""
    complete = [checkpoint_id for _, kind, checkpoint_id in operator.told if kind == "checkpoint_complete"]
    assert len(complete) == len(set(complete))
    for checkpoint_id in complete:
        state, captured = operator.snapshots[checkpoint_id], operator.captured[checkpoint_id]
        for input_id, script in enumerate(pair):
            symbol = str(checkpoint_id)
            before = script[: script.index(symbol)].count("e") if symbol in script else script.count("e")
            in_flight = [event.payload for event in captured.get(input_id, [])]
            assert [*range(state[input_id]), *in_flight] == list(range(before)), (checkpoint_id, input_id)


def check_restored(
    operator: Operator, pair: Sequence[Script], make: Callable[[int], UnalignedCheckpointer], seen: set[Any]
) -> None:
    """From every complete checkpoint a new run processes what is left, once, and its next checkpoint is whole.

    What is in flight follows from the state, for the cut is consistent: those that were ``seen`` are not run again.
    """
    for _, kind, checkpoint_id in operator.told:
        state = operator.snapshots.get(checkpoint_id, [])
        if kind == "checkpoint_complete" and (checkpoint_id, *state) not in seen:
            seen.add((checkpoint_id, *state))
            _restore(state, operator.captured[checkpoint_id], checkpoint_id, pair, make(checkpoint_id))


def _restore(
    state: list[int],
    captured: dict[int, list[Any]],
    checkpoint_id: int,
    pair: Sequence[Script],
    checkpointer: UnalignedCheckpointer,
) -> None:
    operator, sequencer = Operator(len(pair)), Sequencer(len(pair))
    operator.processed = list(state)

    def give(input_id: int, message: Event | CheckpointBarrier) -> None:
        for action in checkpointer.process(input_id, message, 0):
            operator.obey(action, 0)

    for input_id in range(len(pair)):
        for event in captured.get(input_id, []):
            give(input_id, event)
        # It follows what was in flight, and is over.
        give(input_id, CheckpointBarrier(checkpoint_id, 1))
    assert not operator.told, (checkpoint_id, operator.told)
    sequencer.sent = list(operator.processed)
    rests = [script[script.index(str(checkpoint_id)) + 1 :] for script in pair]
    for column in itertools.zip_longest(*rests):
        for input_id, symbol in enumerate(column):
            if symbol is not None:
                give(input_id, sequencer.message(input_id, symbol))
    for action in checkpointer.abort():
        operator.obey(action, 0)
    assert operator.processed == [script.count("e") for script in pair], checkpoint_id
    # One whose barrier an input lost is not complete when the run ends.
    is_whole = all(any(symbol.isdigit() for symbol in rest) for rest in rests)
    assert [kind for _, kind, _ in operator.told].count("checkpoint_complete") == is_whole
    for later, found in operator.snapshots.items():
        assert found == [script[: script.index(str(later))].count("e") for script in pair], later


def expected(steps: Sequence[Step], inputs: int, *, may_switch: bool) -> Counter[tuple[int, str, int]]:
    """When snapshots, completions and aborts must come, worked out from the whole schedule and not step by step."""
    told: Counter[tuple[int, str, int]] = Counter()
    barriers = [(number, int(symbol)) for number, (_, symbol) in enumerate(steps) if symbol.isdigit()]
    end = len(steps)
    for checkpoint_id in {found for _, found in barriers}:
        own = [number for number, found in barriers if found == checkpoint_id]
        first, last = own[0], own[-1] if len(own) == inputs else end
        higher = [number for number, found in barriers if found > checkpoint_id]
        if higher and higher[0] < first:
            continue  # stale from the start
        cancelled = next((number for number in higher if number > first), end)
        struck = next((n for n, step in enumerate(steps) if step == TIMEOUT and first < n), end)
        if may_switch and struck < min(cancelled, last):
            told[struck, "trigger_snapshot", checkpoint_id] += 1
        elif last < min(cancelled, struck):
            told[last, "trigger_snapshot", checkpoint_id] += 1
        gone = cancelled if may_switch else min(cancelled, struck)
        if last < gone:
            told[last, "checkpoint_complete", checkpoint_id] += 1
        else:
            told[gone, "aborted", checkpoint_id] += 1
    return told
