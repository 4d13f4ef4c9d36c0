# SPDX-License-Identifier: Apache-2.0
"""Makes the messages of schema 920 that a coordinator sends, and reads why an operator failed (PROTOCOL 12.5)."""

from __future__ import annotations

from typing import Final

from framegate.joinbarrier.checkpoint.coordinator.actions import CoordinatorRules, Predecessor
from framegate.joinbarrier.checkpoint.coordinator.ingress_round import Place
from framegate.joinbarrier.checkpoint.messages import FORCED, MAY_SWITCH, UNALIGNED
from framegate.schema.control import (
    AbortCause,
    CheckpointAborted,
    CheckpointComplete,
    HoldIngress,
    IngressCut,
    InjectBarrier,
    PipelineAnnounce,
    TriggerProgress,
    TriggerState,
)

TEXT_MAX: Final = 1024


class Voice:
    """Makes the messages of one pipeline in one epoch."""

    def __init__(self, rules: CoordinatorRules, epoch: int) -> None:
        self._rules = rules
        self._epoch = epoch
        self.store = ascii_text(rules.store)

    def announce(self, last_id: int, current_id: int, *, is_aligned_only: bool) -> PipelineAnnounce:
        rules = self._rules
        may_switch = rules.is_unaligned_allowed and not is_aligned_only
        return PipelineAnnounce(
            last_checkpoint_id=last_id,
            current_checkpoint_id=current_id,
            epoch=self._epoch,
            flags=(MAY_SWITCH if may_switch else 0) | (FORCED if may_switch and rules.is_forced else 0),
            alignment_timeout_ms=rules.alignment_timeout_ms,
            late_barrier_timeout_ms=rules.late_barrier_timeout_ms,
            operator_timeout_ms=rules.operator_timeout_ms,
            pipeline=rules.pipeline,
            store=self.store,
        )

    def inject(self, checkpoint_id: int, *, is_unaligned: bool) -> InjectBarrier:
        return InjectBarrier(
            checkpoint_id=checkpoint_id,
            epoch=self._epoch,
            flags=UNALIGNED if is_unaligned else 0,
            pipeline=self._rules.pipeline,
        )

    def hold(self, checkpoint_id: int, stream_id: int) -> HoldIngress:
        return HoldIngress(
            checkpoint_id=checkpoint_id, epoch=self._epoch, stream_id=stream_id, pipeline=self._rules.pipeline
        )

    def cut(self, checkpoint_id: int, stream_id: int, place: Place, *, is_unaligned: bool) -> IngressCut:
        return IngressCut(
            checkpoint_id=checkpoint_id,
            epoch=self._epoch,
            flags=UNALIGNED if is_unaligned else 0,
            stream_id=stream_id,
            source_epoch=place[0],
            after_seq=place[1],
            pipeline=self._rules.pipeline,
        )

    def complete(self, checkpoint_id: int) -> CheckpointComplete:
        return CheckpointComplete(checkpoint_id=checkpoint_id, epoch=self._epoch, pipeline=self._rules.pipeline)

    def aborted(self, checkpoint_id: int, cause: AbortCause, reason: str) -> CheckpointAborted:
        return CheckpointAborted(
            checkpoint_id=checkpoint_id,
            epoch=self._epoch,
            cause=cause,
            pipeline=self._rules.pipeline,
            reason=ascii_text(reason),
        )

    def outcome_of(self, predecessor: Predecessor) -> CheckpointComplete | CheckpointAborted:
        """The message about the previous coordinator's newest checkpoint."""
        if predecessor.is_complete:
            return self.complete(predecessor.checkpoint_id)
        return self.aborted(predecessor.checkpoint_id, AbortCause.COORDINATOR, "the coordinator was restarted")

    def progress(
        self,
        correlation_id: int,
        state: TriggerState,
        *,
        checkpoint_id: int = 0,
        duration_ns: int = 0,
        stored_bytes: int = 0,
        reason: str = "",
    ) -> TriggerProgress:
        return TriggerProgress(
            correlation_id=correlation_id,
            checkpoint_id=checkpoint_id,
            epoch=self._epoch,
            state=state,
            duration_ns=duration_ns,
            bytes=stored_bytes,
            pipeline=self._rules.pipeline,
            reason=ascii_text(reason),
        )


def cause_of(reason: str, otherwise: AbortCause) -> tuple[AbortCause, str]:
    """Split a reason into the cause in front of it, and the rest.

    >>> cause_of("INPUT_LOST: input left", AbortCause.OPERATOR_FAILED)
    (<AbortCause.INPUT_LOST: 5>, 'input left')
    >>> cause_of("disk full: /data", AbortCause.OPERATOR_FAILED)
    (<AbortCause.OPERATOR_FAILED: 11>, 'disk full: /data')
    """
    name, colon, text = reason.partition(":")
    if colon and name in AbortCause.__members__:
        return AbortCause[name], text.strip()
    return otherwise, reason


def ascii_text(text: str) -> str:
    r"""Escape a text for messages and logs: printable ASCII, at most 1024 characters.

    >>> print(ascii_text("caf\u00e9 \x1b[31m"))
    caf\xe9 \x1b[31m
    """
    return "".join(each if " " <= each <= "~" else _escaped(each) for each in text[:TEXT_MAX])[:TEXT_MAX]


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
