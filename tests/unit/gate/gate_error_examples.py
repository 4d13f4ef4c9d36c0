# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of a program that joins by itself, through product code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from framegate.gate.joined import Joined
from framegate.gate.local_driver import LocalDriver
from framegate.gate.observing import Observer
from framegate.joinbarrier.journal.row import JoinedInput, Row
from framegate.shmpool.client.stream_names import StreamNames


class _Answers:
    """In place of a join: what it has not seen, and the row that it makes."""

    def __init__(self, *unobserved: str) -> None:
        self._unobserved = list(unobserved)

    is_over = False

    def unobserved(self) -> list[str]:
        return self._unobserved

    def answer(self, out_time_ns: int, within_s: float) -> Row:
        frame = JoinedInput("present", 4, 0, 1, 0, "uint8", (1,), np.zeros(1, np.uint8))
        return Row({"row": 0}, {"left": frame})


def _read_in_a_forked_process() -> None:
    joined: Any = Joined.__new__(Joined)
    joined._client = SimpleNamespace(is_copy=True)
    joined._journal = SimpleNamespace(path=Path("/dev/shm/rows"))  # noqa: S108
    next(joined)


def _observe(answers: Any) -> None:
    Observer(answers).observe(max_age_ms=100, wait_s=0)


GATE_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    212: lambda: StreamNames("/nowhere").id_of("Left Camera"),
    314: lambda: LocalDriver("/proc/aeron", "/proc/pool"),
    450: _read_in_a_forked_process,
    451: lambda: _observe(_Answers("right")),
    452: lambda: _observe(_Answers()),
}
