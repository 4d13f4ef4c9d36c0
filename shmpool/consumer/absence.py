# SPDX-License-Identifier: Apache-2.0
"""Frames of an epoch that passed while a consumer had no regions, because its process stood still for instance. Pure.

The native half begins anew with every mapping and does not see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Absence:
    """Where a consumer stood when its regions were taken away, until it is known where it went on.

    >>> absence = Absence()
    >>> absence.on_left(epoch=5, last_seq=9)
    >>> absence.on_returned({"frames": 10})
    >>> absence.missed(5, 102, {"frames": 12, "gap_drops": 1})
    90
    >>> absence.missed(5, 103, {"frames": 13, "gap_drops": 1})
    0
    """

    _epoch: int | None = None
    _next_seq: int = 0
    _passed_before: int | None = None

    def on_left(self, epoch: int | None, last_seq: int | None) -> None:
        """The regions are about to go."""
        if epoch is not None and last_seq is not None:
            self._epoch, self._next_seq, self._passed_before = epoch, last_seq + 1, None

    def on_returned(self, counters: Mapping[str, int]) -> None:
        """Regions were mapped again; nothing of them was read yet."""
        if self._epoch is not None:
            self._passed_before = _passed(counters)

    def missed(self, epoch: int | None, last_seq: int | None, counters: Mapping[str, int]) -> int:
        """How many frames passed meanwhile, told once, when the first frame after the return has been seen.

        Another epoch counts from what is seen of it, as for everybody who comes later.
        """
        if self._epoch is None or self._passed_before is None or last_seq is None:
            return 0
        first_seen = last_seq + 1 - (_passed(counters) - self._passed_before)
        missed = max(first_seen - self._next_seq, 0) if epoch == self._epoch else 0
        self._epoch = self._passed_before = None
        return missed


def _passed(counters: Mapping[str, int]) -> int:
    """How far the descriptors that were counted moved the sequence on."""
    causes = sum(value for name, value in counters.items() if name.startswith("drop_"))
    return causes + sum(counters.get(name, 0) for name in ("frames", "gap_drops", "rate_limited", "skipped"))
