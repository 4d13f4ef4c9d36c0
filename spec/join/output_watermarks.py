# SPDX-License-Identifier: Apache-2.0
"""Watermarks of an output: what the inputs' watermarks promise about the published frames.

A watermark says that no later frame of its stream is older. The output may carry the lowest of the inputs' watermarks
once every frame of the published input that came before it is decided, because a frame that waits is older and may
still be published. If a frame may be published twice, the newest published one limits the watermark too.
``native/join/src/output_watermarks.rs`` is the native twin.

>>> watermarks = OutputWatermarks(is_reusing=False)
>>> watermarks.note(10, behind=(7, 4))
>>> watermarks.release(decided=(7, 3), epoch=7), watermarks.due()
(None, None)
>>> watermarks.release(decided=(7, 4), epoch=7), watermarks.due()
(None, 10)
"""

from __future__ import annotations

from collections import deque
from typing import Final, TypeAlias

WAITING_MAX: Final = 64
"""Most watermarks that wait. Beyond that, a newer one replaces the newest that waits."""
_NS_PER_MS: Final = 1_000_000
_NULL_TIMESTAMP: Final = (1 << 64) - 1
Place: TypeAlias = tuple[int, int]
"""Epoch and sequence of a frame."""


class OutputWatermarks:
    """Decides which watermark the output carries, and when."""

    def __init__(self, *, is_reusing: bool) -> None:
        self._is_reusing = is_reusing
        self.forget()

    def forget(self) -> None:
        """Begin anew, with a new epoch of the output."""
        self._waiting = deque[tuple[int, Place | None]]()
        self._newest_ms = self._released_ms = self._passed_ms = self._published_ns = -1

    @property
    def is_waiting(self) -> bool:
        """Whether a watermark waits, or may be due."""
        return bool(self._waiting) or self._released_ms > self._passed_ms

    def note_published(self, timestamp_ns: int) -> None:
        """Note the time of a published frame; all ones if it has none."""
        if timestamp_ns != _NULL_TIMESTAMP:
            self._published_ns = max(self._published_ns, timestamp_ns)

    def note(self, ms: int, behind: Place | None) -> None:
        """Take the lowest of the inputs' watermarks, and the newest frame that came before it."""
        if ms <= self._newest_ms:
            return
        self._newest_ms = ms
        if len(self._waiting) == WAITING_MAX:
            self._waiting.pop()
        self._waiting.append((ms, behind))

    def release(self, decided: Place | None, epoch: int | None) -> None:
        """Release watermarks behind frames up to ``decided``, which are decided; ``epoch`` is the present one."""
        while self._waiting:
            ms, behind = self._waiting[0]
            # All frames of an epoch are decided when the next one begins.
            is_present = behind is not None and behind[0] == epoch
            if behind is not None and is_present and (decided is None or decided < behind):
                return
            self._released_ms = ms
            self._waiting.popleft()

    def due(self) -> int | None:
        """Take the watermark that the output carries now, if there is a new one."""
        ms = self._released_ms
        if self._is_reusing:
            ms = min(ms, self._published_ns // _NS_PER_MS)
        if ms <= self._passed_ms:
            return None
        self._passed_ms = ms
        return ms
