# SPDX-License-Identifier: Apache-2.0
"""How much of the machine others used while something was measured: a figure that they spoilt is taken again.

So is one during which the host took a core away. It does that for up to a tenth of a second at a time, which no ring of
a thousand frames outlasts; it is judged by what the kernel counts as stolen, whatever the figure was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

OTHERS_MAX: Final = 0.10
"""Of the whole machine."""
STOLEN_MAX: Final = 1
"""Clock ticks that the host may take in a run."""
ATTEMPTS: Final = 6
"""So often a run is taken again; then its figure stands, and the table says so."""
_IDLE_FIELDS: Final = (3, 4)
_STOLEN_FIELD: Final = 7
_GUEST_FIELDS: Final = 8
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Ticks:
    """The machine's clock ticks so far, and those of the processes that are ours."""

    total: int
    busy: int
    ours: int
    stolen: int

    def others_since(self, before: Ticks) -> float:
        """The share of the machine that went to anybody else, the hypervisor included."""
        busy, ours = self.busy - before.busy, self.ours - before.ours
        return max(0, busy - ours) / max(1, self.total - before.total)


def ticks(pids: Iterable[int]) -> Ticks:
    """What is used up by now; ``pids``: our processes beside this one."""
    fields = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]][:_GUEST_FIELDS]
    idle = sum(fields[index] for index in _IDLE_FIELDS)
    return Ticks(sum(fields), sum(fields) - idle, sum(map(used, {os.getpid(), *pids})), fields[_STOLEN_FIELD])


def used(pid: int) -> int:
    """Clock ticks of one process."""
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
        self.taken_again = 0

    def run(self, measure: Callable[[], _T]) -> _T:
        """The figure of a quiet run, or of the last one that was tried."""
        for attempt in range(ATTEMPTS):
            before = ticks(self._pids())
            found = measure()
            after = ticks(self._pids())
            others = after.others_since(before)
            if others <= OTHERS_MAX and after.stolen - before.stolen <= STOLEN_MAX:
                break
            if attempt == ATTEMPTS - 1:
                self.spoilt += 1
            else:
                self.taken_again += 1
        self.worst = max(self.worst, others)
        return found

    def remark(self) -> str:
        """What the table says of it."""
        again = f"; {self.taken_again} disturbed runs taken again" if self.taken_again else ""
        if not self.spoilt:
            return again
        return f"{again}; {self.spoilt} stand although others used up to {self.worst:.0%} of the CPU or it was stolen"
