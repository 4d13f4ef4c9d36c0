# SPDX-License-Identifier: Apache-2.0
"""The operators' side of a coordinator: they say hello and which streams they cut, start anew, fall silent, leave.

``Operators`` and ``IngressStreams`` know who is there. This counts what they say, and tells what follows from it for
the pipeline as events in their order: the coordinator announces, and gives up what somebody owed who is gone.

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
    """Somebody is there who has to be told what holds."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What this operator owed is owed for ever."""

    operator_id: str
    what: str
    has_left: bool = False

    @property
    def reason(self) -> str:
        """For people."""
        return f"operator {self.operator_id} {self.what}"


Event: TypeAlias = Joined | Failed | Warn


class Members:
    """Who takes part in one pipeline."""

    def __init__(self, rules: CoordinatorRules, ids: Ids, counts: Counter[str]) -> None:
        self.operators = Operators(timeout_ns=rules.operator_timeout_ns, limit=rules.operators_max)
        self._ingress = IngressStreams(rules.operators_max)
        self._rules = rules
        self._ids = ids
        self._counts = counts

    @property
    def present(self) -> list[str]:
        """Those that the next checkpoint or signal asks, sorted."""
        return self.operators.present

    @property
    def obstacle(self) -> str:
        """Why nothing can begin with those who are there, for people; empty: it can."""
        if self.operators.lost:
            return f"operators that are lost and may come back: {', '.join(self.operators.lost)}"
        return "" if self.present else f"no operator takes part in pipeline {self._rules.pipeline}"

    def shared_by(self, operators: Iterable[str]) -> dict[int, tuple[str, ...]]:
        """Streams without barriers that at least two of these cut, and who they are."""
        return self._ingress.shared_by(operators)

    def expect(self, names: Iterable[str], now_ns: int) -> None:
        """These had a part in the newest checkpoint: one without them would in time replace those that bring them
        back."""
        self.operators.expect(names, now_ns)

    def on_hello(self, hello: OperatorHello, now_ns: int) -> list[Event]:
        """Somebody is there, or says farewell."""
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
        """Somebody says one of the streams that it cuts by itself."""
        known = [*self.operators.present, *self.operators.lost]
        is_fit = OPERATOR_ID.fullmatch(hello.operator_id) is not None
        if not is_fit or not self._ingress.declare(hello.operator_id, hello.instance_id, hello.stream_id, known):
            self._counts["hellos_refused"] += 1

    def fall_silent(self, heard_ns: int) -> list[Event]:
        """Those that are lost from now on, and those that are given up. All messages until ``heard_ns`` were heard."""
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
