# SPDX-License-Identifier: Apache-2.0
"""Which frames belong together: the MergeMap that says so, and the barriers that evaluate it."""

from framegate.joinbarrier.barriers import (
    LatestValueJoinBarrier,
    SequenceJoinBarrier,
    TimestampJoinBarrier,
)
from framegate.joinbarrier.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.joinbarrier.readiness import Readiness, Reason

__all__ = [
    "LatestValueJoinBarrier",
    "MergeMap",
    "Readiness",
    "Reason",
    "SequenceJoinBarrier",
    "SequenceRule",
    "TimestampJoinBarrier",
    "TimestampRule",
]
