# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of one pipeline, one at a time: begun, asked for, acknowledged, stored or given up (PROTOCOL 12.5).

``Attempt`` knows how far the one under way is. This is what follows from it: what is asked of operators and of the
store, and what everybody is told, in the order in which it is to be carried out.
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
    """At most one is under way."""

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
        """The one under way."""
        self._alignment = Alignment(rules, counts)
        self._rules = rules
        self._voice = voice
        self._ids = ids
        self._members = members
        self._requests = requests
        self._counts = counts

    def announce(self) -> PipelineAnnounce:
        """What holds, in the words of the pipeline. An id that does not last yet is nobody's business."""
        attempt = self.attempt
        current = attempt.checkpoint_id if attempt is not None and attempt.phase is not Phase.ALLOCATING else 0
        return self._voice.announce(self._ids.lasting, current, is_aligned_only=self._alignment.is_aligned_next)

    # --- from its id to its barriers ----------------------------------------------------------------------

    def begin(self, now_ns: int) -> list[Action]:
        """The next one, of all who are present, for all who wait for one."""
        issued = self._ids.next()
        is_unaligned = self._alignment.is_next_unaligned(is_asked=self._requests.serve())
        self.attempt = Attempt(issued.last_checkpoint_id, self._members.present, now_ns, is_unaligned=is_unaligned)
        self._counts["begun"] += 1
        return [Allocate(issued)]

    def awaiting(self, result: Result) -> Attempt | None:
        """The one under way, if this is what became of an order for it."""
        attempt = self.attempt
        return attempt if attempt is not None and attempt.checkpoint_id == result.checkpoint_id else None

    def on_result(self, attempt: Attempt, result: Result, now_ns: int) -> list[Action]:
        """What the store says to what was ordered for it."""
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
        self._ids.lasts(attempt.checkpoint_id)
        placed_by_ns = now_ns + self._rules.place_timeout_ms * NS_PER_MS
        attempt.lasts(self._members.shared_by(attempt.operators), placed_by_ns)
        if attempt.doom is not None:
            return self._abort(attempt, *attempt.doom, now_ns)
        return [*self._requests.started(attempt.checkpoint_id), *self._ask(attempt, now_ns)]

    def _ask(self, attempt: Attempt, now_ns: int) -> list[Action]:
        """Ask for what this checkpoint waits for: places in streams without barriers, then barriers."""
        attempt.inject_again_ns = now_ns + INJECT_AGAIN_NS
        checkpoint_id, is_unaligned = attempt.checkpoint_id, attempt.is_unaligned
        if attempt.phase is Phase.PLACING:
            return [Say(self._voice.hold(checkpoint_id, stream)) for stream in attempt.ingress.streams]
        cuts = attempt.ingress.cuts.items()
        # Before the barriers are asked for, so that nobody takes a shared stream for its own.
        return [
            *(Say(self._voice.cut(checkpoint_id, *cut, is_unaligned=is_unaligned)) for cut in cuts),
            Say(self._voice.inject(checkpoint_id, is_unaligned=is_unaligned)),
        ]

    # --- what operators say of it -------------------------------------------------------------------------

    def _told(self, said: IngressPlace | BarrierAck | CheckpointAborted) -> Attempt | None:
        """The one under way, if this is said of it and operators may still end it."""
        attempt = self.attempt
        if attempt is None or not attempt.is_told:
            return None
        is_meant = (said.checkpoint_id, said.epoch) == (attempt.checkpoint_id, self._ids.epoch)
        return attempt if is_meant else None

    def on_place(self, said: IngressPlace, now_ns: int) -> list[Action]:
        """An agent stands in a stream that it shares."""
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
        """A step is done, or failed; that a source could not inject is said by it alone, which has no other part."""
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
        """Somebody else gives up what is under way. Our own words come by here too, when it is over."""
        attempt = self._told(aborted)
        return [] if attempt is None else self._abort(attempt, aborted.cause, aborted.reason, now_ns)

    def on_failed(self, failed: Failed, now_ns: int) -> list[Action]:
        """An operator is gone, or starts anew and knows nothing of it."""
        attempt = self.attempt
        if attempt is None or not attempt.owes(failed.operator_id):
            return []
        return self._abort(attempt, AbortCause.OPERATOR_FAILED, failed.reason, now_ns)

    # --- time ---------------------------------------------------------------------------------------------

    def tick(self, now_ns: int) -> list[Action]:
        """What time brings about for the one under way: it is given up, waited for aloud, or asked for again."""
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
                # What the store does may still come to a good end: nothing can be said about it before it answers.
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
        """Give it up, unless its manifest is being written."""
        attempt = self.attempt
        if attempt is None or attempt.phase is Phase.STORING:
            return []
        return self._abort(attempt, AbortCause.COORDINATOR, "the driver is ending", now_ns)

    def _abort(self, attempt: Attempt, cause: AbortCause, reason: str, now_ns: int) -> list[Action]:
        """The one place where a checkpoint is given up, so that it is said once."""
        reason = ascii_text(reason)
        if attempt.phase is Phase.ALLOCATING:
            attempt.doom = cause, reason
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
