# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that may overtake: they are aligned as long as that is quick, and become unaligned when back-pressure
would stall them.
"""

from __future__ import annotations

from typing import Any

from framegate.joinbarrier.checkpoint.actions import Action, AlignmentCause, Kind, drains, passed
from framegate.joinbarrier.checkpoint.messages import (
    U64_MAX,
    Captured,
    CheckpointBarrier,
    Event,
    Message,
    Watermark,
)
from framegate.joinbarrier.checkpoint.settings import UnalignedSettings
from framegate.spec.checkpoint.aligner import Alignment, BarrierAligner
from framegate.spec.checkpoint.late_inputs import LateInputs


class UnalignedCheckpointer:
    """A checkpointer. It is idle, aligning, or waiting for the late barriers of an unaligned snapshot."""

    def __init__(self, settings: UnalignedSettings) -> None:
        self.settings = settings
        self.aligner = BarrierAligner(settings.aligner)
        self.late: LateInputs | None = None
        self._last: LateInputs | None = None
        """What was captured, complete or not, until the next checkpoint begins or this one is aborted."""
        self._begins_aligned = False
        self.counted = dict.fromkeys(
            ("unaligned_count", "threshold_switches", "limit_switches", "total_inflight_bytes", "unaligned_in_a_row",
             "checkpoints_completed", "late_aborts"), 0
        )  # fmt: skip

    # --- Messages ---------------------------------------------------------------------------------------

    def process(self, input_id: int, message: Message, now_ns: int) -> list[Action]:
        """Say what to do with a message of an input, in this order."""
        if isinstance(message, CheckpointBarrier):
            return self._barrier(input_id, message, now_ns)
        aborted = self._captured(input_id, message)
        current = self.aligner.current
        if isinstance(message, Event) and current and self.aligner.is_blocked(input_id):
            refusal = self.aligner.buffers.refusal(input_id, message)
            if refusal is not None:
                return self._full(current, refusal, input_id, message, now_ns)
        return [*aborted, self.aligner.process(input_id, message, now_ns)]

    def _full(self, current: Alignment, refusal: str, input_id: int, event: Event, now_ns: int) -> list[Action]:
        if self.settings.is_enabled:
            # The input has delivered its barrier, so it goes on as soon as the events that waited before this one are
            # drained.
            return [*self._switch(current, AlignmentCause.LIMIT, now_ns), passed(input_id, event)]
        return [self.aligner.overflow(current, refusal, input_id, event)]

    def _captured(self, input_id: int, message: Event | Watermark) -> list[Action]:
        late = self.late
        if late is None or input_id not in late.owing:
            return []
        if not late.capture(input_id, message):
            return [self._abort_late(late, AlignmentCause.INFLIGHT_LIMIT, input_id)]
        captured = self.counted["total_inflight_bytes"] + (message.size if isinstance(message, Event) else 0)
        self.counted["total_inflight_bytes"] = min(captured, U64_MAX)
        return []

    def _barrier(self, input_id: int, barrier: CheckpointBarrier, now_ns: int) -> list[Action]:
        late = self.late
        if late is not None and barrier.checkpoint_id == late.barrier.checkpoint_id:
            return self._late_barrier(late, input_id, barrier)
        actions = self._cancel(barrier)
        current = self.aligner.current
        is_new = current is None or barrier.checkpoint_id != current.barrier.checkpoint_id
        action = self.aligner.process(input_id, barrier, now_ns)
        current = self.aligner.current
        if current is None or action.kind not in (Kind.BUFFERED, Kind.TRIGGER_SNAPSHOT):
            return [action]
        if is_new:
            self._last = None
        if self.settings.is_enabled and self._wants_unaligned(barrier):
            return [*actions, *self._switch(current, AlignmentCause.REQUESTED, now_ns)]
        if action.kind == Kind.TRIGGER_SNAPSHOT:
            return [*actions, *self._complete_aligned(current.barrier)]
        if self.settings.is_enabled and self.aligner.is_overdue(now_ns):
            return [*actions, *self._switch(current, AlignmentCause.THRESHOLD, now_ns)]
        return [*actions, action]

    def _wants_unaligned(self, barrier: CheckpointBarrier) -> bool:
        return (barrier.unaligned or self.settings.is_forced) and not self._begins_aligned

    def _cancel(self, barrier: CheckpointBarrier) -> list[Action]:
        """Abort the checkpoint under way if a higher barrier makes it pointless."""
        current = self.aligner.current
        if self.late is not None and self.aligner.history.verdict(barrier.checkpoint_id) is None:
            return [self._abort_late(self.late, AlignmentCause.HIGHER_BARRIER)]
        if current and self.aligner.history.verdict(barrier.checkpoint_id, current.barrier.checkpoint_id) is None:
            return [self.aligner.abort_alignment(current, AlignmentCause.HIGHER_BARRIER)]
        return []

    # --- A checkpoint's end -----------------------------------------------------------------------------

    def _complete_aligned(self, barrier: CheckpointBarrier) -> list[Action]:
        trigger = Action(kind=Kind.TRIGGER_SNAPSHOT, barrier=barrier)
        waiting = drains(self.aligner.complete_alignment())
        self._begins_aligned = False
        self.counted["unaligned_in_a_row"] = 0
        return [trigger, *self._forwarded(barrier, waiting), self._complete(barrier)]

    def _switch(self, current: Alignment, cause: str, now_ns: int) -> list[Action]:
        """Take an unaligned snapshot now. Inputs that delivered their barrier go on; what the others still bring is
        captured.
        """
        delivered, waiting = current.delivered, self.aligner.take_over(current)
        barrier = current.barrier.flagged()
        self._count_switch(cause)
        owing = {i for i in range(self.settings.aligner.num_inputs) if not delivered >> i & 1}
        limits = self.settings
        late = LateInputs(barrier, owing, now_ns, limits.max_inflight_bytes, limits.max_inflight_events)
        self.late = self._last = late
        trigger = Action(kind=Kind.TRIGGER_SNAPSHOT, barrier=barrier, cause=cause, pending=tuple(sorted(owing)))
        return [trigger, *self._forwarded(barrier, drains(waiting)), *self._perhaps_complete(late)]

    def _count_switch(self, cause: str) -> None:
        self._begins_aligned = False
        self.counted["unaligned_count"] += 1
        self.counted["unaligned_in_a_row"] += 1
        self.counted["threshold_switches"] += cause == AlignmentCause.THRESHOLD
        self.counted["limit_switches"] += cause == AlignmentCause.LIMIT

    def _forwarded(self, barrier: CheckpointBarrier, waiting: list[Action]) -> list[Action]:
        forward = Action(kind=Kind.FORWARD_BARRIER, barrier=barrier)
        # The barrier goes first; drained events would put later output before it (B19).
        return [forward, *waiting]

    def _late_barrier(self, late: LateInputs, input_id: int, barrier: CheckpointBarrier) -> list[Action]:
        if input_id not in late.owing:
            self.aligner.counted[Kind.IGNORED_DUPLICATE] += 1
            return [Action(kind=Kind.IGNORED_DUPLICATE, barrier=barrier, input_id=input_id)]
        late.owing.discard(input_id)
        arrived = Action(kind=Kind.LATE_BARRIER, barrier=late.barrier, input_id=input_id)
        return [arrived, *self._perhaps_complete(late)]

    def _perhaps_complete(self, late: LateInputs) -> list[Action]:
        if late.owing:
            return []
        self.late = None
        return [self._complete(late.barrier)]

    def _complete(self, barrier: CheckpointBarrier) -> Action:
        self.counted["checkpoints_completed"] += 1
        return Action(kind=Kind.CHECKPOINT_COMPLETE, barrier=barrier)

    def _abort_late(self, late: LateInputs, cause: str, input_id: int | None = None) -> Action:
        pending = tuple(sorted(late.owing))
        self.late = self._last = None
        self.counted["late_aborts"] += 1
        self.aligner.history.abort(late.barrier.checkpoint_id)
        return Action(kind=Kind.ABORTED, barrier=late.barrier, cause=cause, input_id=input_id, pending=pending)

    # --- Time, aborts, inputs that come and go ----------------------------------------------------------

    def on_tick(self, now_ns: int) -> list[Action]:
        """Let timeouts take effect. Call it often, so that a silent input cannot stall a checkpoint (B16)."""
        late, limit_ns = self.late, self.settings.late_barrier_timeout_ns
        if late is not None and limit_ns is not None and now_ns - late.snapshot_ns > limit_ns:
            return [self._abort_late(late, AlignmentCause.LATE_BARRIER_TIMEOUT, min(late.owing))]
        current = self.aligner.current
        if current is not None and self.settings.is_enabled and self.aligner.is_overdue(now_ns):
            return self._switch(current, AlignmentCause.THRESHOLD, now_ns)
        return []

    def abort(self, checkpoint_id: int | None = None) -> list[Action]:
        """Abort the current checkpoint and drop what it captured, or remember that another one is aborted."""
        late = self.late
        if late is not None and checkpoint_id in (None, late.barrier.checkpoint_id):
            return [self._abort_late(late, AlignmentCause.COORDINATOR)]
        if self._last is not None and checkpoint_id in (None, self._last.barrier.checkpoint_id) and late is None:
            self._last = None
        action = self.aligner.abort(checkpoint_id)
        return [] if action is None else [action]

    def fail(self, checkpoint_id: int | None = None) -> list[Action]:
        """Abort a checkpoint whose captured events could not be written or read; the next one begins aligned (B24)."""
        self._begins_aligned = True
        return self.abort(checkpoint_id)

    def end_input(self, input_id: int, now_ns: int) -> list[Action]:
        """Note that an input has ended: it owes no barrier any more."""
        action = self.aligner.end_input(input_id, now_ns)
        if action is not None and action.barrier is not None:
            return self._complete_aligned(action.barrier)
        if self.late is not None:
            self.late.owing.discard(input_id)
            return self._perhaps_complete(self.late)
        return []

    def lose_input(self, input_id: int) -> list[Action]:
        """Note that an input was lost: a checkpoint to which it owes its barrier is aborted (P15)."""
        action = self.aligner.lose_input(input_id)
        if action is not None:
            return [action]
        if self.late is not None and input_id in self.late.owing:
            return [self._abort_late(self.late, AlignmentCause.INPUT_LOST, input_id)]
        return []

    def resume_input(self, input_id: int) -> None:
        """Note that an input is back: it takes part from the next checkpoint on."""
        self.aligner.resume_input(input_id)

    # --- What can be asked ------------------------------------------------------------------------------

    def snapshot(self) -> dict[int, list[Captured]]:
        """Copy what was captured so far, for each input that delivered anything."""
        return {} if self._last is None else self._last.snapshot()

    def metrics(self) -> dict[str, Any]:
        return {**self.aligner.metrics(), **self.counted, "is_in_unaligned_mode": self.late is not None}
