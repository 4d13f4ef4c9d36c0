# SPDX-License-Identifier: Apache-2.0
"""A barrier that a producer sent, and its place: a source that a checkpoint can take back must remember it (P13)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SentBarrier:
    """A sent barrier. Its place is where it was sent, not where it was requested."""

    checkpoint_id: int
    epoch: int
    source_epoch: int
    """The epoch of the regions with the frames around it."""
    after_seq: int | None
    """The last frame of that epoch before the barrier."""
    position: int
    """The position of the source after that frame, as given to ``Producer.publish``."""
