# SPDX-License-Identifier: Apache-2.0
"""How much of the machine others used while something was measured: a figure that they spoilt is taken again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

OTHERS_MAX: Final = 0.10
"""Of the whole machine."""
ATTEMPTS: Final = 4
"""So often a run is taken again; then its figure stands, and the table says so."""
_IDLE_FIELDS: Final = (3, 4)
_GUEST_FIELDS: Final = 8
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Ticks:
    """The machine's clock ticks so far, and those of the processes that are ours."""

    total: int
    busy: int
    ours: int

    def others_since(self, before: Ticks) -> float:
        """The share of the machine that went to anybody else, the hypervisor included."""
        busy, ours = self.busy - before.busy, self.ours - before.ours
        return max(0, busy - ours) / max(1, self.total - before.total)


def ticks(pids: Iterable[int]) -> Ticks:
    """What is used up by now; ``pids``: our processes beside this one."""
    fields = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]][:_GUEST_FIELDS]
    idle = sum(fields[index] for index in _IDLE_FIELDS)
    return Ticks(sum(fields), sum(fields) - idle, sum(map(_used, {os.getpid(), *pids})))


def _used(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except FileNotFoundError:
        return 0
    return int(fields[11]) + int(fields[12])


class Watched:
    """Runs that are taken again when others were busy meanwhile."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self.spoilt = 0
        """Figures that had to stand although others were busy."""
        self.worst = 0.0

    def run(self, measure: Callable[[], _T]) -> _T:
        """The figure of a quiet run, or of the last one that was tried."""
        for attempt in range(ATTEMPTS):
            before = ticks(self._pids())
            found = measure()
            others = ticks(self._pids()).others_since(before)
            if others <= OTHERS_MAX:
                break
            if attempt == ATTEMPTS - 1:
                self.spoilt += 1
        self.worst = max(self.worst, others)
        return found

    def remark(self) -> str:
        """What the table says of it."""
        if not self.spoilt:
            return ""
        return f"; {self.spoilt} runs stand although others used up to {self.worst:.0%} of the CPU"
