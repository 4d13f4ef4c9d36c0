# SPDX-License-Identifier: Apache-2.0
"""Aligned checkpoints: an input waits behind its barrier until every input has delivered it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from framegate.joinbarrier.checkpoint.actions import Action, AlignmentCause, Kind, Pair, passed
from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, Event, Message, Watermark
from framegate.joinbarrier.checkpoint.settings import AlignerSettings
from framegate.schema.errors import AlignmentStateError
from framegate.spec.checkpoint.buffers import Buffers
from framegate.spec.checkpoint.history import History
from framegate.spec.checkpoint.watermarks import Watermarks


@dataclass(slots=True)
class Alignment:
    """An alignment under way."""

    barrier: CheckpointBarrier
    delivered: int
    """A bit for each input that has delivered its barrier, or delivers nothing any more."""
    started_ns: int
    is_triggered: bool = False
    """Whether the operator was told to take a snapshot, and has not confirmed it."""


class BarrierAligner:
    """Aligns at most one checkpoint at a time."""

    def __init__(self, settings: AlignerSettings) -> None:
        self.settings = settings
        self.history = History(settings.floor)
        self.buffers = Buffers(settings)
        self.watermarks = Watermarks(settings.num_inputs)
        self.current: Alignment | None = None
        self.left_out = 0
        """A bit for each input that has ended, or was lost and did not come back."""
        self.counted = dict.fromkeys(
            ("alignments_completed", "total_events_buffered", "max_alignment_duration", "aborts", "input_full",
             "ignored_stale", "ignored_duplicate", "ignored_aborted", "epoch_mismatches"), 0
        )  # fmt: skip

    # --- Messages ---------------------------------------------------------------------------------------

    def process(self, input_id: int, message: Message, now_ns: int) -> Action:
        """Say what to do with a message of an input."""
        match message:
            case Event():
                return self._event(input_id, message)
            case Watermark():
                self.watermarks.see(input_id, message.ms, is_blocked=self.is_blocked(input_id))
                return Action(kind=Kind.WATERMARK_PASS_THROUGH, watermark=message, input_id=input_id)
            case CheckpointBarrier():
                return self._barrier(input_id, message, now_ns)
            case _:
                assert_never(message)

    def _event(self, input_id: int, event: Event) -> Action:
        current = self.current
        if current is None or not self.is_blocked(input_id):
            return passed(input_id, event)
        refusal = self.buffers.refusal(input_id, event)
        if refusal == AlignmentCause.INPUT_LIMIT:
            self.counted["input_full"] += 1
            return Action(kind=Kind.INPUT_FULL, event=event, input_id=input_id)
        if refusal is not None:
            return self.overflow(current, refusal, input_id, event)
        self.buffers.push(input_id, event)
        self.counted["total_events_buffered"] += 1
        return Action(kind=Kind.BUFFERED, input_id=input_id)

    def _barrier(self, input_id: int, barrier: CheckpointBarrier, now_ns: int) -> Action:
        current = self.current
        if current is not None and current.is_triggered:
            raise AlignmentStateError(
                "a barrier came before the snapshot was completed",
                checkpoint_id=current.barrier.checkpoint_id,
                found_id=barrier.checkpoint_id,
                input_id=input_id,
            )
        if current is not None and barrier.checkpoint_id == current.barrier.checkpoint_id:
            return self._deliver(current, input_id, barrier, now_ns)
        verdict = self.history.verdict(barrier.checkpoint_id, current.barrier.checkpoint_id if current else 0)
        if verdict is not None:
            return self._ignore(verdict, input_id, barrier)
        released = [] if current is None else self._give_up(current)
        self.current = Alignment(barrier, self.left_out | 1 << input_id, now_ns)
        return self._progress(self.current, input_id, now_ns, released)

    def _deliver(self, current: Alignment, input_id: int, barrier: CheckpointBarrier, now_ns: int) -> Action:
        if current.delivered >> input_id & 1:
            return self._ignore(Kind.IGNORED_DUPLICATE, input_id, barrier)
        self.counted["epoch_mismatches"] += barrier.epoch != current.barrier.epoch
        current.delivered |= 1 << input_id
        return self._progress(current, input_id, now_ns, [])

    def _progress(self, current: Alignment, input_id: int, now_ns: int, released: list[Pair]) -> Action:
        if current.delivered == self.settings.all_inputs:
            return self._trigger(current, now_ns, released)
        return Action(kind=Kind.BUFFERED, barrier=current.barrier, input_id=input_id, released=released)

    def _trigger(self, current: Alignment, now_ns: int, released: list[Pair]) -> Action:
        current.is_triggered = True
        self.counted["alignments_completed"] += 1
        lasted_ns = max(0, now_ns - current.started_ns)
        self.counted["max_alignment_duration"] = max(self.counted["max_alignment_duration"], lasted_ns)
        return Action(kind=Kind.TRIGGER_SNAPSHOT, barrier=current.barrier, released=released)

    def _ignore(self, kind: str, input_id: int, barrier: CheckpointBarrier) -> Action:
        self.counted[kind] += 1
        return Action(kind=kind, barrier=barrier, input_id=input_id)

    # --- Ends of an alignment ---------------------------------------------------------------------------

    def complete_alignment(self) -> list[Pair]:
        """Complete the alignment after the snapshot and the forwarded barrier; return the events that waited behind
        barriers.
        """
        current = self.current
        if current is None or not current.is_triggered:
            raise AlignmentStateError(
                "there is no snapshot to complete", checkpoint_id=current.barrier.checkpoint_id if current else None
            )
        self.history.finish(current.barrier.checkpoint_id)
        return self._release()

    def take_over(self, current: Alignment) -> list[Pair]:
        """End the alignment for an unaligned snapshot; return the events that waited behind its barrier."""
        self.history.finish(current.barrier.checkpoint_id)
        return self._release()

    def check_timeout(self, now_ns: int) -> Action | None:
        """Abort an alignment that has taken longer than the timeout."""
        current = self.current
        if current is None or current.is_triggered or not self.is_overdue(now_ns):
            return None
        return self.abort_alignment(current, AlignmentCause.TIMEOUT)

    def abort(self, checkpoint_id: int | None = None) -> Action | None:
        """Abort the current checkpoint if the id is its own or None; otherwise remember that id as aborted."""
        current = self.current
        if current is not None and checkpoint_id in (None, current.barrier.checkpoint_id):
            return self.abort_alignment(current, AlignmentCause.COORDINATOR)
        if checkpoint_id is not None:
            self.history.abort(checkpoint_id)
        return None

    def abort_alignment(self, current: Alignment, cause: str, input_id: int | None = None) -> Action:
        """Abort the current checkpoint. Process the released events like any others."""
        pending = self.pending_inputs
        return Action(
            kind=Kind.ABORTED,
            barrier=current.barrier,
            released=self._give_up(current),
            cause=cause,
            input_id=input_id,
            pending=pending,
        )

    def overflow(self, current: Alignment, cause: str, input_id: int, event: Event) -> Action:
        """Abort because an event found no space. The event itself is released last, so that order is kept (B8)."""
        action = self.abort_alignment(current, cause)
        action.released.append((input_id, event))
        return action

    def _give_up(self, current: Alignment) -> list[Pair]:
        self.counted["aborts"] += 1
        self.history.abort(current.barrier.checkpoint_id)
        return self._release()

    def _release(self) -> list[Pair]:
        self.current = None
        self.watermarks.unblock()
        return self.buffers.drain()

    # --- Inputs that come and go ------------------------------------------------------------------------

    def end_input(self, input_id: int, now_ns: int) -> Action | None:
        """Note that an input has ended: it counts as delivering the current and every later barrier (B20)."""
        self.left_out |= 1 << input_id
        current = self.current
        if current is None or current.is_triggered:
            return None
        current.delivered |= 1 << input_id
        return self._trigger(current, now_ns, []) if current.delivered == self.settings.all_inputs else None

    def lose_input(self, input_id: int) -> Action | None:
        """Note that an input was lost. If it owes a barrier, the checkpoint is aborted; later ones do without it (B20,
        P15).
        """
        self.left_out |= 1 << input_id
        current = self.current
        if current is None or current.delivered >> input_id & 1:
            return None
        return self.abort_alignment(current, AlignmentCause.INPUT_LOST, input_id)

    def resume_input(self, input_id: int) -> None:
        """Note that an input is back, in a new epoch: it takes part from the next checkpoint on."""
        self.left_out &= ~(1 << input_id)

    # --- What can be asked ------------------------------------------------------------------------------

    def is_blocked(self, input_id: int) -> bool:
        """Whether events of this input have to wait."""
        return self.current is not None and bool(self.current.delivered >> input_id & 1)

    def is_overdue(self, now_ns: int) -> bool:
        """Whether the alignment has taken longer than the timeout."""
        return self.current is not None and now_ns - self.current.started_ns > self.settings.alignment_timeout_ns

    @property
    def is_aligning(self) -> bool:
        return self.current is not None

    @property
    def aligned_inputs(self) -> int:
        return 0 if self.current is None else self.current.delivered.bit_count()

    @property
    def pending_inputs(self) -> tuple[int, ...]:
        if self.current is None:
            return ()
        return tuple(i for i in range(self.settings.num_inputs) if not self.current.delivered >> i & 1)

    @property
    def buffered_events(self) -> int:
        return self.buffers.events

    @property
    def buffered_bytes(self) -> int:
        return self.buffers.held_bytes

    def input_watermarks(self) -> list[int | None]:
        """For each input, the watermark that counts. At a snapshot, that is the one from before its barrier (P4)."""
        return self.watermarks.counted()

    def operator_watermark(self) -> int | None:
        """The lowest watermark of the inputs that can still bring events."""
        inputs = range(self.settings.num_inputs)
        return self.watermarks.operator(i for i in inputs if not self.left_out >> i & 1 or self.buffers.waits(i))

    def metrics(self) -> dict[str, int | bool]:
        return {**self.counted, "current_buffered": self.buffers.events, "is_aligning": self.is_aligning}
