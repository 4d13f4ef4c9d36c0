# SPDX-License-Identifier: Apache-2.0
"""What arrives before the late barriers of an unaligned checkpoint, and so belongs to it (B15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from framegate.joinbarrier.checkpoint.messages import Captured, CheckpointBarrier, Event, Watermark

WATERMARK_BYTES: Final = 8


@dataclass(slots=True)
class LateInputs:
    """The inputs whose barrier has not come, with copies of what they delivered since the snapshot."""

    barrier: CheckpointBarrier
    owing: set[int]
    snapshot_ns: int
    bytes_max: int
    """Most bytes captured of one input."""
    events_max: int
    """Most events captured of all inputs together."""
    captured: dict[int, list[Captured]] = field(default_factory=dict)
    held_bytes: dict[int, int] = field(default_factory=dict)

    def capture(self, input_id: int, message: Event | Watermark) -> bool:
        """Capture what an input that owes its barrier delivered; False if it does not fit."""
        size = message.size if isinstance(message, Event) else WATERMARK_BYTES
        held = self.held_bytes.get(input_id, 0) + size
        if held > self.bytes_max or sum(map(len, self.captured.values())) >= self.events_max:
            return False
        self.captured.setdefault(input_id, []).append(message)
        self.held_bytes[input_id] = held
        return True

    def snapshot(self) -> dict[int, list[Captured]]:
        """Copy what was captured so far."""
        return {input_id: list(messages) for input_id, messages in sorted(self.captured.items())}
