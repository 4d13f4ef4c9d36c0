# SPDX-License-Identifier: Apache-2.0
"""What a measurement says, and how a run of several is shown."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the table."""

    question: str
    measured: float | None
    """None for what could not be measured here; ``how`` says why."""
    unit: str = ""
    target: float | None = None
    """The bound that was asked for; None for a figure that only informs."""
    is_floor: bool = False
    """Whether the target is a least value, such as a ratio of rates, and not a most."""
    spread: tuple[float, float] | None = None
    """Smallest and largest of the rounds."""
    how: str = ""
    beside: tuple[tuple[str, float], ...] = ()
    """The figures that it was made of, each with the name of who reached it: ours, those of peers, the floor."""
    beside_unit: str = ""
    series: tuple[tuple[float, float], ...] = ()
    """How it grows: pairs of a size and the cost there."""
    axis: str = ""
    """What the sizes of the series are."""
    series_unit: str = ""

    @classmethod
    def of_rounds(cls, question: str, found: Sequence[float], **more: Any) -> Self:
        """The median of some rounds, with the smallest and the largest of them."""
        return cls(question=question, measured=statistics.median(found), spread=(min(found), max(found)), **more)

    @property
    def is_met(self) -> bool | None:
        """None without a target, or without a figure."""
        if self.target is None or self.measured is None:
            return None
        return self.measured >= self.target if self.is_floor else self.measured <= self.target

    @property
    def is_more_better(self) -> bool:
        """Whether a greater figure is a better one: rates are, and whatever has a least value as its target."""
        return self.is_floor or self.unit.endswith("/s")

    def row(self) -> tuple[str, ...]:
        """For the table."""
        sign = ">=" if self.is_floor else "<="
        asked = "-" if self.target is None else f"{sign} {self.target:g} {self.unit}"
        spread = "" if self.spread is None else f"{self.spread[0]:.3g} .. {self.spread[1]:.3g}"
        verdict = {None: "-", True: "met", False: "missed"}[self.is_met]
        measured = "-" if self.measured is None else f"{self.measured:.4g} {self.unit}"
        return self.question, asked, measured, spread, verdict, self.how


def rounds(measure: Callable[[], float], count: int) -> tuple[float, tuple[float, float]]:
    """Median and spread of ``count`` rounds, after one that warms up."""
    measure()
    found = [measure() for _ in range(count)]
    return statistics.median(found), (min(found), max(found))


def in_turn(measures: Sequence[Callable[[], float]], count: int) -> list[list[float]]:
    """The rounds of several measurements that are to be compared, one of each in turn, after a turn that warms up.

    Whatever the machine does meanwhile, it does to all of them.
    """
    for measure in measures:
        measure()
    turns = [[measure() for measure in measures] for _ in range(count)]
    return [list(column) for column in zip(*turns, strict=True)]


def percentile(values: Sequence[float], fraction: float) -> float:
    """The value below which ``fraction`` of them lie.

    >>> percentile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def machine() -> dict[str, Any]:
    """What the figures depend on, as far as it can be seen."""
    one, five, _ = os.getloadavg()
    return {"cores": os.cpu_count(), "load_1m": round(one, 2), "load_5m": round(five, 2), "cpu": _cpu_model()}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def show(results: Sequence[Result], *, as_json: bool) -> None:
    """Print the table, or one object a line."""
    if as_json:
        for result in results:
            emit({"event": "result", **asdict(result), "met": result.is_met})
        emit({"event": "machine", **machine()})
        return
    print_table(_COLUMNS, [result.row() for result in results], styles={"missed": "bold red", "met": "green"})
    print("machine: " + ", ".join(f"{name} {value}" for name, value in machine().items()))


_COLUMNS = ("question", "asked", "measured", "rounds", "verdict", "how")
