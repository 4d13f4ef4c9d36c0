# SPDX-License-Identifier: Apache-2.0
"""Pairs of measurements that are compared, and what others did to the machine meanwhile.

A Spark run takes a second or more of all cores in many processes, some of which come and go. So a run is not taken
again when it was disturbed; pairs in the order A B, B A make both sides suffer alike, and the table says how much.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from framegate.shmpool.processes import family

from dev.bench.others_cpu import Ticks, ticks

_T = TypeVar("_T")
_USED_FIELDS: Final = slice(11, 15)
_NORMAL_95: Final = 1.96
_PAIRS_MIN: Final = 6
"""The median lies outside of fewer than these with more than 5 %: twice one half to the power of their number."""


def abba(first: Callable[[], _T], second: Callable[[], _T], pairs: int, *, warm_up: int) -> tuple[list[_T], list[_T]]:
    """What both give, pair by pair, each time the other one first."""
    for _ in range(warm_up):
        first(), second()
    found = tuple[list[_T], list[_T]](([], []))
    for number in range(pairs):
        for side in ((0, 1), (1, 0))[number % 2]:
            found[side].append((first, second)[side]())
    return found


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median of all such runs lies, with 95 %: by the ranks of these ones, whatever their distribution.

    >>> interval([float(value) for value in range(15)])
    (3.0, 11.0)
    """
    ordered, count = sorted(values), len(values)
    rank = max(0, int((count - _NORMAL_95 * count**0.5) / 2))
    return ordered[rank], ordered[count - 1 - rank]


def in_words(values: Sequence[float]) -> str:
    """The interval, for the table; of fewer pairs nothing can be said with 95 %, whatever they are.

    >>> in_words([1.0, 2.0, 3.0])
    '3 pairs'
    """
    if len(values) < _PAIRS_MIN:
        return f"{len(values)} pairs"
    low, high = interval(values)
    return f"95 % of the median {low:.3g} .. {high:.3g}, {len(values)} pairs"


class Others:
    """What all but this process and its descendants take of the machine from now on."""

    def __init__(self) -> None:
        self._before = _ticks()

    def remark(self) -> str:
        """For the table."""
        after = _ticks()
        stolen = (after.stolen - self._before.stolen) / max(1, after.total - self._before.total)
        others = max(0.0, after.others_since(self._before) - stolen)
        return f"others used {others:.0%} of the CPU, {stolen:.1%} was stolen, load {os.getloadavg()[0]:.1f}"


def _ticks() -> Ticks:
    made = ticks(())
    ours = sum(_used_with_children(pid) for pid in family(os.getpid()))
    return Ticks(made.total, made.busy, ours, made.stolen)


def _used_with_children(pid: int) -> int:
    """Its ticks, and those of its children that have ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return sum(int(field) for field in fields[_USED_FIELDS])
    return 0


def ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Pair by pair."""
    return [a / b for a, b in zip(over, under, strict=True)]
