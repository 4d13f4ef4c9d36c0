# SPDX-License-Identifier: Apache-2.0
"""The highest rate at which a join loses nothing: producers that wait for nobody, a rate between two bounds.

A rate holds when, in the median of several runs, all but a thousandth of the pairs that were sent became rows and the
producers kept their pace. Every run that others on the machine disturbed is taken again, a few times at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dev.bench.join_bed import Join
from dev.bench.others_cpu import Watched

ENOUGH: Final = 0.999
_ON_PACE: Final = 1.02
_STEP: Final = 1.25
_STEPS_MAX: Final = 12
_PRECISION: Final = 0.03


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a run lasts, and how many of them a verdict takes."""

    seconds: float = 2.0
    runs: int = 5


@dataclass(slots=True)
class Found:
    """The best rate that held, and the lowest one that did not."""

    held_hz: float
    failed_hz: float
    remark: str


def lossless_rate(join: Join, guess_hz: float, effort: Effort) -> Found:
    """Pairs a second, from a first guess."""
    watched = Watched(join.pids)
    held, failed = best_rate(lambda rate: _holds(join, rate, effort, watched), guess_hz, _PRECISION)
    return Found(held, failed, watched.remark())


def best_rate(holds: Callable[[float], bool], guess_hz: float, precision: float) -> tuple[float, float]:
    """The best rate that held and the lowest one that did not, by bisection; 0 where there was none."""
    held, failed, rate = 0.0, 0.0, guess_hz
    for _ in range(_STEPS_MAX):
        if holds(rate):
            held = rate
        else:
            failed = rate
        if held and failed and failed / held <= 1 + precision:
            break
        rate = _next(held, failed)
    return held, failed


def _next(held: float, failed: float) -> float:
    """Between the bounds, or a step beyond the one that there is."""
    if held and failed:
        return (held + failed) / 2
    return held * _STEP or failed / _STEP


def _holds(join: Join, rate_hz: float, effort: Effort, watched: Watched) -> bool:
    """The verdict of most of the runs; as few as decide it are taken."""
    passed = failed = 0
    while max(passed, failed) * 2 <= effort.runs and passed + failed < effort.runs:
        if watched.run(lambda: _is_lossless(join, rate_hz, effort.seconds)):
            passed += 1
        else:
            failed += 1
    return passed > failed


def _is_lossless(join: Join, rate_hz: float, seconds: float) -> bool:
    count = max(1, int(rate_hz * seconds))
    run = join.paced(rate_hz, count)
    is_on_pace = run.slowest_ns <= count / rate_hz * 1e9 * _ON_PACE
    return is_on_pace and run.joined >= ENOUGH * run.offered
