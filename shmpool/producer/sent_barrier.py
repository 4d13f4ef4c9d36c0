# SPDX-License-Identifier: Apache-2.0
"""A barrier that a producer sent, and where: what a source that a checkpoint can take back has to remember (P13)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SentBarrier:
    """Its place is the one where its offer succeeded, not the one where it was asked for."""

    checkpoint_id: int
    epoch: int
    source_epoch: int
    """The epoch of the regions whose frames it stands between."""
    after_seq: int | None
    """The last frame of that epoch before it."""
    position: int
    """Where the source stood behind that frame, as ``Producer.publish`` was told."""
