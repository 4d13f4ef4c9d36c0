# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of one pipeline, one at a time: begun, asked for, acknowledged, stored or aborted (PROTOCOL 12.5).

``Attempt`` knows how far the checkpoint under way is. This class decides what follows from that: what operators and the
store are asked, and what everybody is told, as actions in their order.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Action,
    Allocate,
    Allocated,
    AllocationFailed,
    CoordinatorRules,
    Finish,
    Result,
    Say,
    Stored,
    StoreProblem,
    Warn,
)
from framegate.joinbarrier.checkpoint.coordinator.alignment import Alignment
from framegate.joinbarrier.checkpoint.coordinator.attempt import Attempt, Phase
from framegate.joinbarrier.checkpoint.coordinator.ids import Ids
from framegate.joinbarrier.checkpoint.coordinator.members import Failed, Members
from framegate.joinbarrier.checkpoint.coordinator.messages import Voice, ascii_text, cause_of
from framegate.joinbarrier.checkpoint.coordinator.requests import Requests
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    IngressPlace,
    PipelineAnnounce,
    TriggerState,
)

INJECT_AGAIN_NS: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
SOURCE: Final = "source-"


class Checkpoints:
    """The checkpoints of one pipeline, of which at most one is under way."""

    def __init__(
        self,
        rules: CoordinatorRules,
        voice: Voice,
        ids: Ids,
        members: Members,
        requests: Requests,
        counts: Counter[str],
    ) -> None:
        self.attempt: Attempt | None = None
        """The checkpoint under way."""
        self._alignment = Alignment(rules, counts)
        self._rules = rules
        self._voice = voice
        self._ids = ids
        self._members = members
        self._requests = requests
        self._counts = counts

    def announce(self) -> PipelineAnnounce:
        """Make the announce of the pipeline. It leaves out an id that is not stored yet."""
        attempt = self.attempt
        current = attempt.checkpoint_id if attempt is not None and attempt.phase is not Phase.ALLOCATING else 0
        return self._voice.announce(self._ids.stored, current, is_aligned_only=self._alignment.is_aligned_next)

    # --- from its id to its barriers ----------------------------------------------------------------------

    def begin(self, now_ns: int) -> list[Action]:
        """Begin the next checkpoint, of all present operators, for all waiting requests."""
        issued = self._ids.next()
        is_unaligned = self._alignment.is_next_unaligned(is_asked=self._requests.serve())
        self.attempt = Attempt(issued.last_checkpoint_id, self._members.present, now_ns, is_unaligned=is_unaligned)
        self._counts["begun"] += 1
        return [Allocate(issued)]

    def awaiting(self, result: Result) -> Attempt | None:
        """The checkpoint under way, if this result belongs to it."""
        attempt = self.attempt
        return attempt if attempt is not None and attempt.checkpoint_id == result.checkpoint_id else None

    def on_result(self, attempt: Attempt, result: Result, now_ns: int) -> list[Action]:
        """Take a result of the store."""
        match result:
            case Allocated():
                return self._on_allocated(attempt, now_ns)
            case AllocationFailed():
                self.attempt = None
                self._counts["ids_not_stored"] += 1
                warning = Warn(f"checkpoint {attempt.checkpoint_id} was not begun: {result.reason}")
                return [warning, *self._requests.refuse_served(f"STORE_FAILED: {result.reason}")]
            case Stored():
                return self._on_stored(attempt, result, now_ns)
            case StoreProblem():
                return self._abort(attempt, result.cause, result.reason, now_ns)

    def _on_allocated(self, attempt: Attempt, now_ns: int) -> list[Action]:
        self._ids.note_stored(attempt.checkpoint_id)
        placed_by_ns = now_ns + self._rules.place_timeout_ms * NS_PER_MS
        attempt.note_id_stored(self._members.shared_by(attempt.operators), placed_by_ns)
        if attempt.early_abort is not None:
            return self._abort(attempt, *attempt.early_abort, now_ns)
        return [*self._requests.started(attempt.checkpoint_id), *self._ask(attempt, now_ns)]

    def _ask(self, attempt: Attempt, now_ns: int) -> list[Action]:
        """Ask for what the checkpoint waits for: first places in streams without barriers, then barriers."""
        attempt.inject_again_ns = now_ns + INJECT_AGAIN_NS
        checkpoint_id, is_unaligned = attempt.checkpoint_id, attempt.is_unaligned
        if attempt.phase is Phase.PLACING:
            return [Say(self._voice.hold(checkpoint_id, stream)) for stream in attempt.ingress.streams]
        cuts = attempt.ingress.cuts.items()
        # The cuts come before the barriers are asked for, so that no agent cuts a shared stream by itself.
        return [
            *(Say(self._voice.cut(checkpoint_id, *cut, is_unaligned=is_unaligned)) for cut in cuts),
            Say(self._voice.inject(checkpoint_id, is_unaligned=is_unaligned)),
        ]

    # --- what operators say of it -------------------------------------------------------------------------

    def _told(self, said: IngressPlace | BarrierAck | CheckpointAborted) -> Attempt | None:
        """The checkpoint under way, if this message is about it and operators may still end it."""
        attempt = self.attempt
        if attempt is None or not attempt.is_told:
            return None
        is_meant = (said.checkpoint_id, said.epoch) == (attempt.checkpoint_id, self._ids.epoch)
        return attempt if is_meant else None

    def on_place(self, said: IngressPlace, now_ns: int) -> list[Action]:
        """Note where an agent holds a stream that it shares."""
        attempt = self._told(said)
        if attempt is None or attempt.phase is not Phase.PLACING:
            self._counts["places_ignored"] += 1
            return []
        self._counts["places"] += 1
        if apart := attempt.ingress.say(said.operator_id, said.stream_id, (said.source_epoch, said.after_seq)):
            return self._abort(attempt, AbortCause.INPUT_EPOCH_CHANGED, apart, now_ns)
        if not attempt.ingress.is_known:
            return []
        attempt.phase = Phase.GATHERING
        return self._ask(attempt, now_ns)

    def on_ack(self, ack: BarrierAck, now_ns: int) -> list[Action]:
        """Take an acknowledgement. A source, which has no other part in it, only says that it could not inject."""
        attempt = self._told(ack)
        if attempt is None:
            self._counts["acks_ignored"] += 1
            return []
        is_source = ack.operator_id.startswith(SOURCE) and ack.operator_id not in attempt
        if ack.status == AckStatus.FAILED and (is_source or ack.operator_id in attempt):
            otherwise = AbortCause.INJECTION_FAILED if is_source else AbortCause.OPERATOR_FAILED
            cause, text = cause_of(ack.reason, otherwise)
            return self._abort(attempt, cause, f"{ack.operator_id}: {text or 'no reason given'}", now_ns)
        if ack.operator_id not in attempt or not attempt.acknowledge(ack.operator_id, ack.status, ack.bytes):
            self._counts["acks_ignored"] += 1
            return []
        self._counts["acks"] += 1
        return self._finish(attempt) if attempt.is_acknowledged else []

    def on_aborted(self, aborted: CheckpointAborted, now_ns: int) -> list[Action]:
        """Abort the checkpoint under way because another member did. The coordinator's own messages come back here too,
        too late to matter.
        """
        attempt = self._told(aborted)
        return [] if attempt is None else self._abort(attempt, aborted.cause, aborted.reason, now_ns)

    def on_failed(self, failed: Failed, now_ns: int) -> list[Action]:
        """Abort the checkpoint if an operator that owes something is gone, or was restarted."""
        attempt = self.attempt
        if attempt is None or not attempt.owes(failed.operator_id):
            return []
        return self._abort(attempt, AbortCause.OPERATOR_FAILED, failed.reason, now_ns)

    # --- time ---------------------------------------------------------------------------------------------

    def tick(self, now_ns: int) -> list[Action]:
        """Let timeouts take effect: abort the checkpoint under way, warn about it, or ask for its barriers again."""
        attempt = self.attempt
        if attempt is None:
            return []
        elapsed_ns = now_ns - attempt.began_ns
        if attempt.phase is Phase.PLACING and now_ns > attempt.placed_by_ns:
            waited = f"within {self._rules.place_timeout_ms} ms these have not said where they stand"
            return self._abort(attempt, AbortCause.TIMEOUT, f"{waited}: {attempt.ingress.owed()}", now_ns)
        if elapsed_ns > self._rules.checkpoint_timeout_ns:
            waited = f"after {elapsed_ns // NS_PER_MS} ms"
            if attempt.phase is Phase.GATHERING:
                return self._abort(attempt, AbortCause.TIMEOUT, f"{waited} these owe: {attempt.owed()}", now_ns)
            if not attempt.is_late_said:
                # The store may still complete the checkpoint, so only its answer can end it.
                attempt.is_late_said = True
                return [Warn(f"checkpoint {attempt.checkpoint_id} waits for its store {waited}: {self._rules.store}")]
        if attempt.is_told and not attempt.has_all_snapshots and now_ns >= attempt.inject_again_ns:
            self._counts["injected_again"] += 1
            return self._ask(attempt, now_ns)
        return []

    # --- how it ends --------------------------------------------------------------------------------------

    def _finish(self, attempt: Attempt) -> list[Action]:
        attempt.phase = Phase.STORING
        return [
            Finish(
                checkpoint_id=attempt.checkpoint_id,
                epoch=self._ids.epoch,
                is_asked_unaligned=attempt.is_unaligned,
                acknowledged=attempt.acknowledged,
            )
        ]

    def _on_stored(self, attempt: Attempt, stored: Stored, now_ns: int) -> list[Action]:
        self.attempt = None
        self._counts["completed"] += 1
        self._counts["completed_unaligned"] += stored.is_unaligned
        self._counts["bytes"] += stored.size_bytes
        self._counts["pruned"] += stored.pruned
        said = self._requests.over(
            TriggerState.COMPLETE,
            attempt.checkpoint_id,
            duration_ns=now_ns - attempt.began_ns,
            stored_bytes=stored.size_bytes,
        )
        return [*said, Say(self._voice.complete(attempt.checkpoint_id)), *self._alignment.stored(stored)]

    def shutdown(self, now_ns: int) -> list[Action]:
        """Abort the checkpoint under way, unless its manifest is being written."""
        attempt = self.attempt
        if attempt is None or attempt.phase is Phase.STORING:
            return []
        return self._abort(attempt, AbortCause.COORDINATOR, "the driver is ending", now_ns)

    def _abort(self, attempt: Attempt, cause: AbortCause, reason: str, now_ns: int) -> list[Action]:
        """Abort a checkpoint. This is the only place that does, so that it is reported once."""
        reason = ascii_text(reason)
        if attempt.phase is Phase.ALLOCATING:
            attempt.early_abort = cause, reason
            return []
        self.attempt = None
        self._alignment.aborted(cause)
        self._counts["aborted"] += 1
        self._counts[f"aborted_{cause.name.lower()}"] += 1
        said = self._requests.over(
            TriggerState.ABORTED,
            attempt.checkpoint_id,
            duration_ns=now_ns - attempt.began_ns,
            reason=f"{cause.name}: {reason}",
        )
        warning = Warn(f"checkpoint {attempt.checkpoint_id} of pipeline {self._rules.pipeline}: {cause.name}: {reason}")
        return [warning, *said, Say(self._voice.aborted(attempt.checkpoint_id, cause, reason))]
