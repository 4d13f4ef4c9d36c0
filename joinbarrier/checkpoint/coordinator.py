# SPDX-License-Identifier: Apache-2.0
"""The coordinator of one pipeline: gives ids out, asks for barriers, hears who is done, says what came of it.

A pure state machine. Messages, results and ticks go in with the time; actions come out, to be carried out in their
order. It knows no transport, no file and no clock (PROTOCOL 12.5).

>>> from framegate.schema.control import OperatorHello, OperatorState
>>> coordinator = Coordinator(CoordinatorRules(pipeline="default", store="/data/ck"), GivenOut(11, 3))
>>> hello = OperatorHello(
...     instance_id=1, last_checkpoint_id=0, state=OperatorState.PRESENT, pipeline="default", operator_id="join"
... )
>>> [type(action.message).__name__ for action in coordinator.on_message(hello, now_ns=0)]
['PipelineAnnounce']
>>> coordinator.on_message(TriggerCheckpoint(correlation_id=7, flags=0, pipeline="default"), now_ns=3_000_000_000)
[Allocate(given_out=GivenOut(last_checkpoint_id=12, epoch=3))]
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from framegate.joinbarrier.checkpoint.attempt import Attempt, Phase
from framegate.joinbarrier.checkpoint.coordinator_actions import (
    UNALIGNED,
    Action,
    Allocate,
    Allocated,
    AllocationFailed,
    CoordinatorRules,
    Finish,
    GivenOut,
    Predecessor,
    Result,
    Say,
    Stored,
    StoreProblem,
    Warn,
)
from framegate.joinbarrier.checkpoint.coordinator_messages import Voice, ascii_text, cause_of
from framegate.joinbarrier.checkpoint.ingress_round import IngressRound, IngressStreams
from framegate.joinbarrier.checkpoint.operators import FORGET_TIMEOUTS, OPERATOR_ID, Change, Operators
from framegate.joinbarrier.checkpoint.signal_messages import control_message
from framegate.joinbarrier.checkpoint.signal_round import SignalRound, asked_instant
from framegate.schema import Message
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    ControlSignal,
    IngressHello,
    IngressPlace,
    OperatorHello,
    PipelineAnnounce,
    TriggerCheckpoint,
    TriggerSignal,
    TriggerState,
)

ID_MAX: Final = (1 << 63) - 1
"""Whoever claims to have met a higher one is mistaken: no coordinator comes that far."""
UNALIGNED_IN_A_ROW: Final = 5
"""So many checkpoints that the threshold made unaligned mean that it is too low, or an input too slow (B24)."""
INJECT_AGAIN_NS: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
SOURCE: Final = "source-"
_ALIGNED_NEXT: Final = (AbortCause.SERIALISATION_FAILED, AbortCause.CHANNEL_READ_FAILED)


class Coordinator:
    """All checkpoints of one pipeline in one life of its coordinator. ``given_out.epoch`` is this life's own."""

    def __init__(self, rules: CoordinatorRules, given_out: GivenOut, predecessor: Predecessor | None = None) -> None:
        self.rules = rules
        self.epoch = given_out.epoch
        self.counts = Counter[str]()
        self.operators = Operators(timeout_ns=rules.operator_timeout_ns, limit=rules.operators_max)
        self.ingress = IngressStreams(rules.operators_max)
        self.attempt: Attempt | None = None
        self.signal: SignalRound | None = None
        """The signal that is pending on the control channel."""
        self.has_ended = False
        self._voice = Voice(rules, given_out.epoch)
        self._predecessor = predecessor
        self._last_id = given_out.last_checkpoint_id
        self._lasting_id = given_out.last_checkpoint_id
        self._settled_ns: int | None = None
        self._due_ns = 0
        self._announce_ns = 0
        self._waiting: list[int] = []
        self._is_waiting_unaligned = False
        self._is_aligned_next = False
        self._unaligned_in_a_row = 0
        self._is_rival_said = False

    @property
    def last_checkpoint_id(self) -> int:
        """The highest id that anybody was told of."""
        return self._lasting_id

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, so that an end leaves nothing open."""
        return self.attempt is None

    # --- events -------------------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[Action]:
        """Say what holds, and what became of the last checkpoint of the life before this one."""
        self._settle(now_ns)
        actions: list[Action] = [self._announce(now_ns)]
        if self._predecessor is not None:
            # A checkpoint without them would in time replace those that bring them back.
            self.operators.expect(self._predecessor.operators, now_ns)
            actions.append(Say(self._voice.outcome_of(self._predecessor)))
        return actions

    def on_message(self, message: Message, now_ns: int) -> list[Action]:
        """One message of this pipeline. What is not for a coordinator is ignored."""
        self._settle(now_ns)
        if self.has_ended:
            return []
        match message:
            case OperatorHello():
                return self._on_hello(message, now_ns)
            case IngressHello() | IngressPlace():
                return self._on_ingress(message, now_ns)
            case BarrierAck():
                return self._on_ack(message, now_ns)
            case TriggerCheckpoint():
                return self._on_trigger(message, now_ns)
            case CheckpointAborted():
                return self._on_aborted(message, now_ns)
            case PipelineAnnounce():
                return self._on_announce(message)
            case TriggerSignal():
                return self._on_trigger_signal(message, now_ns)
            case ControlSignal():
                return self._on_signal(message, now_ns)
        return []

    def on_result(self, result: Result, now_ns: int) -> list[Action]:
        """What became of an ``Allocate`` or a ``Finish``."""
        signal = self.signal
        if signal is not None and not signal.is_sent and signal.barrier_id == result.checkpoint_id > 0:
            return self._on_signal_allocated(signal, result)
        attempt = self.attempt
        if attempt is None or attempt.checkpoint_id != result.checkpoint_id:
            return []
        match result:
            case Allocated():
                return self._on_allocated(attempt, now_ns)
            case AllocationFailed():
                self.attempt = None
                self.counts["ids_not_stored"] += 1
                refusals = self._refuse(attempt.requests, f"STORE_FAILED: {result.reason}")
                warning = Warn(f"checkpoint {attempt.checkpoint_id} was not begun: {result.reason}")
                return [warning, *refusals]
            case Stored():
                return self._on_stored(attempt, result, now_ns)
            case StoreProblem():
                return self._abort(attempt, result.cause, result.reason, now_ns)

    def tick(self, now_ns: int, heard_ns: int | None = None) -> list[Action]:
        """What time alone brings about. All messages until ``heard_ns`` were heard, if that is not now."""
        self._settle(now_ns)
        if self.has_ended:
            return []
        actions: list[Action] = []
        if now_ns >= self._announce_ns:
            actions.append(self._announce(now_ns, is_periodic=True))
        actions += self._miss_operators(now_ns if heard_ns is None else heard_ns, now_ns)
        if self.signal is not None and now_ns - self.signal.began_ns > self.rules.checkpoint_timeout_ns:
            actions += self._signal_fails(self.signal, f"timed out: {self.signal.standing}", now_ns)
        if self.attempt is not None:
            actions += self._look_after(self.attempt, now_ns)
        if self.attempt is None and self.signal is not None and not self.signal.barrier_id:
            actions += self._begin_signal(self.signal)
        if self.attempt is None:
            actions += self._begin_what_is_due(now_ns)
        return actions

    def shutdown(self, now_ns: int) -> list[Action]:
        """Give up what can be given up. A manifest that is being written decides for itself."""
        if self.has_ended:
            return []
        actions = self._refuse(self._take_waiting(), "COORDINATOR: the driver is ending")
        if self.signal is not None:
            actions += self._signal_fails(self.signal, "the driver is ending", now_ns)
        self.has_ended = True
        attempt = self.attempt
        if attempt is not None and attempt.is_told:
            actions += self._abort(attempt, AbortCause.COORDINATOR, "the driver is ending", now_ns)
        elif attempt is not None and attempt.phase is Phase.ALLOCATING:
            attempt.doom = AbortCause.COORDINATOR, "the driver is ending"
        return actions

    # --- operators ----------------------------------------------------------------------------------------

    def _on_hello(self, hello: OperatorHello, now_ns: int) -> list[Action]:
        if hello.last_checkpoint_id > ID_MAX:
            self.counts["hellos_refused"] += 1
            return []
        change = self.operators.on_hello(hello, now_ns)
        if change is not Change.REFUSED:
            # Its aligners ignore what they take for old: no id at or below what it has met is of any use.
            self._last_id = max(self._last_id, hello.last_checkpoint_id)
            self.ingress.confirm(hello.operator_id, hello.instance_id)
        name = hello.operator_id
        match change:
            case Change.REFUSED:
                self.counts["hellos_refused"] += 1
            case Change.JOINED | Change.BACK:
                self.counts[f"operators_{change.name.lower()}"] += 1
                return [self._announce(now_ns)]
            case Change.RESTARTED | Change.TWICE:
                return [self._announce(now_ns), *self._restarted(name, now_ns, is_twice=change is Change.TWICE)]
            case Change.LEFT:
                self.ingress.forget(name)
                self.counts["operators_left"] += 1
                return self._operator_fails(name, "left", now_ns, has_left=True)
        return []

    def _restarted(self, name: str, now_ns: int, *, is_twice: bool) -> list[Action]:
        self.counts["operators_restarted"] += 1
        actions: list[Action] = []
        if is_twice:
            self.counts["operators_twice"] += 1
            actions.append(Warn(f"two operators of pipeline {self.rules.pipeline} call themselves {name}"))
        return [*actions, *self._operator_fails(name, "started anew", now_ns)]

    def _operator_fails(self, name: str, what: str, now_ns: int, *, has_left: bool = False) -> list[Action]:
        actions: list[Action] = []
        if self.signal is not None and self.signal.owes(name, has_left=has_left):
            actions += self._signal_fails(self.signal, f"operator {name} {what}", now_ns)
        attempt = self.attempt
        if attempt is None or not attempt.owes(name):
            return actions
        return [*actions, *self._abort(attempt, AbortCause.OPERATOR_FAILED, f"operator {name} {what}", now_ns)]

    def _miss_operators(self, heard_ns: int, now_ns: int) -> list[Action]:
        lost, forgotten = self.operators.fall_silent(heard_ns)
        silent = f"said nothing for {self.rules.operator_timeout_ms} ms"
        actions: list[Action] = []
        for name in lost:
            self.counts["operators_lost"] += 1
            actions.append(
                Warn(f"operator {name} of pipeline {self.rules.pipeline} {silent}: no checkpoint without it")
            )
            actions += self._operator_fails(name, silent, now_ns)
        for name in forgotten:
            self.ingress.forget(name)
            self.counts["operators_forgotten"] += 1
            waited_ms = self.rules.operator_timeout_ms * FORGET_TIMEOUTS
            actions.append(Warn(f"operator {name} did not come back in {waited_ms} ms: checkpoints go on without it"))
        return actions

    def _on_announce(self, announce: PipelineAnnounce) -> list[Action]:
        """Ours comes back to us; one that says anything else comes from a coordinator too many."""
        if (announce.epoch, announce.store) == (self.epoch, self._voice.store):
            return []
        self.counts["other_coordinators"] += 1
        if self._is_rival_said:
            return []
        self._is_rival_said = True
        found = f"epoch {announce.epoch}, store {ascii_text(announce.store)}"
        return [Warn(f"another coordinator announces pipeline {self.rules.pipeline}: {found}")]

    # --- asking for one -----------------------------------------------------------------------------------

    def _on_trigger(self, request: TriggerCheckpoint, now_ns: int) -> list[Action]:
        is_unaligned = bool(request.flags & UNALIGNED)
        asked = (request.correlation_id,)
        if self._is_known(request.correlation_id):
            # Asked again by who did not hear the answer yet.
            return [self._stands(request.correlation_id)]
        if not self._is_settled(now_ns):
            # The first that a subscription hears may be what killed coordinators left unheard, long answered. Whoever
            # still waits asks again.
            self.counts["requests_early"] += 1
            return []
        self.counts["requests"] += 1
        if is_unaligned and not self.rules.is_unaligned_allowed:
            return self._refuse(asked, f"unaligned checkpoints are off (checkpoint.{self.rules.pipeline}.unaligned)")
        if len(self._waiting) >= self.rules.requests_max:
            return self._refuse(asked, f"{self.rules.requests_max} requests wait already")
        self._waiting.append(request.correlation_id)
        self._is_waiting_unaligned |= is_unaligned
        if self.attempt is None:
            return self._begin_what_is_due(now_ns)
        return [self._stands(request.correlation_id)]

    def _is_known(self, correlation_id: int) -> bool:
        return correlation_id in self._waiting or (self.attempt is not None and correlation_id in self.attempt.requests)

    def _stands(self, correlation_id: int) -> Say:
        """How it stands with a request that is neither refused nor over."""
        attempt = self.attempt
        if attempt is None or attempt.phase is Phase.ALLOCATING or correlation_id not in attempt.requests:
            return Say(self._voice.progress(correlation_id, TriggerState.WAITING))
        return Say(self._voice.progress(correlation_id, TriggerState.STARTED, checkpoint_id=attempt.checkpoint_id))

    def _refuse(self, requests: tuple[int, ...], reason: str) -> list[Action]:
        self.counts["requests_refused"] += len(requests)
        return [Say(self._voice.progress(each, TriggerState.REFUSED, reason=reason)) for each in requests]

    def _take_waiting(self) -> tuple[int, ...]:
        taken = tuple(self._waiting)
        self._waiting.clear()
        return taken

    # --- signals on the control channel -------------------------------------------------------------------

    def _on_trigger_signal(self, request: TriggerSignal, now_ns: int) -> list[Action]:
        pending = self.signal
        if pending is not None and pending.correlation_id == request.correlation_id:
            return [self._signal_stands(pending)]
        if not self._is_settled(now_ns):
            # As for checkpoints: who sends it on is not known yet, and whoever still waits asks again.
            self.counts["requests_early"] += 1
            return []
        self.counts["signal_requests"] += 1
        asked = (request.correlation_id,)
        if pending is not None:
            return self._refuse(asked, f"{pending.signal} is pending: {pending.standing}")
        instant = asked_instant(request)
        if instant is not None:
            done = self._voice.progress(request.correlation_id, TriggerState.COMPLETE)
            return [Say(control_message(instant, self.rules.pipeline)), Say(done)]
        if obstacle := self._obstacle():
            return self._refuse(asked, obstacle)
        self.signal = SignalRound(request.kind, request.correlation_id, now_ns)
        # What became of the last id is told after a restart: while that is a checkpoint's, none follows.
        return self._begin_signal(self.signal) if self.attempt is None else [self._signal_stands(self.signal)]

    def _begin_signal(self, signal: SignalRound) -> list[Action]:
        self._last_id += 1
        signal.barrier_id = self._last_id
        return [Allocate(GivenOut(self._last_id, self.epoch))]

    def _on_signal_allocated(self, signal: SignalRound, result: Result) -> list[Action]:
        if not isinstance(result, Allocated):
            self.signal = None
            self.counts["ids_not_stored"] += 1
            return self._refuse((signal.correlation_id,), "STORE_FAILED: its id does not last")
        self._lasting_id = max(self._lasting_id, signal.barrier_id)
        signal.send(self.operators.present)
        self.counts["signals_sent"] += 1
        return [self._signal_stands(signal), Say(control_message(signal.signal, self.rules.pipeline))]

    def _signal_stands(self, signal: SignalRound) -> Say:
        state = TriggerState.STARTED if signal.is_sent else TriggerState.WAITING
        given = signal.barrier_id if signal.is_sent else 0
        return Say(self._voice.progress(signal.correlation_id, state, checkpoint_id=given))

    def _on_signal(self, message: ControlSignal, now_ns: int) -> list[Action]:
        signal = self.signal
        if signal is None or not signal.arrive(message):
            return []
        self.signal = None
        self.counts["signals_completed"] += 1
        return [self._signal_is_over(signal, TriggerState.COMPLETE, "", now_ns)]

    def _signal_fails(self, signal: SignalRound, reason: str, now_ns: int) -> list[Action]:
        self.signal = None
        self.counts["signals_aborted"] += 1
        return [self._signal_is_over(signal, TriggerState.ABORTED, reason, now_ns)]

    def _signal_is_over(self, signal: SignalRound, state: TriggerState, reason: str, now_ns: int) -> Say:
        duration_ns = now_ns - signal.began_ns
        given, correlation_id = signal.barrier_id, signal.correlation_id
        return Say(
            self._voice.progress(correlation_id, state, checkpoint_id=given, duration_ns=duration_ns, reason=reason)
        )

    # --- one checkpoint -----------------------------------------------------------------------------------

    def _begin_what_is_due(self, now_ns: int) -> list[Action]:
        is_periodic = bool(self.rules.interval_ns) and now_ns >= self._due_ns
        if self.has_ended or not self._is_settled(now_ns) or not (self._waiting or is_periodic):
            return []
        # From now, not from when it was due: missed intervals give one checkpoint.
        self._due_ns = now_ns + self.rules.interval_ns
        requests, is_asked_unaligned = self._take_waiting(), self._is_waiting_unaligned
        self._is_waiting_unaligned = False
        if obstacle := self._obstacle():
            self.counts["not_begun"] += 1
            return self._refuse(requests, obstacle)
        is_unaligned = (is_asked_unaligned or self.rules.is_forced) and self.rules.is_unaligned_allowed
        self._last_id += 1
        self.attempt = Attempt(
            self._last_id,
            self.operators.present,
            requests,
            now_ns,
            is_unaligned=is_unaligned and not self._is_aligned_next,
        )
        self.counts["begun"] += 1
        return [Allocate(GivenOut(self._last_id, self.epoch))]

    def _obstacle(self) -> str:
        if self.operators.lost:
            return f"operators that are lost and may come back: {', '.join(self.operators.lost)}"
        if not self.operators.present:
            return f"no operator takes part in pipeline {self.rules.pipeline}"
        return "the ids are used up" if self._last_id >= ID_MAX else ""

    def _on_allocated(self, attempt: Attempt, now_ns: int) -> list[Action]:
        self._lasting_id = attempt.checkpoint_id
        if attempt.doom is not None:
            return self._abort(attempt, *attempt.doom, now_ns)
        attempt.ingress = IngressRound(self.ingress.shared_by(attempt.operators))
        attempt.placed_by_ns = now_ns + self.rules.place_timeout_ms * NS_PER_MS
        attempt.phase = Phase.PLACING if attempt.ingress.streams else Phase.GATHERING
        started = [self._stands(each) for each in attempt.requests]
        return [self._announce(now_ns), *started, *self._ask(attempt, now_ns)]

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

    def _on_ingress(self, message: IngressHello | IngressPlace, now_ns: int) -> list[Action]:
        if isinstance(message, IngressPlace):
            return self._on_ingress_place(message, now_ns)
        known = [*self.operators.present, *self.operators.lost]
        is_fit = OPERATOR_ID.fullmatch(message.operator_id) is not None
        if not is_fit or not self.ingress.declare(message.operator_id, message.instance_id, message.stream_id, known):
            self.counts["hellos_refused"] += 1
        return []

    def _on_ingress_place(self, said: IngressPlace, now_ns: int) -> list[Action]:
        attempt = self.attempt
        is_current = attempt is not None and (said.checkpoint_id, said.epoch) == (attempt.checkpoint_id, self.epoch)
        if attempt is None or not is_current or attempt.phase is not Phase.PLACING:
            self.counts["places_ignored"] += 1
            return []
        self.counts["places"] += 1
        if apart := attempt.ingress.say(said.operator_id, said.stream_id, (said.source_epoch, said.after_seq)):
            return self._abort(attempt, AbortCause.INPUT_EPOCH_CHANGED, apart, now_ns)
        if not attempt.ingress.is_known:
            return []
        attempt.phase = Phase.GATHERING
        return self._ask(attempt, now_ns)

    def _on_ack(self, ack: BarrierAck, now_ns: int) -> list[Action]:
        attempt = self.attempt
        is_current = attempt is not None and (ack.checkpoint_id, ack.epoch) == (attempt.checkpoint_id, self.epoch)
        if attempt is None or not is_current or not attempt.is_told:
            self.counts["acks_ignored"] += 1
            return []
        is_source = ack.operator_id.startswith(SOURCE) and ack.operator_id not in attempt
        if ack.status == AckStatus.FAILED and (is_source or ack.operator_id in attempt):
            otherwise = AbortCause.INJECTION_FAILED if is_source else AbortCause.OPERATOR_FAILED
            cause, text = cause_of(ack.reason, otherwise)
            return self._abort(attempt, cause, f"{ack.operator_id}: {text or 'no reason given'}", now_ns)
        if ack.operator_id not in attempt or not attempt.acknowledge(ack.operator_id, ack.status, ack.bytes):
            self.counts["acks_ignored"] += 1
            return []
        self.counts["acks"] += 1
        return self._finish(attempt) if attempt.is_acknowledged else []

    def _finish(self, attempt: Attempt) -> list[Action]:
        attempt.phase = Phase.STORING
        return [
            Finish(
                checkpoint_id=attempt.checkpoint_id,
                epoch=self.epoch,
                is_asked_unaligned=attempt.is_unaligned,
                acknowledged=attempt.acknowledged,
            )
        ]

    def _on_stored(self, attempt: Attempt, stored: Stored, now_ns: int) -> list[Action]:
        self.attempt = None
        self._is_aligned_next = False
        self.counts["completed"] += 1
        self.counts["completed_unaligned"] += stored.is_unaligned
        self.counts["bytes"] += stored.size_bytes
        self.counts["pruned"] += stored.pruned
        duration_ns = now_ns - attempt.began_ns
        said = [
            Say(
                self._voice.progress(
                    each,
                    TriggerState.COMPLETE,
                    checkpoint_id=attempt.checkpoint_id,
                    duration_ns=duration_ns,
                    stored_bytes=stored.size_bytes,
                )
            )
            for each in attempt.requests
        ]
        complete = Say(self._voice.complete(attempt.checkpoint_id))
        return [*said, complete, *self._count_unaligned(stored)]

    def _count_unaligned(self, stored: Stored) -> list[Action]:
        """One that was asked for says nothing about the threshold."""
        if stored.was_threshold_triggered:
            self._unaligned_in_a_row += 1
        elif not stored.is_unaligned:
            self._unaligned_in_a_row = 0
        if not stored.was_threshold_triggered or self._unaligned_in_a_row % UNALIGNED_IN_A_ROW:
            return []
        self.counts["unaligned_warnings"] += 1
        many = f"{self._unaligned_in_a_row} checkpoints of pipeline {self.rules.pipeline} in a row"
        key = f"checkpoint.{self.rules.pipeline}.alignment_timeout_ms = {self.rules.alignment_timeout_ms}"
        return [Warn(f"{many} became unaligned: an input is slow, or the threshold {key} is too low")]

    def _on_aborted(self, aborted: CheckpointAborted, now_ns: int) -> list[Action]:
        """Somebody else gives up what is under way. Our own words come by here too, when it is over."""
        attempt = self.attempt
        named = (aborted.checkpoint_id, aborted.epoch)
        if attempt is None or not attempt.is_told or named != (attempt.checkpoint_id, self.epoch):
            return []
        return self._abort(attempt, aborted.cause, aborted.reason, now_ns)

    def _look_after(self, attempt: Attempt, now_ns: int) -> list[Action]:
        elapsed_ns = now_ns - attempt.began_ns
        if attempt.phase is Phase.PLACING and now_ns > attempt.placed_by_ns:
            waited = f"within {self.rules.place_timeout_ms} ms these have not said where they stand"
            return self._abort(attempt, AbortCause.TIMEOUT, f"{waited}: {attempt.ingress.owed()}", now_ns)
        if elapsed_ns > self.rules.checkpoint_timeout_ns:
            waited = f"after {elapsed_ns // NS_PER_MS} ms"
            if attempt.phase is Phase.GATHERING:
                return self._abort(attempt, AbortCause.TIMEOUT, f"{waited} these owe: {attempt.owed()}", now_ns)
            if not attempt.is_late_said:
                # What the store does may still come to a good end: nothing can be said about it before it answers.
                attempt.is_late_said = True
                return [Warn(f"checkpoint {attempt.checkpoint_id} waits for its store {waited}: {self.rules.store}")]
        if attempt.is_told and not attempt.has_all_snapshots and now_ns >= attempt.inject_again_ns:
            self.counts["injected_again"] += 1
            return self._ask(attempt, now_ns)
        return []

    def _abort(self, attempt: Attempt, cause: AbortCause, reason: str, now_ns: int) -> list[Action]:
        """The one place where a checkpoint is given up, so that it is said once."""
        reason = ascii_text(reason)
        if attempt.phase is Phase.ALLOCATING and attempt.checkpoint_id > self._lasting_id:
            attempt.doom = cause, reason
            return []
        self.attempt = None
        self._is_aligned_next = cause in _ALIGNED_NEXT
        self.counts["aborted"] += 1
        self.counts[f"aborted_{cause.name.lower()}"] += 1
        said = [
            Say(
                self._voice.progress(
                    each,
                    TriggerState.ABORTED,
                    checkpoint_id=attempt.checkpoint_id,
                    duration_ns=now_ns - attempt.began_ns,
                    reason=f"{cause.name}: {reason}",
                )
            )
            for each in attempt.requests
        ]
        warning = Warn(f"checkpoint {attempt.checkpoint_id} of pipeline {self.rules.pipeline}: {cause.name}: {reason}")
        return [warning, *said, Say(self._voice.aborted(attempt.checkpoint_id, cause, reason))]

    # --- time ---------------------------------------------------------------------------------------------

    def _settle(self, now_ns: int) -> None:
        """Before all operators had time to say hello, a checkpoint would miss some of them."""
        if self._settled_ns is None:
            self._settled_ns = now_ns + self.rules.operator_timeout_ns
            self._due_ns = now_ns + self.rules.interval_ns

    def _is_settled(self, now_ns: int) -> bool:
        return self._settled_ns is not None and now_ns >= self._settled_ns

    def _announce(self, now_ns: int, *, is_periodic: bool = False) -> Say:
        self._announce_ns = now_ns + self.rules.announce_period_ns
        is_told = self.attempt is not None and self.attempt.checkpoint_id <= self._lasting_id
        current = self.attempt.checkpoint_id if self.attempt is not None and is_told else 0
        message = self._voice.announce(self._lasting_id, current, is_aligned_only=self._is_aligned_next)
        return Say(message, is_periodic)
