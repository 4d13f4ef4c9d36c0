# SPDX-License-Identifier: Apache-2.0
"""What the copies of a join would allow if nobody had to wait for anybody.

Three processes copy what two producers and an agent copy, on the same cores and between memory of the same kind, and
know nothing of each other. A pair is four copies: two into rings, two out of them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from framegate.shmpool.clock import monotonic_ns

from dev.bench.join_bed import Case, Process
from dev.bench.pool_bed import named, regions, stride_bytes
from framegate._native import PoolRegions, bench_copy

_COPIES_OF_A_PAIR: Final = 4
_TARGET_BYTES: Final = 1 << 30
_TURN_BYTES: Final = 4 << 20
"""Copied between two looks at the clock."""
_SUPERBLOCK_BYTES: Final = 64

Bytes = npt.NDArray[np.uint8]


def pairs_a_second(case: Case, seconds: float) -> float:
    """By the faster of the two kinds of stores."""
    return max(_pairs(case, seconds, kind) for kind in ("plain", "streaming"))


def _pairs(case: Case, seconds: float, kind: str) -> float:
    home = tempfile.mkdtemp(prefix="framegate-bench-floor-", dir="/dev/shm")
    size = (str(case.frame_bytes), str(case.slots))
    children: list[Process] = []
    try:
        children += [Process(__name__, "in", kind, *size) for _ in range(2)]
        pools = [child.answer()["paths"][1] for child in children]
        children.append(Process(__name__, "out", f"{home}/target", *size, *pools))
        children[-1].answer()
        for child in children:
            child.tell(seconds)
        copies: list[float] = [child.answer() for child in children]
        return sum(copies) / _COPIES_OF_A_PAIR
    finally:
        for child in children:
            child.close()
        shutil.rmtree(home, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """One of the three processes: copies a second, for each line that says how many seconds."""
    role, how, frame_bytes, slots, *pools = arguments
    case = Case(int(frame_bytes), int(slots))
    if role == "in":
        with regions(case.frame_bytes, case.slots) as made:
            print(named(made, case.frame_bytes), flush=True)
            _serve(_In(case, how, made).turn)
    else:
        out = _Out(case, how, pools)
        print(json.dumps("ready"), flush=True)
        _serve(out.turn)
    return 0


def _serve(turn: Callable[[], int]) -> None:
    for line in sys.stdin:
        copies, began_ns = 0, monotonic_ns()
        deadline_ns = began_ns + int(float(line) * 1e9)
        while (now_ns := monotonic_ns()) < deadline_ns:
            copies += turn()
        print(json.dumps(copies / (now_ns - began_ns) * 1e9), flush=True)


class _In:
    """Copies of one payload into slot after slot, round the whole ring."""

    def __init__(self, case: Case, how: str, made: PoolRegions) -> None:
        self._frame_bytes, self._is_streaming, self._regions = case.frame_bytes, how == "streaming", made
        self._per_turn = max(1, _TURN_BYTES // case.frame_bytes)
        self._copied = 0

    def turn(self) -> int:
        """The next slots."""
        bench_copy(self._regions, self._frame_bytes, self._per_turn, self._is_streaming, self._copied)
        self._copied += self._per_turn
        return self._per_turn


class _Out:
    """Copies of slots that others write, into memory that was touched before, end to end."""

    def __init__(self, case: Case, target: str, pools: Sequence[str]) -> None:
        self._stride, self._frame_bytes = stride_bytes(case.frame_bytes), case.frame_bytes
        self._pools = [np.memmap(path, np.uint8, "r", _SUPERBLOCK_BYTES) for path in pools]
        self._slots = min(pool.size // self._stride for pool in self._pools)
        # Frames that lie without a gap between them are copied many at once: here only the copying counts.
        self._block = max(1, _TURN_BYTES // self._frame_bytes) if self._stride == self._frame_bytes else 1
        self._block = min(self._block, self._slots)
        Path(target).touch(mode=0o600)
        self._target: Bytes = np.memmap(target, np.uint8, "r+", shape=(_TARGET_BYTES,))
        self._target[:] = 1
        self._slot = self._place = 0

    def turn(self) -> int:
        """The same slots of both rings."""
        size = self._block * self._frame_bytes
        if self._slot + self._block > self._slots:
            self._slot = 0
        began = self._slot * self._stride
        for pool in self._pools:
            if self._place + size > _TARGET_BYTES:
                self._place = 0
            np.copyto(self._target[self._place : self._place + size], pool[began : began + size])
            self._place += size
        self._slot += self._block
        return 2 * self._block


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
