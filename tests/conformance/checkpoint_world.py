# SPDX-License-Identifier: Apache-2.0
"""The pieces of a checkpoint, in either implementation or by an original reading of the source texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from framegate.joinbarrier.checkpoint import (
    Action,
    BarrierAligner,
    Channel,
    CheckpointBarrier,
    CheckpointBarrierInjector,
    Event,
    UnalignedCheckpointer,
)
from framegate.joinbarrier.checkpoint.numbers import nanoseconds
from framegate.joinbarrier.checkpoint.settings import Implementation
from framegate.shmpool.clock import ManualClock
from framegate.spec.checkpoint.command_word import CommandWord
from framegate.spec.checkpoint.injector import Injector

from tests.conformance.original_readings import specification

SECOND: Final = 1_000_000_000


@dataclass(frozen=True)
class Pieces:
    """Makes pieces of one implementation; with ``letter``, of the specification that takes that sentence literally."""

    impl: Implementation
    letter: str = ""

    def aligner(self, num_inputs: int = 2, **options: Any) -> BarrierAligner:
        made = BarrierAligner(num_inputs, impl=self.impl, **options)
        if self.letter:
            decides: Any = made._decides
            made._decides = specification(self.letter)["aligner"].BarrierAligner(decides.settings)
        return made

    def checkpointer(self, num_inputs: int = 2, **options: Any) -> UnalignedCheckpointer:
        made = UnalignedCheckpointer(num_inputs, impl=self.impl, **options)
        if self.letter:
            made._decides = specification(self.letter)["unaligned"].UnalignedCheckpointer(made.settings)
        return made

    def injector(self, periodic_interval_s: float | None = None, word: CommandWord | None = None) -> Any:
        made = CheckpointBarrierInjector("camera", periodic_interval_s, impl=self.impl)
        if self.letter or word is not None:
            interval = None if periodic_interval_s is None else nanoseconds("interval", periodic_interval_s)
            kind = specification(self.letter)["injector"].Injector if self.letter else Injector
            made._injects = made._triggers = kind(interval, ManualClock(), word)
        return made

    def channel(self, capacity: int) -> Channel:
        made = Channel(capacity, impl=self.impl)
        if self.letter:
            made._carries = specification(self.letter)["channel"].Channel(capacity)
        return made


def barrier(checkpoint_id: int = 1, epoch: int = 1, unaligned: bool = False) -> CheckpointBarrier:
    return CheckpointBarrier(checkpoint_id, epoch, unaligned)


def kinds(actions: Iterable[Action]) -> list[str]:
    return [action.kind for action in actions]


def payloads(pairs: Iterable[tuple[int, Event]]) -> list[tuple[int, Any]]:
    return [(input_id, event.payload) for input_id, event in pairs]


def drained(actions: Iterable[Action]) -> list[tuple[int | None, Any]]:
    return [(each.input_id, each.event.payload) for each in actions if each.kind == "drain_buffered" and each.event]


def fill(piece: BarrierAligner | UnalignedCheckpointer, input_id: int, count: int, size: int = 1) -> list[Any]:
    """So many events, numbered from 0; what was answered."""
    return [piece.process(input_id, Event(number, size), 0) for number in range(count)]
