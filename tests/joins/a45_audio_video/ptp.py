# SPDX-License-Identifier: Apache-2.0
"""Stands in for a clock that PTP keeps: each call gives the next output time, every 40 ms from the base on."""

from __future__ import annotations

from itertools import count

BASE_NS = 1_700_000_000_000_000_000
PERIOD_NS = 40_000_000
_ticks = count(1)


def next_time() -> int:
    """The next output time, in nanoseconds since 1970."""
    return BASE_NS + next(_ticks) * PERIOD_NS
