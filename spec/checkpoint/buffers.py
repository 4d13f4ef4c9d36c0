# SPDX-License-Identifier: Apache-2.0
"""Events that wait behind their barriers, limited in number for each input and in bytes for all together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from framegate.joinbarrier.checkpoint.actions import AlignmentCause, Pair
from framegate.joinbarrier.checkpoint.messages import Event
from framegate.joinbarrier.checkpoint.settings import AlignerSettings


class Buffers:
    """First-in-first-out queues, one for each input, drained round-robin over the inputs from 0."""

    def __init__(self, settings: AlignerSettings) -> None:
        self._settings = settings
        self._waiting = [deque[Event]() for _ in range(settings.num_inputs)]
        self.events = 0
        self.held_bytes = 0

    def refusal(self, input_id: int, event: Event) -> str | None:
        """The limit that an event would exceed, asked before it is taken (B8)."""
        limits, taken = self._settings, len(self._waiting[input_id])
        if taken >= limits.max_buffer_per_input:
            return AlignmentCause.INPUT_LIMIT
        is_full = self.events >= limits.max_buffered_events
        if is_full or self.held_bytes + event.size > limits.max_buffer_memory_bytes:
            return AlignmentCause.MEMORY_LIMIT
        return None

    def push(self, input_id: int, event: Event) -> None:
        """Add an event that no limit refuses."""
        self._waiting[input_id].append(event)
        self.events += 1
        self.held_bytes += event.size

    def waits(self, input_id: int) -> bool:
        """Whether events of an input wait."""
        return bool(self._waiting[input_id])

    def drain(self) -> list[Pair]:
        """Take everything out, in order."""
        drained = list(self._in_turn())
        self.events = self.held_bytes = 0
        return drained

    def _in_turn(self) -> Iterator[Pair]:
        while any(self._waiting):
            for input_id, waiting in enumerate(self._waiting):
                if waiting:
                    yield input_id, waiting.popleft()
