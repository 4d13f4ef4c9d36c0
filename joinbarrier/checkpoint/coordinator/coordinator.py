# SPDX-License-Identifier: Apache-2.0
"""The coordinator of one pipeline: issues ids, asks for barriers, collects acknowledgements, and reports the outcome.

A pure state machine. Messages, results and ticks go in with the time; actions come out, to be carried out in order. It
knows no transport, no file and no clock (PROTOCOL 12.5). Its state lies in its parts, each in a file of its own. This
file decides which part an event is for, and what one part means for another.

>>> from framegate.schema.control import OperatorHello, OperatorState
>>> coordinator = Coordinator(CoordinatorRules(pipeline="default", store="/data/ck"), IssuedIds(11, 3))
>>> hello = OperatorHello(
...     instance_id=1, last_checkpoint_id=0, state=OperatorState.PRESENT, pipeline="default", operator_id="join"
... )
>>> [type(action.message).__name__ for action in coordinator.on_message(hello, now_ns=0)]
['PipelineAnnounce']
>>> coordinator.on_message(TriggerCheckpoint(correlation_id=7, flags=0, pipeline="default"), now_ns=3_000_000_000)
[Allocate(issued=IssuedIds(last_checkpoint_id=12, epoch=3))]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Action,
    Allocated,
    CoordinatorRules,
    IssuedIds,
    Predecessor,
    Result,
    Say,
    Warn,
)
from framegate.joinbarrier.checkpoint.coordinator.attempt import Attempt
from framegate.joinbarrier.checkpoint.coordinator.checkpoints import Checkpoints
from framegate.joinbarrier.checkpoint.coordinator.ids import Ids
from framegate.joinbarrier.checkpoint.coordinator.members import Event, Failed, Joined, Members
from framegate.joinbarrier.checkpoint.coordinator.messages import Voice, ascii_text
from framegate.joinbarrier.checkpoint.coordinator.operators import Operators
from framegate.joinbarrier.checkpoint.coordinator.requests import Requests
from framegate.joinbarrier.checkpoint.coordinator.schedule import Schedule
from framegate.joinbarrier.checkpoint.coordinator.signals import Signals
from framegate.schema import Message
from framegate.schema.control import (
    BarrierAck,
    CheckpointAborted,
    ControlSignal,
    IngressHello,
    IngressPlace,
    OperatorHello,
    PipelineAnnounce,
    TriggerCheckpoint,
    TriggerSignal,
)


class Coordinator:
    """All checkpoints of one pipeline in one run of its coordinator, whose epoch is ``issued.epoch``."""

    def __init__(self, rules: CoordinatorRules, issued: IssuedIds, predecessor: Predecessor | None = None) -> None:
        self.rules = rules
        self.epoch = issued.epoch
        self.counts = Counter[str]()
        """What was done, refused and aborted, by cause; all parts count here."""
        self.has_ended = False
        self._predecessor = predecessor
        self._is_rival_said = False
        self._voice = Voice(rules, issued.epoch)
        self._ids = Ids(issued)
        self._schedule = Schedule(rules)
        self._members = Members(rules, self._ids, self.counts)
        self._requests = Requests(rules, self._voice, self.counts)
        self._signals = Signals(rules, self._voice, self._ids, self._requests, self.counts)
        self._checkpoints = Checkpoints(rules, self._voice, self._ids, self._members, self._requests, self.counts)

    @property
    def last_checkpoint_id(self) -> int:
        """The highest id that anybody was told."""
        return self._ids.stored

    @property
    def is_idle(self) -> bool:
        """Whether no checkpoint is under way, so that ending now leaves nothing open."""
        return self.attempt is None

    @property
    def attempt(self) -> Attempt | None:
        """The checkpoint under way."""
        return self._checkpoints.attempt

    @property
    def operators(self) -> Operators:
        """The operators that take part."""
        return self._members.operators

    # --- events -------------------------------------------------------------------------------------------

    def start(self, now_ns: int) -> list[Action]:
        """Announce the pipeline, and what became of the previous coordinator's newest checkpoint."""
        self._schedule.look(now_ns)
        actions: list[Action] = [self._announce(now_ns)]
        if self._predecessor is not None:
            self._members.expect(self._predecessor.operators, now_ns)
            actions.append(Say(self._voice.outcome_of(self._predecessor)))
        return actions

    def on_message(self, message: Message, now_ns: int) -> list[Action]:
        """Take one message of this pipeline. Messages that are not for a coordinator are ignored."""
        self._schedule.look(now_ns)
        if self.has_ended:
            return []
        match message:
            case OperatorHello():
                return self._on_events(self._members.on_hello(message, now_ns), now_ns)
            case IngressHello():
                self._members.on_ingress_hello(message)
            case IngressPlace():
                return self._checkpoints.on_place(message, now_ns)
            case BarrierAck():
                return self._checkpoints.on_ack(message, now_ns)
            case CheckpointAborted():
                return self._checkpoints.on_aborted(message, now_ns)
            case TriggerCheckpoint() | TriggerSignal():
                return self._on_trigger(message, now_ns)
            case ControlSignal():
                return self._signals.on_signal(message, now_ns)
            case PipelineAnnounce():
                return self._on_announce(message)
        return []

    def on_result(self, result: Result, now_ns: int) -> list[Action]:
        """Take the result of an ``Allocate`` or a ``Finish``."""
        signal = self._signals.awaiting(result)
        if signal is not None:
            return self._signals.on_result(signal, result, self._members.present)
        attempt = self._checkpoints.awaiting(result)
        if attempt is None:
            return []
        actions = self._checkpoints.on_result(attempt, result, now_ns)
        # Before the first message about a checkpoint, everybody hears that it is under way. A checkpoint that was
        # aborted meanwhile is over.
        has_begun = isinstance(result, Allocated) and not self.is_idle
        return [self._announce(now_ns), *actions] if has_begun else actions

    def tick(self, now_ns: int, heard_ns: int | None = None) -> list[Action]:
        """Do what is due by time. Every message up to ``heard_ns`` was heard; None means up to now."""
        self._schedule.look(now_ns)
        if self.has_ended:
            return []
        actions: list[Action] = []
        if self._schedule.is_announce_due(now_ns):
            actions.append(self._announce(now_ns, is_periodic=True))
        actions += self._on_events(self._members.fall_silent(now_ns if heard_ns is None else heard_ns), now_ns)
        actions += self._signals.tick(now_ns)
        actions += self._checkpoints.tick(now_ns)
        if self.is_idle:
            actions += self._signals.begin()
            actions += self._begin_what_is_due(now_ns)
        return actions

    def shutdown(self, now_ns: int) -> list[Action]:
        """Abort what can be aborted. A checkpoint whose manifest is being written is left to the store."""
        if self.has_ended:
            return []
        self.has_ended = True
        return [
            *self._requests.refuse_waiting("COORDINATOR: the driver is ending"),
            *self._signals.give_up("the driver is ending", now_ns),
            *self._checkpoints.shutdown(now_ns),
        ]

    # --- what one part means for another ------------------------------------------------------------------

    def _on_events(self, events: Iterable[Event], now_ns: int) -> list[Action]:
        """Carry out what follows from changes of the operators: the gone ones fail what they owe, and new ones are told
        the state of the pipeline.
        """
        actions: list[Action] = []
        for event in events:
            match event:
                case Joined():
                    actions.append(self._announce(now_ns))
                case Failed():
                    actions += self._signals.on_failed(event, now_ns)
                    actions += self._checkpoints.on_failed(event, now_ns)
                case Warn():
                    actions.append(event)
        return actions

    def _on_trigger(self, request: TriggerCheckpoint | TriggerSignal, now_ns: int) -> list[Action]:
        asked: Requests | Signals = self._requests if isinstance(request, TriggerCheckpoint) else self._signals
        if standing := asked.standing(request.correlation_id):
            # The requester asks again because it has not heard the answer yet.
            return standing
        if not self._schedule.is_settled(now_ns):
            # The first requests that a subscription hears may be old ones that killed coordinators left, long answered;
            # and not all operators are known yet. Whoever still waits asks again.
            self.counts["requests_early"] += 1
            return []
        if isinstance(request, TriggerCheckpoint):
            answer = self._requests.ask(request)
        else:
            answer = self._signals.ask(request, now_ns, obstacle=self._obstacle())
        if answer:
            return answer
        if not self.is_idle:
            # After a restart, the outcome of the newest id is reported. While that id is a checkpoint's, none must
            # follow.
            return asked.standing(request.correlation_id)
        return self._signals.begin() if asked is self._signals else self._begin_what_is_due(now_ns)

    def _begin_what_is_due(self, now_ns: int) -> list[Action]:
        """Begin a checkpoint if a request waits for one, or if the interval has passed."""
        is_due = self._requests.are_waiting or self._schedule.is_due(now_ns)
        if not is_due or not self._schedule.is_settled(now_ns):
            return []
        self._schedule.begins(now_ns)
        if obstacle := self._obstacle():
            self.counts["not_begun"] += 1
            return self._requests.refuse_waiting(obstacle)
        return self._checkpoints.begin(now_ns)

    def _obstacle(self) -> str:
        return self._members.obstacle or ("the ids are used up" if self._ids.are_used_up else "")

    # --- announcing ---------------------------------------------------------------------------------------

    def _announce(self, now_ns: int, *, is_periodic: bool = False) -> Say:
        self._schedule.announces(now_ns)
        return Say(self._checkpoints.announce(), is_periodic)

    def _on_announce(self, announce: PipelineAnnounce) -> list[Action]:
        """Take an announce of this pipeline. The coordinator's own come back to it; any other means that there is a
        second coordinator.
        """
        if (announce.epoch, announce.store) == (self.epoch, self._voice.store):
            return []
        self.counts["other_coordinators"] += 1
        if self._is_rival_said:
            return []
        self._is_rival_said = True
        found = f"epoch {announce.epoch}, store {ascii_text(announce.store)}"
        return [Warn(f"another coordinator announces pipeline {self.rules.pipeline}: {found}")]
