# SPDX-License-Identifier: Apache-2.0
"""One signal on the control channel of a pipeline: its coordinator sends it, every operator sends it on, and then it is
over (PROTOCOL 12.6).

A pure state machine. The coordinator is the head, which issues the id, and the collector behind all sinks, which counts
what they sent on. Messages carry no sender, so it only counts: one arrival from each operator, and its own, which it
hears as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from framegate.joinbarrier.checkpoint.signal_aligner import SignalAligner
from framegate.joinbarrier.checkpoint.signals import KINDS, BarrierSignal, InstantSignal
from framegate.schema.control import ControlSignal, SignalCategory, SignalKind, TriggerSignal


@dataclass(slots=True)
class SignalRound:
    """The pending signal."""

    kind: SignalKind
    correlation_id: int
    began_ns: int
    barrier_id: int = 0
    """The signal's id; 0: it has none yet."""
    operators: frozenset[str] = frozenset()
    is_sent: bool = False
    forwards: int = 0
    _collects: SignalAligner | None = None

    def send(self, operators: list[str]) -> None:
        """Send the signal, whose id is stored now. These operators must send it on."""
        self.is_sent = True
        self.operators = frozenset(operators)
        self._collects = SignalAligner(len(operators) + 1, impl="reference")

    def arrive(self, message: ControlSignal) -> bool:
        """Count a message of this signal; True once all members have sent it."""
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
        """Whether the round cannot complete without an operator that is gone. An operator that ends by this signal
        leaves.
        """
        return operator_id in self.operators and not (has_left and self.signal.is_terminal)

    @property
    def signal(self) -> BarrierSignal:
        """The signal that is being aligned."""
        return BarrierSignal(KINDS[self.kind], self.barrier_id)

    @property
    def standing(self) -> str:
        """How far the signal is, for people."""
        return f"{max(self.forwards - 1, 0)} of {len(self.operators)} operators sent it on"


def asked_instant(request: TriggerSignal) -> InstantSignal | None:
    """The instant signal that a request asks for, which has no id; None if it asks for another kind."""
    return InstantSignal(KINDS[request.kind]) if request.category == SignalCategory.INSTANT else None
