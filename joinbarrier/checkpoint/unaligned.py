# SPDX-License-Identifier: Apache-2.0
"""The unaligned checkpointer as its users see it."""

from __future__ import annotations

import logging
from typing import Any, Final, Protocol

from framegate.joinbarrier.checkpoint.actions import Action, AlignmentCause, Kind
from framegate.joinbarrier.checkpoint.aligner import (
    checked_id,
    checked_input,
    checked_message,
    checked_now,
    log_waited_for,
)
from framegate.joinbarrier.checkpoint.messages import U64_MAX, Captured, Message
from framegate.joinbarrier.checkpoint.native_aligner import NativeCheckpointer
from framegate.joinbarrier.checkpoint.numbers import nanoseconds, whole
from framegate.joinbarrier.checkpoint.settings import (
    MIB,
    Implementation,
    UnalignedSettings,
    aligner_settings,
    is_native,
)

WARNS_AFTER: Final = 5
"""After so many unaligned checkpoints in a row, the threshold is too low, or the back-pressure is permanent."""
_log = logging.getLogger(__name__)


class _Decides(Protocol):
    def process(self, input_id: int, message: Message, now_ns: int) -> list[Action]: ...
    def on_tick(self, now_ns: int) -> list[Action]: ...
    def abort(self, checkpoint_id: int | None = None) -> list[Action]: ...
    def fail(self, checkpoint_id: int | None = None) -> list[Action]: ...
    def end_input(self, input_id: int, now_ns: int) -> list[Action]: ...
    def lose_input(self, input_id: int) -> list[Action]: ...
    def resume_input(self, input_id: int) -> None: ...
    def snapshot(self) -> dict[int, list[Captured]]: ...
    def metrics(self) -> dict[str, Any]: ...


class UnalignedCheckpointer:
    """Aligns, and switches to an unaligned snapshot if that takes longer than a threshold or fills a buffer.

    >>> from framegate.joinbarrier.checkpoint import CheckpointBarrier, Event
    >>> checkpointer = UnalignedCheckpointer(2, alignment_timeout_s=1, impl="reference")
    >>> [action.kind for action in checkpointer.process(0, CheckpointBarrier(1, 1), now_ns=0)]
    ['buffered']
    >>> [action.kind for action in checkpointer.on_tick(now_ns=1_000_000_001)]
    ['trigger_snapshot', 'forward_barrier']
    >>> [action.kind for action in checkpointer.process(1, Event("in flight"), now_ns=1_000_000_002)]
    ['pass_through']
    >>> [action.kind for action in checkpointer.process(1, CheckpointBarrier(1, 1), now_ns=1_000_000_003)]
    ['late_barrier', 'checkpoint_complete']
    >>> [event.payload for event in checkpointer.snapshot()[1]]
    ['in flight']
    """

    def __init__(
        self,
        num_inputs: int,
        enabled: bool = True,
        alignment_timeout_s: float = 30.0,
        max_buffer_per_input: int = 100_000,
        max_buffer_memory_bytes: int = 256 * MIB,
        max_inflight_bytes: int = 512 * MIB,
        force_unaligned: bool = False,
        late_barrier_timeout_s: float | None = None,
        floor: int = 0,
        impl: Implementation = "native",
    ) -> None:
        aligner = aligner_settings(
            num_inputs, max_buffer_per_input, max_buffer_memory_bytes, alignment_timeout_s, floor
        )
        late = late_barrier_timeout_s
        self.settings = UnalignedSettings(
            aligner=aligner,
            is_enabled=bool(enabled),
            is_forced=bool(force_unaligned),
            max_inflight_bytes=whole("max_inflight_bytes", max_inflight_bytes, 0, U64_MAX),
            late_barrier_timeout_ns=None if late is None else nanoseconds("late_barrier_timeout_s", late),
        )
        self._num_inputs = aligner.num_inputs
        self._decides: _Decides = NativeCheckpointer(self.settings) if is_native(impl) else _specified(self.settings)

    def process(self, input_id: int, message: Message, now_ns: int) -> list[Action]:
        """Say what to do with the next message of an input, in this order."""
        input_id, now_ns = checked_input(input_id, self._num_inputs), checked_now(now_ns)
        return self._told(self._decides.process(input_id, checked_message(message), now_ns))

    def on_tick(self, now_ns: int) -> list[Action]:
        """Let timeouts take effect: the switch at the threshold, and the abort if a late barrier does not come."""
        return self._told(self._decides.on_tick(checked_now(now_ns)))

    def abort(self, checkpoint_id: int | None = None) -> list[Action]:
        """Abort the current checkpoint and drop what it captured; any other id is only remembered as aborted."""
        return self._decides.abort(checked_id(checkpoint_id))

    def fail(self, checkpoint_id: int | None = None) -> list[Action]:
        """Abort because captured events could not be written or read; the next attempt is aligned."""
        return self._decides.fail(checked_id(checkpoint_id))

    def end_input(self, input_id: int, now_ns: int) -> list[Action]:
        """Note that an input has ended: it counts as delivering the current and every later barrier."""
        return self._told(self._decides.end_input(checked_input(input_id, self._num_inputs), checked_now(now_ns)))

    def lose_input(self, input_id: int) -> list[Action]:
        """Note that an input was lost: a checkpoint to which it owes its barrier is aborted, and later ones do without
        it.
        """
        return self._decides.lose_input(checked_input(input_id, self._num_inputs))

    def resume_input(self, input_id: int) -> None:
        """Note that an ended or lost input is back: it takes part from the next checkpoint on."""
        self._decides.resume_input(checked_input(input_id, self._num_inputs))

    def snapshot(self) -> dict[int, list[Captured]]:
        """Copy what late inputs delivered between the snapshot and their barriers; empty for an aligned checkpoint.

        It is complete once ``checkpoint_complete`` was returned, and kept until the next checkpoint begins or an abort.
        """
        return self._decides.snapshot()

    def metrics(self) -> dict[str, Any]:
        """Counters since the start, and the state of the current checkpoint; durations in nanoseconds."""
        return self._decides.metrics()

    def _told(self, actions: list[Action]) -> list[Action]:
        for action in actions:
            if action.kind == Kind.TRIGGER_SNAPSHOT and action.cause == AlignmentCause.THRESHOLD:
                waited = sum(each.kind == Kind.DRAIN_BUFFERED for each in actions)
                log_waited_for(action, self._num_inputs, "taken unaligned", waited)
            if action.kind == Kind.TRIGGER_SNAPSHOT and action.cause is not None:
                self._warn_of_threshold()
            if action.kind == Kind.ABORTED and action.cause == AlignmentCause.LATE_BARRIER_TIMEOUT:
                log_waited_for(action, self._num_inputs, "given up, its late barriers missing,", 0)
        return actions

    def _warn_of_threshold(self) -> None:
        if self.metrics()["unaligned_in_a_row"] == WARNS_AFTER:
            threshold_s = self.settings.aligner.alignment_timeout_ns / 1e9
            _log.warning(
                "%d checkpoints in a row were taken unaligned: raise the threshold, alignment_timeout_s=%g, or find "
                "out which input is slow",
                WARNS_AFTER,
                threshold_s,
            )


def _specified(settings: UnalignedSettings) -> _Decides:
    from framegate.spec.checkpoint.unaligned import UnalignedCheckpointer as SpecifiedCheckpointer

    return SpecifiedCheckpointer(settings)
