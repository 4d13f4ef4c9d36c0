# SPDX-License-Identifier: Apache-2.0
"""The newest set of frames on request, for a control loop or a model. Each answer is a row of a journal.

Asking pushes the time of now to a join of the newest values, which makes one row of what is there: the frames are
copied before anybody sees them, and what a program acted on is what the journal keeps.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt
from framegate.gate.joined import Joined
from framegate.joinbarrier.journal.row import Row
from framegate.schema.errors import FramegateError, ObservedNothing, ObservedTooOld, WrongUsage
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.idle import sleep_ns

_NS_PER_MS: Final = 1_000_000
_STEP_NS: Final = 1_000_000
_ANSWER_S: Final = 10.0
"""How long a row may take whose frames are there: the join runs in this program, and only has to have its turn."""


def no_time() -> None:
    """The drive of such a join: its times are pushed by whoever asks."""


@dataclass(frozen=True, slots=True)
class ObservedInput:
    """One input of an answer."""

    array: npt.NDArray[Any]
    seq: int
    timestamp_ns: int
    age_ns: int
    """How long before the answer the frame was captured, by its own clock."""


class Observed(Mapping[str, ObservedInput]):
    """One answer: each input by its name, also as an attribute; ``row`` is its row of the journal."""

    __slots__ = ("_inputs", "row")

    def __init__(self, inputs: dict[str, ObservedInput], row: Row) -> None:
        self._inputs, self.row = inputs, row

    def __getitem__(self, name: str) -> ObservedInput:
        return self._inputs[name]

    def __getattr__(self, name: str) -> ObservedInput:
        if name.startswith("_") or name not in self._inputs:
            raise AttributeError(f"nothing was observed of {name!r}")
        return self._inputs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    def __repr__(self) -> str:
        ages = ", ".join(f"{name} {each.age_ns / _NS_PER_MS:.2f} ms old" for name, each in self._inputs.items())
        return f"<Observed row {self.row['row']}: {ages}>"


class Observer:
    """Asks a join of the newest values, one question at a time."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._turn = threading.Lock()
        self._is_complete = False

    def observe(self, max_age_ms: float, wait_s: float) -> Observed:
        """The newest frames. Raises ObservedTooOld, and ObservedNothing for inputs of which nothing came."""
        if not (max_age_ms >= 0 and wait_s >= 0):
            raise WrongUsage(
                "an age and a wait are numbers from 0 on",
                max_age_ms=max_age_ms,
                wait_s=wait_s,
                hint="max_age_ms counts milliseconds, wait_s seconds; float('inf') is no bound.",
            )
        with self._turn:
            if not self._is_complete:
                self._await_all(wait_s)
                self._is_complete = True
            row = self._joined.answer(monotonic_ns(), _ANSWER_S)
        if row is None and self._joined.is_over:
            raise self._ended()
        if row is None:
            raise ObservedNothing("the join made no row", inputs=", ".join(self._joined.waiting()), waited_s=_ANSWER_S)
        now_ns = (monotonic_ns(), realtime_ns())
        found = {name: _observed(each, now_ns) for name, each in row.inputs.items() if each.timestamp_ns is not None}
        for name, each in row.inputs.items():
            if each.array is None:
                raise ObservedNothing("the input has no newest frame", input=name, status=each.status)
            if name not in found:
                raise ObservedNothing(
                    "the newest frame of this input has no time, so nobody knows how old it is",
                    input=name,
                    seq=each.seq,
                    hint="Publish with a time: producers stamp frames by themselves, unless timestamp_ns is None.",
                )
            if found[name].age_ns > max_age_ms * _NS_PER_MS:
                raise ObservedTooOld(
                    "the newest frame of this input is too old",
                    input=name,
                    age_ms=round(found[name].age_ns / _NS_PER_MS, 3),
                    max_age_ms=max_age_ms,
                    seq=found[name].seq,
                )
        return Observed(found, row)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to observe, as every input has ended."""
        return self._joined.is_over

    def close(self) -> None:
        """End the join. What ended it before was said to who observed."""
        with suppress(FramegateError):
            self._joined.close()

    def _ended(self) -> ObservedNothing:
        return ObservedNothing(
            "every input has ended",
            inputs=", ".join(self._joined.names),
            hint="Observe again when their producers are back: the streams may go on at any time.",
        )

    def _await_all(self, wait_s: float) -> None:
        deadline_ns = monotonic_ns() + wait_s * 1e9
        while (missing := self._joined.unobserved()) and not self.is_over:
            if monotonic_ns() >= deadline_ns:
                raise ObservedNothing("no frame came", inputs=", ".join(missing), waited_s=wait_s)
            sleep_ns(_STEP_NS)


def _observed(each: Any, now_ns: tuple[int, int]) -> ObservedInput:
    # A stamp is of the clock that it is nearer to.
    age_ns = min((now - each.timestamp_ns for now in now_ns), key=abs)
    return ObservedInput(each.array, each.seq, each.timestamp_ns, age_ns)
