# SPDX-License-Identifier: Apache-2.0
"""Small pipelines of the pieces alone: sources, channels, and stages that process, snapshot and forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from framegate.joinbarrier import MergeMap, SequenceJoinBarrier, SequenceRule
from framegate.joinbarrier.checkpoint import (
    Action,
    BarrierAligner,
    Channel,
    CheckpointBarrier,
    Event,
    UnalignedCheckpointer,
    Watermark,
)

from tests.conformance.checkpoint_world import Pieces

OUT, LEFT, RIGHT = 20_001, 10_001, 10_002


class Joined:
    """A stream-stream join by sequence: the state is what waits for its partner."""

    def __init__(self) -> None:
        self.barrier = SequenceJoinBarrier(OUT)
        assert self.barrier.apply(MergeMap(OUT, 0, [SequenceRule(LEFT, offset=0), SequenceRule(RIGHT, offset=0)]))
        self.next, self.seen = 0, (dict[int, Any](), dict[int, Any]())

    def __call__(self, input_id: int, event: Event) -> list[Event]:
        seq, value = event.payload
        self.seen[input_id][seq] = value
        self.barrier.observe((LEFT, RIGHT)[input_id], seq, now_ns=0)
        rows = []
        while self.barrier.ready(self.next, now_ns=0):
            rows.append(Event((self.next, self.seen[0].pop(self.next), self.seen[1].pop(self.next))))
            self.next += 1
        return rows

    def state(self) -> Any:
        return self.next, dict(self.seen[0]), dict(self.seen[1])

    @classmethod
    def restored(cls, state: Any) -> Joined:
        made = cls()
        made.next, made.seen = state[0], (dict(state[1]), dict(state[2]))
        for stream, seen in zip((LEFT, RIGHT), made.seen, strict=True):
            observed = max(seen, default=made.next - 1)
            if observed >= 0:
                made.barrier.observe(stream, observed, now_ns=0)
        return made


class United:
    """A union, and a single-input stage: what comes goes on."""

    def __init__(self) -> None:
        self.passed: list[Any] = []

    def __call__(self, input_id: int, event: Event) -> list[Event]:
        self.passed.append((input_id, event.payload))
        return [event]

    def state(self) -> Any:
        return list(self.passed)


@dataclass
class Stage:
    """Reads its inputs in turn, obeys its aligner, and writes to every output."""

    make: Pieces
    inputs: Sequence[Channel]
    outputs: Sequence[Channel]
    operator: Any
    aligner: BarrierAligner | UnalignedCheckpointer | None = None
    snapshots: dict[int, Any] = field(default_factory=dict)
    aborted: list[int] = field(default_factory=list)
    complete: list[int] = field(default_factory=list)
    watermarks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.aligner is None:
            self.aligner = self.make.aligner(len(self.inputs))

    def read(self, input_id: int, now_ns: int = 0) -> bool:
        """Take one message of an input; False where there is none."""
        message = self.inputs[input_id].pop()
        if message is None:
            return False
        assert self.aligner is not None
        found = self.aligner.process(input_id, message, now_ns)
        for action in found if isinstance(found, list) else [found]:
            self.obey(action)
        return True

    def run(self, now_ns: int = 0) -> None:
        """Until nothing comes any more."""
        while sum(self.read(input_id, now_ns) for input_id in range(len(self.inputs))):
            pass

    def tick(self, now_ns: int) -> None:
        """Let time pass."""
        if isinstance(self.aligner, UnalignedCheckpointer):
            for action in self.aligner.on_tick(now_ns):
                self.obey(action)
        elif self.aligner is not None and (found := self.aligner.check_timeout(now_ns)) is not None:
            self.obey(found)

    def obey(self, action: Action) -> None:
        if action.kind == "aborted" and action.barrier:
            self.aborted.append(action.barrier.checkpoint_id)
        for input_id, event in action.released:
            self._process(input_id, event)
        if action.event is not None and action.input_id is not None:
            self._process(action.input_id, action.event)
        if action.watermark is not None:
            self.watermarks.append(action.watermark.ms)
            self.send(action.watermark)
        if action.kind == "trigger_snapshot" and action.barrier:
            self.snapshots[action.barrier.checkpoint_id] = self.operator.state()
            if isinstance(self.aligner, BarrierAligner):
                self.send(action.barrier)
                self.complete.append(action.barrier.checkpoint_id)
                for input_id, event in self.aligner.complete_alignment():
                    self._process(input_id, event)
        if action.kind == "forward_barrier" and action.barrier:
            self.send(action.barrier)
        if action.kind == "checkpoint_complete" and action.barrier:
            self.complete.append(action.barrier.checkpoint_id)

    def _process(self, input_id: int, event: Event) -> None:
        for each in self.operator(input_id, event):
            self.send(each)

    def send(self, message: Event | Watermark | CheckpointBarrier) -> None:
        """To every output."""
        for output in self.outputs:
            assert output.push(message), "the test gives outputs room enough"


def source(channel: Channel, events: Sequence[Any], poll: Callable[[], CheckpointBarrier | None]) -> None:
    """Sends events and, between them, what its injector says."""
    for payload in events:
        assert channel.push(Event(payload))
        barrier = poll()
        if barrier is not None:
            assert channel.push(barrier)


def everything(channel: Channel) -> list[Any]:
    """What a channel holds: payloads, ids of barriers as strings, watermarks."""
    found: list[Any] = []
    while (message := channel.pop()) is not None:
        if isinstance(message, Event):
            found.append(message.payload)
        elif isinstance(message, Watermark):
            found.append(message)
        else:
            found.append(f"barrier {message.checkpoint_id}")
    return found
