# SPDX-License-Identifier: Apache-2.0
"""The aligner as its users see it: this checks the arguments, and either implementation decides."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from framegate.joinbarrier.checkpoint.actions import Action, Kind, Pair
from framegate.joinbarrier.checkpoint.messages import U64_MAX, CheckpointBarrier, Event, Message, Watermark
from framegate.joinbarrier.checkpoint.native_aligner import NativeAligner
from framegate.joinbarrier.checkpoint.numbers import whole
from framegate.joinbarrier.checkpoint.settings import MIB, AlignerSettings, Implementation, aligner_settings, is_native
from framegate.schema.errors import InvalidValue

_log = logging.getLogger(__name__)


class _Decides(Protocol):
    @property
    def is_aligning(self) -> bool: ...
    @property
    def aligned_inputs(self) -> int: ...
    @property
    def pending_inputs(self) -> tuple[int, ...]: ...
    @property
    def buffered_events(self) -> int: ...
    @property
    def buffered_bytes(self) -> int: ...

    def process(self, input_id: int, message: Message, now_ns: int) -> Action: ...
    def complete_alignment(self) -> list[Pair]: ...
    def abort(self, checkpoint_id: int | None = None) -> Action | None: ...
    def check_timeout(self, now_ns: int) -> Action | None: ...
    def end_input(self, input_id: int, now_ns: int) -> Action | None: ...
    def lose_input(self, input_id: int) -> Action | None: ...
    def resume_input(self, input_id: int) -> None: ...
    def input_watermarks(self) -> list[int | None]: ...
    def operator_watermark(self) -> int | None: ...
    def metrics(self) -> dict[str, Any]: ...


class BarrierAligner:
    """Holds back an input behind its barrier until every input has delivered it, so that a snapshot cuts all at the
    same place.

    >>> from framegate.joinbarrier.checkpoint import CheckpointBarrier, Event
    >>> aligner = BarrierAligner(2, impl="reference")
    >>> barrier = CheckpointBarrier(1, 1)
    >>> aligner.process(0, barrier, now_ns=0).kind, aligner.process(0, Event("behind"), now_ns=0).kind
    ('buffered', 'buffered')
    >>> aligner.process(1, Event("before"), now_ns=0).kind, aligner.process(1, barrier, now_ns=0).kind
    ('pass_through', 'trigger_snapshot')
    >>> [(input_id, event.payload) for input_id, event in aligner.complete_alignment()]
    [(0, 'behind')]
    """

    def __init__(
        self,
        num_inputs: int,
        max_buffer_per_input: int = 100_000,
        max_buffer_memory_bytes: int = 256 * MIB,
        alignment_timeout_s: float = 60.0,
        floor: int = 0,
        on_alignment_complete: Callable[[CheckpointBarrier], object] | None = None,
        impl: Implementation = "native",
    ) -> None:
        settings = aligner_settings(
            num_inputs, max_buffer_per_input, max_buffer_memory_bytes, alignment_timeout_s, floor
        )
        self._num_inputs = settings.num_inputs
        self._decides: _Decides = NativeAligner(settings) if is_native(impl) else _specified(settings)
        self._on_complete = on_alignment_complete

    def process(self, input_id: int, message: Message, now_ns: int) -> Action:
        """Say what to do with the next message of an input.

        Raises AlignmentStateError for a barrier between ``trigger_snapshot`` and ``complete_alignment()``.
        """
        input_id, now_ns = checked_input(input_id, self._num_inputs), checked_now(now_ns)
        return self._told(self._decides.process(input_id, checked_message(message), now_ns))

    def complete_alignment(self) -> list[Pair]:
        """Complete the alignment after the snapshot and the forwarded barrier; return the events to process before
        anything new.

        Raises AlignmentStateError if no snapshot was asked for.
        """
        return self._decides.complete_alignment()

    def abort(self, checkpoint_id: int | None = None) -> Action | None:
        """Abort the current checkpoint if the id is its own or None; otherwise remember that id as aborted."""
        return self._decides.abort(checked_id(checkpoint_id))

    def check_timeout(self, now_ns: int) -> Action | None:
        """Abort an alignment that has taken longer than the timeout."""
        action = self._decides.check_timeout(checked_now(now_ns))
        if action is not None:
            log_waited_for(action, self._num_inputs, "given up", len(action.released))
        return action

    def end_input(self, input_id: int, now_ns: int) -> Action | None:
        """Note that an input has ended: it counts as delivering the current and every later barrier."""
        action = self._decides.end_input(checked_input(input_id, self._num_inputs), checked_now(now_ns))
        return None if action is None else self._told(action)

    def lose_input(self, input_id: int) -> Action | None:
        """Note that an input was lost: a checkpoint to which it owes its barrier is aborted, and later ones do without
        it.
        """
        return self._decides.lose_input(checked_input(input_id, self._num_inputs))

    def resume_input(self, input_id: int) -> None:
        """Note that an ended or lost input is back: it takes part from the next checkpoint on."""
        self._decides.resume_input(checked_input(input_id, self._num_inputs))

    @property
    def is_aligning(self) -> bool:
        """Whether a checkpoint is being aligned."""
        return self._decides.is_aligning

    @property
    def aligned_inputs(self) -> int:
        """How many inputs have delivered the current barrier."""
        return self._decides.aligned_inputs

    @property
    def pending_inputs(self) -> tuple[int, ...]:
        """The inputs that have not delivered the current barrier."""
        return self._decides.pending_inputs

    @property
    def buffered_events(self) -> int:
        """How many events wait behind barriers."""
        return self._decides.buffered_events

    @property
    def buffered_bytes(self) -> int:
        """How many bytes the waiting events take."""
        return self._decides.buffered_bytes

    def input_watermarks(self) -> list[int | None]:
        """For each input, the watermark that counts. While the input is blocked, that is the one from before its
        barrier.
        """
        return self._decides.input_watermarks()

    def operator_watermark(self) -> int | None:
        """How far the operator's time has come: the lowest watermark of its inputs. Ask after processing drained
        events.
        """
        return self._decides.operator_watermark()

    def metrics(self) -> dict[str, Any]:
        """Counters since the start, and the state of the current alignment; durations in nanoseconds."""
        return self._decides.metrics()

    def _told(self, action: Action) -> Action:
        if self._on_complete is not None and action.kind == Kind.TRIGGER_SNAPSHOT and action.barrier is not None:
            self._on_complete(action.barrier)
        return action


def log_waited_for(action: Action, num_inputs: int, what: str, buffered: int) -> None:
    """Log which inputs a checkpoint waited for, and how many events had waited."""
    aligned = [input_id for input_id in range(num_inputs) if input_id not in action.pending]
    _log.warning(
        "checkpoint %s is %s after waiting for inputs %s; aligned inputs %s, %d events buffered",
        action.barrier.checkpoint_id if action.barrier else None,
        what,
        list(action.pending),
        aligned,
        buffered,
    )


def checked_input(input_id: int, num_inputs: int) -> int:
    """Check the number of an input. Raises InvalidValue."""
    return whole("input_id", input_id, 0, num_inputs - 1)


def checked_now(now_ns: int) -> int:
    """Check a time in nanoseconds. Raises InvalidValue."""
    return whole("now_ns", now_ns, 0, U64_MAX)


def checked_id(checkpoint_id: int | None) -> int | None:
    """Check a checkpoint's id, or None. Raises InvalidValue."""
    return None if checkpoint_id is None else whole("checkpoint_id", checkpoint_id, 1, U64_MAX)


def checked_message(message: object) -> Message:
    """Check that this is a message. Raises InvalidValue."""
    if not isinstance(message, Event | Watermark | CheckpointBarrier):
        raise InvalidValue("an Event, a Watermark or a CheckpointBarrier", field="message", found=type(message))
    return message


def _specified(settings: AlignerSettings) -> _Decides:
    from framegate.spec.checkpoint.aligner import BarrierAligner as SpecifiedAligner

    return SpecifiedAligner(settings)
