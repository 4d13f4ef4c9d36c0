# SPDX-License-Identifier: Apache-2.0
"""The operators that take part in a pipeline's checkpoints: they say hello, fall silent, and leave (PROTOCOL 12.5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from framegate.joinbarrier.checkpoint.operator.part import OPERATOR_ID
from framegate.schema.control import OperatorHello, OperatorState

FORGET_TIMEOUTS: Final = 20
"""After so many timeouts in silence a lost operator is given up; until then it may just be restarting."""


class Change(Enum):
    """What changed by a hello."""

    NONE = auto()
    JOINED = auto()
    BACK = auto()
    """The operator was lost, and is the same instance as before."""
    RESTARTED = auto()
    TWICE = auto()
    """Two live operators use the same id."""
    LEFT = auto()
    REFUSED = auto()


@dataclass(slots=True)
class Operator:
    """What is known of one operator."""

    instance_id: int | None
    """The operator's instance; None if only the previous coordinator heard it."""
    heard_ns: int
    is_lost: bool = False
    former_instance_id: int | None = None


class Operators:
    """The operators of one pipeline, by id."""

    def __init__(self, *, timeout_ns: int, limit: int) -> None:
        self._timeout_ns = timeout_ns
        self._limit = limit
        self._all: dict[str, Operator] = {}

    def __len__(self) -> int:
        """How many operators are known, lost ones included."""
        return len(self._all)

    @property
    def present(self) -> list[str]:
        """The operators that are heard, sorted."""
        return sorted(name for name, each in self._all.items() if not each.is_lost)

    @property
    def lost(self) -> list[str]:
        """The operators that fell silent and may come back, sorted."""
        return sorted(name for name, each in self._all.items() if each.is_lost)

    def expect(self, names: Iterable[str], now_ns: int) -> None:
        """Add the operators of the newest checkpoint as lost; each may come back until it is heard."""
        for name in names:
            if len(self._all) < self._limit and OPERATOR_ID.fullmatch(name):
                self._all.setdefault(name, Operator(None, now_ns, is_lost=True))

    def on_hello(self, hello: OperatorHello, now_ns: int) -> Change:
        """Take one hello of this pipeline."""
        known = self._all.get(hello.operator_id)
        if hello.state == OperatorState.LEAVING:
            if known is None or known.instance_id not in (None, hello.instance_id):
                return Change.NONE
            del self._all[hello.operator_id]
            return Change.LEFT
        if known is None:
            return self._join(hello, now_ns)
        known.heard_ns = now_ns
        was_lost, known.is_lost = known.is_lost, False
        if known.instance_id is None:
            known.instance_id = hello.instance_id
        if known.instance_id == hello.instance_id:
            return Change.BACK if was_lost else Change.NONE
        is_twice = hello.instance_id == known.former_instance_id
        known.former_instance_id, known.instance_id = known.instance_id, hello.instance_id
        return Change.TWICE if is_twice else Change.RESTARTED

    def _join(self, hello: OperatorHello, now_ns: int) -> Change:
        if len(self._all) >= self._limit or not OPERATOR_ID.fullmatch(hello.operator_id):
            return Change.REFUSED
        self._all[hello.operator_id] = Operator(hello.instance_id, now_ns)
        return Change.JOINED

    def fall_silent(self, heard_ns: int) -> tuple[list[str], list[str]]:
        """Find the operators that are lost from now on, and those that are given up. Every message up to ``heard_ns``
        was heard.
        """
        lost, forgotten = [], []
        for name, each in sorted(self._all.items()):
            silent_ns = heard_ns - each.heard_ns
            if silent_ns > self._timeout_ns and not each.is_lost:
                each.is_lost = True
                lost.append(name)
            if silent_ns > self._timeout_ns * FORGET_TIMEOUTS:
                del self._all[name]
                forgotten.append(name)
        return lost, forgotten
