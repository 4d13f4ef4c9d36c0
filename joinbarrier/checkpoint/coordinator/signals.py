# SPDX-License-Identifier: Apache-2.0
"""The head of a pipeline's control channel: on request it issues a signal's id, sends the signal, and knows when all
operators have sent it on (PROTOCOL 12.6).

One signal is pending at a time. An instant signal never is: it has no id, and nobody waits for it.
"""

from __future__ import annotations

from collections import Counter

from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Action,
    Allocate,
    Allocated,
    CoordinatorRules,
    Result,
    Say,
)
from framegate.joinbarrier.checkpoint.coordinator.ids import Ids
from framegate.joinbarrier.checkpoint.coordinator.members import Failed
from framegate.joinbarrier.checkpoint.coordinator.messages import Voice
from framegate.joinbarrier.checkpoint.coordinator.requests import Requests
from framegate.joinbarrier.checkpoint.coordinator.signal_round import SignalRound, asked_instant
from framegate.joinbarrier.checkpoint.signal_messages import control_message
from framegate.schema.control import ControlSignal, TriggerSignal, TriggerState


class Signals:
    """The signals of one pipeline."""

    def __init__(
        self, rules: CoordinatorRules, voice: Voice, ids: Ids, requests: Requests, counts: Counter[str]
    ) -> None:
        self.pending: SignalRound | None = None
        self._rules = rules
        self._voice = voice
        self._ids = ids
        self._requests = requests
        self._counts = counts

    # --- asking for one -----------------------------------------------------------------------------------

    def standing(self, correlation_id: int) -> list[Action]:
        """Report the state of a request; nothing if it is not the pending one."""
        pending = self.pending
        if pending is None or pending.correlation_id != correlation_id:
            return []
        state = TriggerState.STARTED if pending.is_sent else TriggerState.WAITING
        given = pending.barrier_id if pending.is_sent else 0
        return [Say(self._voice.progress(correlation_id, state, checkpoint_id=given))]

    def ask(self, request: TriggerSignal, now_ns: int, *, obstacle: str) -> list[Action]:
        """Take a new request; return the immediate answer. A signal that has to be aligned is pending from now on."""
        self._counts["signal_requests"] += 1
        asked = (request.correlation_id,)
        if self.pending is not None:
            return self._requests.refuse(asked, f"{self.pending.signal} is pending: {self.pending.standing}")
        instant = asked_instant(request)
        if instant is not None:
            done = self._voice.progress(request.correlation_id, TriggerState.COMPLETE)
            return [Say(control_message(instant, self._rules.pipeline)), Say(done)]
        if obstacle:
            return self._requests.refuse(asked, obstacle)
        self.pending = SignalRound(request.kind, request.correlation_id, now_ns)
        return []

    # --- one signal ---------------------------------------------------------------------------------------

    def begin(self) -> list[Action]:
        """Begin a pending signal, which gets its id now that no checkpoint is under way."""
        if self.pending is None or self.pending.barrier_id:
            return []
        issued = self._ids.next()
        self.pending.barrier_id = issued.last_checkpoint_id
        return [Allocate(issued)]

    def awaiting(self, result: Result) -> SignalRound | None:
        """The pending signal, if this is the result of storing its id."""
        pending = self.pending
        if pending is None or pending.is_sent or not pending.barrier_id == result.checkpoint_id > 0:
            return None
        return pending

    def on_result(self, pending: SignalRound, result: Result, operators: list[str]) -> list[Action]:
        """Send the signal if its id is stored, so that these operators send it on; otherwise refuse it."""
        if not isinstance(result, Allocated):
            self.pending = None
            self._counts["ids_not_stored"] += 1
            return self._requests.refuse((pending.correlation_id,), "STORE_FAILED: its id does not last")
        self._ids.note_stored(pending.barrier_id)
        pending.send(operators)
        self._counts["signals_sent"] += 1
        sent = Say(control_message(pending.signal, self._rules.pipeline))
        return [*self.standing(pending.correlation_id), sent]

    def on_signal(self, message: ControlSignal, now_ns: int) -> list[Action]:
        """Count a signal that a member sent on, or the coordinator's own message that came back."""
        pending = self.pending
        if pending is None or not pending.arrive(message):
            return []
        self._counts["signals_completed"] += 1
        return [self._over(pending, TriggerState.COMPLETE, "", now_ns)]

    def on_failed(self, failed: Failed, now_ns: int) -> list[Action]:
        """Give up the pending signal if an operator that owes it is gone, or was restarted."""
        is_owed = self.pending is not None and self.pending.owes(failed.operator_id, has_left=failed.has_left)
        return self.give_up(failed.reason, now_ns) if is_owed else []

    def tick(self, now_ns: int) -> list[Action]:
        """Give up a signal that has taken as long as a checkpoint may."""
        pending = self.pending
        if pending is None or now_ns - pending.began_ns <= self._rules.checkpoint_timeout_ns:
            return []
        return self.give_up(f"timed out: {pending.standing}", now_ns)

    def give_up(self, reason: str, now_ns: int) -> list[Action]:
        """Give up the pending signal, if there is one."""
        if self.pending is None:
            return []
        self._counts["signals_aborted"] += 1
        return [self._over(self.pending, TriggerState.ABORTED, reason, now_ns)]

    def _over(self, pending: SignalRound, state: TriggerState, reason: str, now_ns: int) -> Say:
        self.pending = None
        given, duration_ns = pending.barrier_id, now_ns - pending.began_ns
        return Say(
            self._voice.progress(
                pending.correlation_id, state, checkpoint_id=given, duration_ns=duration_ns, reason=reason
            )
        )
