# SPDX-License-Identifier: Apache-2.0
"""Gives the native channel the interface of the reference."""

from __future__ import annotations

from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, Event, Message, Watermark

import framegate._native as _native


class NativeChannel:
    """The channel of ``native/checkpoint``, with both its ends."""

    def __init__(self, capacity: int) -> None:
        self._native = _native.CheckpointChannel(capacity)

    def push(self, message: Message) -> bool:
        match message:
            case Event():
                return self._native.push_event(message)
            case Watermark(ms):
                return self._native.push_watermark(ms)
            case CheckpointBarrier(checkpoint_id, epoch, unaligned):
                return self._native.push_barrier(checkpoint_id, epoch, unaligned)

    def pop(self) -> Message | None:
        found: Message | tuple[int, int, bool] | int | None = self._native.pop()
        if isinstance(found, tuple):
            return CheckpointBarrier(*found)
        if isinstance(found, int):
            return Watermark(found)
        return found

    def close(self) -> None:
        self._native.close()

    @property
    def is_closed(self) -> bool:
        return self._native.is_closed

    def __len__(self) -> int:
        return len(self._native)
