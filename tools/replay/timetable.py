# SPDX-License-Identifier: Apache-2.0
"""The timetable of a replay: when each frame is due, and how late frames were. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

_BUCKETS_A_DOUBLING: Final = 8


@dataclass(slots=True)
class Timetable:
    """Log times, moved to the present and compressed by the speed.

    >>> timetable = Timetable(speed=2.0)
    >>> timetable.due_ns(1_000, now_ns=70), timetable.due_ns(3_000, now_ns=80)
    (70, 1070)
    """

    speed: float
    _first_ns: int | None = None
    _began_ns: int = 0

    def due_ns(self, log_time_ns: int, *, now_ns: int) -> int:
        """When a frame is due. The first frame is due now, and the others follow it."""
        if math.isinf(self.speed):
            return now_ns
        if self._first_ns is None:
            self._first_ns, self._began_ns = log_time_ns, now_ns
        return self._began_ns + int((log_time_ns - self._first_ns) / self.speed)


@dataclass(slots=True)
class Lateness:
    """How late frames were published, in buckets that are a twelfth wide."""

    worst_ns: int = 0
    _counts: dict[int, int] = field(default_factory=dict)

    def note(self, late_ns: int) -> None:
        """One frame."""
        late_ns = max(late_ns, 0)
        self.worst_ns = max(self.worst_ns, late_ns)
        bucket = math.ceil(math.log2(late_ns) * _BUCKETS_A_DOUBLING) if late_ns > 1 else 0
        self._counts[bucket] = self._counts.get(bucket, 0) + 1

    def percentile_ns(self, share: float) -> int | None:
        """The lateness that this share of the frames did not exceed; None before the first.

        >>> lateness = Lateness()
        >>> for late_ns in [100] * 98 + [5_000] * 2:
        ...     lateness.note(late_ns)
        >>> lateness.percentile_ns(0.5) < 120, lateness.percentile_ns(0.99)
        (True, 5000)
        """
        left = math.ceil(share * sum(self._counts.values()))
        for bucket in sorted(self._counts):
            left -= self._counts[bucket]
            if left <= 0:
                return min(round(2 ** (bucket / _BUCKETS_A_DOUBLING)), self.worst_ns)
        return None

    def as_json(self) -> dict[str, int | None]:
        """Some percentiles, in nanoseconds."""
        return {"p50": self.percentile_ns(0.5), "p99": self.percentile_ns(0.99), "max": self.worst_ns}
