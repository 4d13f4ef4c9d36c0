# SPDX-License-Identifier: Apache-2.0
"""A bounded channel from one sender to one receiver, with one slot that only a barrier may take (B6)."""

from __future__ import annotations

from collections import deque

from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, Message


class Channel:
    """Holds ``capacity`` messages, and one barrier more."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting = deque[Message]()
        self.is_closed = False

    def push(self, message: Message) -> bool:
        """Send a message; False if it was not taken and has to be sent again."""
        limit = self._capacity + isinstance(message, CheckpointBarrier)
        if self.is_closed or len(self._waiting) >= limit:
            return False
        self._waiting.append(message)
        return True

    def pop(self) -> Message | None:
        """Take the oldest message, even from a closed channel; None if there is none."""
        return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        self.is_closed = True

    def __len__(self) -> int:
        return len(self._waiting)
