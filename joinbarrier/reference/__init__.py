# SPDX-License-Identifier: Apache-2.0
"""The three barriers in plain Python: the specification of the native ones (PROTOCOL 11.3 to 11.7)."""

from framegate.joinbarrier.reference.latest import LatestBarrier
from framegate.joinbarrier.reference.sequence import SequenceBarrier
from framegate.joinbarrier.reference.timestamp import TimestampBarrier

__all__ = ["LatestBarrier", "SequenceBarrier", "TimestampBarrier"]
