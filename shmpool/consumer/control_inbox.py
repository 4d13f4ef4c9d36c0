# SPDX-License-Identifier: Apache-2.0
"""Barriers, watermarks and signals that stand between a stream's frames (PROTOCOL 12.4), kept for whoever asks."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from framegate.schema import decode_any
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalCategory, Watermark
from framegate.schema.errors import MessageError

QUEUE_BOUND: Final = 1_024
"""Messages kept for a caller that does not ask; older ones make room and are counted."""
ControlMessage: TypeAlias = CheckpointBarrier | Watermark | ControlSignal
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Control:
    """A message and its place: every frame up to ``after_seq`` of its epoch came before it, all others after."""

    message: ControlMessage
    after_seq: int | None
    """None: no frame of its epoch was seen before it."""

    @property
    def epoch(self) -> int:
        """The epoch of the frames that it stands between."""
        return self.message.source_epoch


class ControlInbox:
    """Gives messages to a callback or a bounded queue.

    While a consumer moves to a descriptor stream of its own it hears that and the shared one: the same message comes by
    both, byte for byte, and is kept once.
    """

    def __init__(self, on_control: Callable[[Control], None] | None) -> None:
        self.dropped = 0
        self._recent: dict[bytes, None] = {}
        self._on_control = on_control
        self._queue: deque[Control] = deque()

    def hear(self, data: bytes, epoch: int | None, last_seq: int | None) -> ControlMessage | None:
        """One message as it came, and what was read before it; None for what is none. On the thread that polls."""
        try:
            message = decode_any(data)
        except MessageError:
            return None
        if not isinstance(message, CheckpointBarrier | Watermark | ControlSignal):
            return None
        if self._is_heard(data, message):
            return message
        # What was read of another epoch says nothing of a place in this one.
        self._keep(Control(message, last_seq if epoch == message.source_epoch else None))
        return message

    def _is_heard(self, data: bytes, message: ControlMessage) -> bool:
        """Whether it came by another stream before. An instant signal has nothing that tells two of them apart."""
        if isinstance(message, ControlSignal) and message.category == SignalCategory.INSTANT:
            return False
        if data in self._recent:
            return True
        self._recent[data] = None
        if len(self._recent) > QUEUE_BOUND:
            del self._recent[next(iter(self._recent))]
        return False

    def take(self) -> list[Control]:
        """What came since the last call, oldest first."""
        taken = []
        while self._queue:
            taken.append(self._queue.popleft())
        return taken

    def _keep(self, control: Control) -> None:
        if self._on_control is None:
            if len(self._queue) == QUEUE_BOUND:
                self._queue.popleft()
                self.dropped += 1
            self._queue.append(control)
            return
        try:
            self._on_control(control)
        except Exception:
            # The user's own; the frames that were read with it must not be lost by it.
            _log.exception("on_control raised")
