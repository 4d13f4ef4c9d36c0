# SPDX-License-Identifier: Apache-2.0
"""A request to a coordinator for a checkpoint or a signal, which learns what becomes of it (PROTOCOL 12.5, 12.6).

A pure state machine. It asks again until it is answered, and once more when a coordinator in a higher epoch announces
the pipeline, because that one does not know the request. While it waits it does not ask: if a coordinator is killed
before it hears a request, the next one would hear it, and begin a checkpoint that nobody wants any more.

>>> asked = TriggerRequest(7, "default", is_unaligned=False)
>>> type(asked.due(0)).__name__, asked.due(1), type(asked.due(1_000_000_000)).__name__
('TriggerCheckpoint', None, 'TriggerCheckpoint')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from framegate.joinbarrier.checkpoint.messages import UNALIGNED
from framegate.joinbarrier.checkpoint.signal_messages import control_message
from framegate.joinbarrier.checkpoint.signals import Signal
from framegate.schema import Message
from framegate.schema.control import (
    CheckpointAborted,
    CheckpointComplete,
    PipelineAnnounce,
    TriggerCheckpoint,
    TriggerProgress,
    TriggerSignal,
    TriggerState,
)

ASK_AGAIN_NS: Final = 1_000_000_000
PIPELINES_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. Numbers are None if a coordinator was restarted before it could report them."""

    state: TriggerState
    checkpoint_id: int
    epoch: int
    duration_ns: int | None = None
    bytes: int | None = None
    reason: str = ""


class TriggerRequest:
    """One request for a checkpoint or a signal."""

    def __init__(
        self, correlation_id: int, pipeline: str, *, is_unaligned: bool = False, signal: Signal | None = None
    ) -> None:
        self.outcome: Outcome | None = None
        self.checkpoint_id = 0
        self.is_heard = False
        """Whether a coordinator has answered."""
        self.pipelines: set[str] = set()
        """The pipelines that were announced meanwhile."""
        self._request: TriggerCheckpoint | TriggerSignal
        if signal is None:
            flags = UNALIGNED if is_unaligned else 0
            self._request = TriggerCheckpoint(correlation_id=correlation_id, flags=flags, pipeline=pipeline)
        else:
            asked = control_message(signal, pipeline)
            self._request = TriggerSignal(
                correlation_id=correlation_id, category=asked.category, kind=asked.kind, pipeline=pipeline
            )
        self._ask_again_ns: int | None = None
        self._waits_in_epoch: int | None = None

    def due(self, now_ns: int) -> TriggerCheckpoint | TriggerSignal | None:
        """The message to send now, if any."""
        is_early = self._ask_again_ns is not None and now_ns < self._ask_again_ns
        if self.checkpoint_id or self.outcome is not None or self._waits_in_epoch is not None or is_early:
            return None
        self._ask_again_ns = now_ns + ASK_AGAIN_NS
        return self._request

    def ask_anew(self) -> None:
        """Ask again at once, because the coordinator that heard the request may be gone."""
        self._ask_again_ns = self._waits_in_epoch = None

    def on_message(self, message: Message) -> None:
        """Take one message of the control stream."""
        if self.outcome is not None:
            return
        match message:
            case TriggerProgress() if message.correlation_id == self._request.correlation_id:
                self._on_progress(message)
            case PipelineAnnounce():
                self._on_announce(message)
            case CheckpointComplete() if self._is_ours(message):
                self.outcome = Outcome(TriggerState.COMPLETE, message.checkpoint_id, message.epoch)
            case CheckpointAborted() if self._is_ours(message):
                reason = f"{message.cause.name}: {message.reason}"
                self.outcome = Outcome(TriggerState.ABORTED, message.checkpoint_id, message.epoch, reason=reason)

    def _on_announce(self, announce: PipelineAnnounce) -> None:
        if len(self.pipelines) < PIPELINES_MAX:
            self.pipelines.add(announce.pipeline)
        is_ours = announce.pipeline == self._request.pipeline
        if is_ours and self._waits_in_epoch is not None and announce.epoch > self._waits_in_epoch:
            self.ask_anew()

    def _is_ours(self, message: CheckpointComplete | CheckpointAborted) -> bool:
        return bool(self.checkpoint_id) and (message.checkpoint_id, message.pipeline) == (
            self.checkpoint_id,
            self._request.pipeline,
        )

    def _on_progress(self, progress: TriggerProgress) -> None:
        self.is_heard = True
        if progress.state == TriggerState.STARTED:
            self.checkpoint_id = progress.checkpoint_id
        elif progress.state == TriggerState.WAITING:
            self._waits_in_epoch = progress.epoch
        else:
            self.outcome = Outcome(
                progress.state,
                progress.checkpoint_id,
                progress.epoch,
                progress.duration_ns,
                progress.bytes,
                progress.reason,
            )
