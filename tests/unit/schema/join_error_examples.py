# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of the barriers and their maps, through product code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.joinbarrier import MergeMap, SequenceRule, TimestampJoinBarrier, TimestampRule
from framegate.schema.merge import ClockDomain


def _foreign_domain() -> None:
    barrier = TimestampJoinBarrier(1, impl="reference")
    barrier.apply(MergeMap(1, 0, [TimestampRule(2, offset_ns=0)], clock_domain=ClockDomain.MONOTONIC))
    barrier.observe(2, 0, 0, now_ns=0, clock_domain=ClockDomain.REALTIME_SYNCED)


def _earlier_output() -> None:
    barrier = TimestampJoinBarrier(1, impl="reference")
    barrier.emitted(2)
    barrier.emitted(1)


JOIN_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    401: lambda: MergeMap(1, 0, [SequenceRule(2)]),
    402: _foreign_domain,
    403: _earlier_output,
}
