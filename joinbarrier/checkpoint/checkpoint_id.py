# SPDX-License-Identifier: Apache-2.0
"""The name of a checkpoint on disk: a UUID of version 7, which sorts by time."""

from __future__ import annotations

import secrets
import uuid

from framegate.shmpool.clock import realtime_ns


class CheckpointId(uuid.UUID):
    """A UUID as RFC 9562 lays it out: 48 bits of milliseconds, version, 12 random bits, variant, 62 random bits.

    >>> earlier, later = CheckpointId.at(1_000_000), CheckpointId.at(2_000_000)
    >>> earlier < later, earlier.version, earlier.variant == uuid.RFC_4122
    (True, 7, True)
    """

    @classmethod
    def new(cls) -> CheckpointId:
        """Make an id for the present moment."""
        return cls.at(realtime_ns())

    @classmethod
    def at(cls, now_ns: int) -> CheckpointId:
        """Make an id for a moment of the wall clock."""
        milliseconds = now_ns // 1_000_000 & (1 << 48) - 1
        return cls(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62))
