# SPDX-License-Identifier: Apache-2.0
"""One checkpoint on its way: who takes part, and how far everybody is (P14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from framegate.joinbarrier.checkpoint.coordinator.ingress_round import IngressRound
from framegate.schema.control import AbortCause, AckStatus


class Phase(Enum):
    """How far the whole is."""

    ALLOCATING = auto()
    """The id does not last yet: nobody was told."""
    PLACING = auto()
    """Agents that share a stream without barriers stand in it, and say where."""
    GATHERING = auto()
    """Barriers are asked for, acknowledgements come in."""
    STORING = auto()
    """All have acknowledged. Only the store can still say no."""


@dataclass(slots=True)
class Steps:
    """What one operator acknowledged: bytes by step."""

    bytes_by_step: dict[AckStatus, int] = field(default_factory=dict)

    @property
    def has_snapshot(self) -> bool:
        """Its state is stored. The second step says it too: the first may have been lost."""
        return bool(self.bytes_by_step)

    @property
    def is_complete(self) -> bool:
        """Its in-flight data is stored too."""
        return AckStatus.COMPLETE in self.bytes_by_step

    @property
    def bytes(self) -> int:
        """Of both steps."""
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
        """Until then everybody has to say where it stands."""
        self.doom: tuple[AbortCause, str] | None = None
        """It was given up before its id lasted."""
        self.is_late_said = False
        self._steps = {name: Steps() for name in operators}

    def __contains__(self, operator_id: str) -> bool:
        """Whether it takes part."""
        return operator_id in self._steps

    @property
    def operators(self) -> tuple[str, ...]:
        """Who takes part."""
        return tuple(self._steps)

    def lasts(self, shared: Mapping[int, tuple[str, ...]], placed_by_ns: int) -> None:
        """Its id does, so that operators are told. ``shared``: streams of which they say first where they stand."""
        self.ingress = IngressRound(shared)
        self.placed_by_ns = placed_by_ns
        self.phase = Phase.PLACING if self.ingress.streams else Phase.GATHERING

    def acknowledge(self, operator_id: str, status: AckStatus, stored_bytes: int) -> bool:
        """Note a step; whether it is a new one."""
        steps = self._steps[operator_id].bytes_by_step
        if status in steps or AckStatus.COMPLETE in steps:
            return False
        steps[status] = stored_bytes
        return True

    @property
    def is_told(self) -> bool:
        """Whether operators know of it and may still end it."""
        return self.phase in (Phase.PLACING, Phase.GATHERING)

    def owes(self, operator_id: str) -> bool:
        """Whether it takes part and has not acknowledged everything."""
        return operator_id in self._steps and not self._steps[operator_id].is_complete

    @property
    def is_acknowledged(self) -> bool:
        """Whether all have said COMPLETE."""
        return all(each.is_complete for each in self._steps.values())

    @property
    def has_all_snapshots(self) -> bool:
        """Whether every barrier has done its work."""
        return all(each.has_snapshot for each in self._steps.values())

    @property
    def acknowledged(self) -> tuple[tuple[str, int], ...]:
        """Operators and what they say they stored."""
        return tuple((name, each.bytes) for name, each in self._steps.items())

    def owed(self) -> str:
        """Who owes what, for people."""
        owing = [
            f"{name} ({'in-flight data' if steps.has_snapshot else 'snapshot'})"
            for name, steps in self._steps.items()
            if not steps.is_complete
        ]
        return ", ".join(owing)
