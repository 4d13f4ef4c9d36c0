# SPDX-License-Identifier: Apache-2.0
"""One signal on the control channel of a pipeline: sent by its coordinator, sent on by every operator, and over when
all have (PROTOCOL 12.6).

Pure. The coordinator is the head, which gives the id, and the collector behind all sinks, which counts what they sent
on. Messages carry no sender, so it counts: one arrival from each operator, and its own, which it hears as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from framegate.joinbarrier.checkpoint.signal_aligner import SignalAligner
from framegate.joinbarrier.checkpoint.signals import KINDS, BarrierSignal, InstantSignal
from framegate.schema.control import ControlSignal, SignalCategory, SignalKind, TriggerSignal


@dataclass(slots=True)
class SignalRound:
    """The signal that is pending."""

    kind: SignalKind
    correlation_id: int
    began_ns: int
    barrier_id: int = 0
    """0: it has none yet."""
    operators: frozenset[str] = frozenset()
    is_sent: bool = False
    forwards: int = 0
    _collects: SignalAligner | None = None

    def send(self, operators: list[str]) -> None:
        """Its id lasts, and it is sent now; these are to send it on."""
        self.is_sent = True
        self.operators = frozenset(operators)
        self._collects = SignalAligner(len(operators) + 1, impl="reference")

    def arrive(self, message: ControlSignal) -> bool:
        """One member sent it; whether all have."""
        is_this = (message.category, message.kind, message.barrier_id) == (
            SignalCategory.BARRIER,
            self.kind,
            self.barrier_id,
        )
        if self._collects is None or message.stream_id is not None or not is_this:
            return False
        self.forwards += 1
        return self._collects.align(self.signal) is not None

    def owes(self, operator_id: str, *, has_left: bool) -> bool:
        """Whether the round cannot be complete without an operator that is gone. One that ends by the signal leaves."""
        return operator_id in self.operators and not (has_left and self.signal.is_terminal)

    @property
    def signal(self) -> BarrierSignal:
        """What is aligned."""
        return BarrierSignal(KINDS[self.kind], self.barrier_id)

    @property
    def standing(self) -> str:
        """For people: how far it is."""
        return f"{max(self.forwards - 1, 0)} of {len(self.operators)} operators sent it on"


def asked_instant(request: TriggerSignal) -> InstantSignal | None:
    """The instant signal that somebody asks for; it has no id."""
    return InstantSignal(KINDS[request.kind]) if request.category == SignalCategory.INSTANT else None
