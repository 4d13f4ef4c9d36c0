# SPDX-License-Identifier: Apache-2.0
"""Any order of acknowledgements, failures, hellos, time and kills: what a coordinator says is never a contradiction.

Goal: no id is given out twice, a manifest is ordered only after every second step, and a checkpoint is complete or
aborted, never both, whatever dies. Method: random scripts against the coordinator, several lives long; the checks look
only at what is said, at what lasts, and at what the script itself did.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Final

from framegate.joinbarrier.checkpoint.coordinator.actions import Allocate, Finish
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    CheckpointAborted,
    CheckpointComplete,
    InjectBarrier,
    OperatorState,
    PipelineAnnounce,
    TriggerProgress,
    TriggerState,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.joinbarrier.coordinator_world import MS, RULES, SECOND, World

OPERATORS: Final = ("a", "b", "c")
_names = st.sampled_from(OPERATORS)
STEPS: Final = st.one_of(
    st.tuples(st.just("ack"), _names, st.sampled_from(AckStatus), st.sampled_from([0, 0, 0, 0, -1, 1])),
    st.tuples(st.just("acks"), _names),
    st.tuples(st.just("acks"), _names),
    st.tuples(st.just("hello"), _names, st.integers(1, 2), st.integers(0, 6)),
    st.tuples(st.just("leave"), _names, st.integers(1, 2)),
    st.tuples(st.just("all_here")),
    st.tuples(st.just("trigger"), st.integers(1, 6), st.integers(0, 1)),
    st.tuples(st.just("trigger"), st.integers(1, 6), st.integers(0, 1)),
    st.tuples(st.just("store"), st.sampled_from([False, False, False, True])),
    st.tuples(st.just("store"), st.sampled_from([False, False, False, True])),
    st.tuples(st.just("time"), st.sampled_from([1, 300 * MS, SECOND, 4 * SECOND, 50 * SECOND])),
    st.tuples(st.just("abort"), st.integers(0, 3)),
    st.tuples(st.just("restart")),
    st.tuples(st.just("shutdown")),
)


class Checked(World):
    """A world whose every order and word is looked at."""

    def __init__(self, *, is_periodic: bool) -> None:
        self.completed_steps: dict[int, set[str]] = {}
        self.injected_in: dict[int, int] = {}
        self.outcome_of: dict[int, set[type]] = {}
        self.finals = Counter[tuple[int, int]]()
        interval_ns = 2 * SECOND if is_periodic else 0
        super().__init__(replace(RULES, interval_ns=interval_ns, operator_timeout_ms=1_000))

    def do(self, actions: list[Any]) -> None:
        for action in actions:
            if isinstance(action, Allocate):
                # Strictly above everything that lasts, so nobody was ever told of it.
                assert action.issued.last_checkpoint_id > self.lasting.last_checkpoint_id
                assert action.issued.epoch == self.lasting.epoch
            if isinstance(action, Finish):
                names = {name for name, _ in action.acknowledged}
                assert names
                assert names <= self.completed_steps.get(action.checkpoint_id, set())
                assert action.checkpoint_id not in self.manifests
        super().do(actions)
        self.look()

    def look(self) -> None:
        """What was said since the last look."""
        for message in self.said:
            match message:
                case InjectBarrier():
                    assert 0 < message.checkpoint_id <= self.lasting.last_checkpoint_id
                    assert self.injected_in.setdefault(message.checkpoint_id, message.epoch) == message.epoch
                    assert message.checkpoint_id not in self.outcome_of
                case CheckpointComplete():
                    assert message.checkpoint_id in self.manifests
                    self.outcome_of.setdefault(message.checkpoint_id, set()).add(CheckpointComplete)
                case CheckpointAborted():
                    assert message.checkpoint_id not in self.manifests
                    self.outcome_of.setdefault(message.checkpoint_id, set()).add(CheckpointAborted)
                case PipelineAnnounce():
                    assert message.current_checkpoint_id in (0, message.last_checkpoint_id)
                    assert message.last_checkpoint_id <= self.lasting.last_checkpoint_id
                case TriggerProgress() if message.state in (TriggerState.COMPLETE, TriggerState.ABORTED):
                    # Before everybody is told.
                    assert message.checkpoint_id not in self.outcome_of
                    self.finals[message.correlation_id, message.checkpoint_id] += 1
        self.said.clear()
        assert all(len(kinds) == 1 for kinds in self.outcome_of.values())
        assert all(count == 1 for count in self.finals.values())

    # --- steps of a script ----------------------------------------------------------------------------------

    def play_ack(self, name: str, status: AckStatus, off: int = 0) -> None:
        attempt = self.coordinator.attempt
        checkpoint_id = max(0, (attempt.checkpoint_id if attempt else self.lasting.last_checkpoint_id) + off)
        if status == AckStatus.COMPLETE:
            self.completed_steps.setdefault(checkpoint_id, set()).add(name)
        self.ack(name, status, checkpoint_id=checkpoint_id, reason="INPUT_LOST: left")

    def play_acks(self, name: str) -> None:
        self.play_ack(name, AckStatus.SNAPSHOT_TAKEN)
        self.play_ack(name, AckStatus.COMPLETE)

    def play_hello(self, name: str, instance_id: int, last_id: int) -> None:
        self.hello(name, instance_id, last_checkpoint_id=last_id)

    def play_leave(self, name: str, instance_id: int) -> None:
        self.hello(name, instance_id, state=OperatorState.LEAVING)

    def play_all_here(self) -> None:
        self.tick(SECOND)
        for name in OPERATORS:
            self.hello(name)

    def play_trigger(self, correlation_id: int, flags: int) -> None:
        # Whoever asks anew, once it was answered, takes another number.
        self.trigger(correlation_id + 10 * len(self.finals), flags)

    def play_store(self, fails: bool) -> None:
        if self.orders:
            self.answer(fails=fails)

    def play_time(self, delta_ns: int) -> None:
        self.tick(delta_ns)

    def play_abort(self, off: int) -> None:
        self.hear(
            CheckpointAborted(
                checkpoint_id=max(1, self.lasting.last_checkpoint_id - off),
                epoch=self.coordinator.epoch,
                cause=AbortCause.INPUT_LOST,
                pipeline="default",
            )
        )

    def play_restart(self) -> None:
        self.restart()

    def play_shutdown(self) -> None:
        self.do(self.coordinator.shutdown(self.now_ns))
        while self.orders:
            self.answer()
        assert self.coordinator.is_idle
        self.restart()


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=60), st.booleans())
def test_what_a_coordinator_says_is_never_a_contradiction(script: list[tuple[Any, ...]], is_periodic: bool) -> None:
    world = Checked(is_periodic=is_periodic)
    for step in script:
        getattr(world, f"play_{step[0]}")(*step[1:])
    # Liveness: whatever happened, a healthy pipeline has a checkpoint in the end.
    before = len(world.manifests)
    for _ in range(100):
        world.tick(500 * MS)
        for name in OPERATORS:
            world.hello(name)
        if not world.coordinator.attempt and not world.orders:
            world.trigger(1_000 + world.now_ns)
        while world.orders:
            world.answer()
        for name in OPERATORS:
            if world.coordinator.attempt is not None and name in world.coordinator.attempt:
                world.play_ack(name, AckStatus.COMPLETE)
        while world.orders:
            world.answer()
    assert len(world.manifests) > before
