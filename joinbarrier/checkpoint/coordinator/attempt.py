# SPDX-License-Identifier: Apache-2.0
"""One checkpoint under way: its operators, and how far each of them is (P14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from framegate.joinbarrier.checkpoint.coordinator.ingress_round import IngressRound
from framegate.schema.control import AbortCause, AckStatus


class Phase(Enum):
    """How far a checkpoint is."""

    ALLOCATING = auto()
    """Its id is not stored yet, and nobody was told it."""
    PLACING = auto()
    """Agents that share a stream without barriers hold it, and say where."""
    GATHERING = auto()
    """Barriers were asked for, and acknowledgements come in."""
    STORING = auto()
    """All operators have acknowledged. From here on only the store can fail."""


@dataclass(slots=True)
class Steps:
    """What one operator acknowledged: bytes by step."""

    bytes_by_step: dict[AckStatus, int] = field(default_factory=dict)

    @property
    def has_snapshot(self) -> bool:
        """Whether the operator's state is stored. The second step says so too, because the first may have been lost."""
        return bool(self.bytes_by_step)

    @property
    def is_complete(self) -> bool:
        """Whether the operator's in-flight data is stored too."""
        return AckStatus.COMPLETE in self.bytes_by_step

    @property
    def bytes(self) -> int:
        """How many bytes both steps stored."""
        return sum(self.bytes_by_step.values())


class Attempt:
    """One checkpoint that is neither complete nor aborted."""

    def __init__(self, checkpoint_id: int, operators: Iterable[str], now_ns: int, *, is_unaligned: bool) -> None:
        self.checkpoint_id = checkpoint_id
        self.is_unaligned = is_unaligned
        self.began_ns = now_ns
        self.phase = Phase.ALLOCATING
        self.inject_again_ns = 0
        self.ingress = IngressRound({})
        self.placed_by_ns = 0
        """The time by which every agent must have said where it holds its shared streams."""
        self.early_abort: tuple[AbortCause, str] | None = None
        """Why it was aborted before its id was stored."""
        self.is_late_said = False
        self._steps = {name: Steps() for name in operators}

    def __contains__(self, operator_id: str) -> bool:
        """Whether an operator takes part."""
        return operator_id in self._steps

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that take part."""
        return tuple(self._steps)

    def note_id_stored(self, shared: Mapping[int, tuple[str, ...]], placed_by_ns: int) -> None:
        """Go on once the id is stored, so that operators may be told it. ``shared`` lists the streams that several of
        them hold.
        """
        self.ingress = IngressRound(shared)
        self.placed_by_ns = placed_by_ns
        self.phase = Phase.PLACING if self.ingress.streams else Phase.GATHERING

    def acknowledge(self, operator_id: str, status: AckStatus, stored_bytes: int) -> bool:
        """Note a step of an operator; False if it was noted before."""
        steps = self._steps[operator_id].bytes_by_step
        if status in steps or AckStatus.COMPLETE in steps:
            return False
        steps[status] = stored_bytes
        return True

    @property
    def is_told(self) -> bool:
        """Whether the operators know of the checkpoint and may still end it."""
        return self.phase in (Phase.PLACING, Phase.GATHERING)

    def owes(self, operator_id: str) -> bool:
        """Whether an operator takes part and has not acknowledged everything."""
        return operator_id in self._steps and not self._steps[operator_id].is_complete

    @property
    def is_acknowledged(self) -> bool:
        """Whether all operators have acknowledged COMPLETE."""
        return all(each.is_complete for each in self._steps.values())

    @property
    def has_all_snapshots(self) -> bool:
        """Whether every barrier has reached all operators."""
        return all(each.has_snapshot for each in self._steps.values())

    @property
    def acknowledged(self) -> tuple[tuple[str, int], ...]:
        """The operators, and how many bytes they say they stored."""
        return tuple((name, each.bytes) for name, each in self._steps.items())

    def owed(self) -> str:
        """List the operators that owe something, and what, for people."""
        owing = [
            f"{name} ({'in-flight data' if steps.has_snapshot else 'snapshot'})"
            for name, steps in self._steps.items()
            if not steps.is_complete
        ]
        return ", ".join(owing)
