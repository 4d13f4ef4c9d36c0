# SPDX-License-Identifier: Apache-2.0
"""The operators of one pipeline as its coordinator sees them: they say hello, name the streams they cut, restart, fall
silent, and leave.

``Operators`` and ``IngressStreams`` know who is there. This class counts what they say, and reports what follows as
events in order: the coordinator announces, and aborts what a gone operator still owed.

>>> from framegate.joinbarrier.checkpoint.coordinator.actions import IssuedIds
>>> from framegate.schema.control import OperatorState
>>> members = Members(CoordinatorRules(pipeline="default", store="/data/ck"), Ids(IssuedIds(0, 1)), Counter())
>>> hello = OperatorHello(
...     instance_id=1, last_checkpoint_id=0, state=OperatorState.PRESENT, pipeline="default", operator_id="join"
... )
>>> members.on_hello(hello, now_ns=0), members.obstacle
([Joined()], '')
>>> [type(event).__name__ for event in members.fall_silent(heard_ns=3_000_000_001)], members.obstacle
(['Warn', 'Failed'], 'operators that are lost and may come back: join')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from framegate.joinbarrier.checkpoint.coordinator.actions import CoordinatorRules, Warn
from framegate.joinbarrier.checkpoint.coordinator.ids import ID_MAX, Ids
from framegate.joinbarrier.checkpoint.coordinator.ingress_round import IngressStreams
from framegate.joinbarrier.checkpoint.coordinator.operators import FORGET_TIMEOUTS, Change, Operators
from framegate.joinbarrier.checkpoint.operator.part import OPERATOR_ID
from framegate.schema.control import IngressHello, OperatorHello


@dataclass(frozen=True, slots=True)
class Joined:
    """An operator is there that has to be told the state of the pipeline."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An operator will never deliver what it owed."""

    operator_id: str
    what: str
    has_left: bool = False

    @property
    def reason(self) -> str:
        """Why the operator fails, for people."""
        return f"operator {self.operator_id} {self.what}"


Event: TypeAlias = Joined | Failed | Warn


class Members:
    """The operators that take part in one pipeline."""

    def __init__(self, rules: CoordinatorRules, ids: Ids, counts: Counter[str]) -> None:
        self.operators = Operators(timeout_ns=rules.operator_timeout_ns, limit=rules.operators_max)
        self._ingress = IngressStreams(rules.operators_max)
        self._rules = rules
        self._ids = ids
        self._counts = counts

    @property
    def present(self) -> list[str]:
        """The operators that the next checkpoint or signal involves, sorted."""
        return self.operators.present

    @property
    def obstacle(self) -> str:
        """Why nothing can begin with the present operators, for people; empty if it can."""
        if self.operators.lost:
            return f"operators that are lost and may come back: {', '.join(self.operators.lost)}"
        return "" if self.present else f"no operator takes part in pipeline {self._rules.pipeline}"

    def shared_by(self, operators: Iterable[str]) -> dict[int, tuple[str, ...]]:
        """The streams without barriers that at least two of these operators cut, and by whom."""
        return self._ingress.shared_by(operators)

    def expect(self, names: Iterable[str], now_ns: int) -> None:
        """Wait for the operators of the newest checkpoint. Checkpoints without them would in time replace those that
        can restore them.
        """
        self.operators.expect(names, now_ns)

    def on_hello(self, hello: OperatorHello, now_ns: int) -> list[Event]:
        """Take a hello: an operator is there, or leaves."""
        is_fit = hello.last_checkpoint_id <= ID_MAX
        change = self.operators.on_hello(hello, now_ns) if is_fit else Change.REFUSED
        if change is Change.REFUSED:
            self._counts["hellos_refused"] += 1
            return []
        self._ids.meet(hello.last_checkpoint_id)
        self._ingress.confirm(hello.operator_id, hello.instance_id)
        return self._events(change, hello.operator_id)

    def _events(self, change: Change, name: str) -> list[Event]:
        match change:
            case Change.JOINED | Change.BACK:
                self._counts[f"operators_{change.name.lower()}"] += 1
                return [Joined()]
            case Change.RESTARTED:
                self._counts["operators_restarted"] += 1
                return [Joined(), Failed(name, "started anew")]
            case Change.TWICE:
                self._counts["operators_restarted"] += 1
                self._counts["operators_twice"] += 1
                warning = Warn(f"two operators of pipeline {self._rules.pipeline} call themselves {name}")
                return [Joined(), warning, Failed(name, "started anew")]
            case Change.LEFT:
                self._ingress.forget(name)
                self._counts["operators_left"] += 1
                return [Failed(name, "left", has_left=True)]
        return []

    def on_ingress_hello(self, hello: IngressHello) -> None:
        """Note one of the streams that an operator cuts by itself."""
        known = [*self.operators.present, *self.operators.lost]
        is_fit = OPERATOR_ID.fullmatch(hello.operator_id) is not None
        if not is_fit or not self._ingress.declare(hello.operator_id, hello.instance_id, hello.stream_id, known):
            self._counts["hellos_refused"] += 1

    def fall_silent(self, heard_ns: int) -> list[Event]:
        """Find the operators that are lost from now on, and those that are given up. Every message up to ``heard_ns``
        was heard.
        """
        lost, forgotten = self.operators.fall_silent(heard_ns)
        silent = f"said nothing for {self._rules.operator_timeout_ms} ms"
        events: list[Event] = []
        for name in lost:
            self._counts["operators_lost"] += 1
            who = f"operator {name} of pipeline {self._rules.pipeline}"
            events += [Warn(f"{who} {silent}: no checkpoint without it"), Failed(name, silent)]
        waited_ms = self._rules.operator_timeout_ms * FORGET_TIMEOUTS
        for name in forgotten:
            self._ingress.forget(name)
            self._counts["operators_forgotten"] += 1
            events.append(Warn(f"operator {name} did not come back in {waited_ms} ms: checkpoints go on without it"))
        return events
