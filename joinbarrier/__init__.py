# SPDX-License-Identifier: Apache-2.0
"""Which frames belong together: the MergeMap that says so, and the barriers that evaluate it."""

from framegate.joinbarrier.barriers.barriers import (
    LatestValueJoinBarrier,
    SequenceJoinBarrier,
    TimestampJoinBarrier,
)
from framegate.joinbarrier.barriers.readiness import Readiness, Reason
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule

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
