# SPDX-License-Identifier: Apache-2.0
"""Watermarks of an output: what the inputs' watermarks promise of the frames that are published.

A watermark says that no later frame of its stream is older. So the lowest of the inputs' goes on when every frame of
the published input that came before it is decided: what waits may still be published, and is older. Where a frame may
be published again, the newest published one bounds it too. ``native/join/src/output_watermarks.rs`` is its native half.

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
"""Watermarks that wait; a newer one takes the place of the last."""
_NS_PER_MS: Final = 1_000_000
_NULL_TIMESTAMP: Final = (1 << 64) - 1
Place: TypeAlias = tuple[int, int]
"""Epoch and sequence of a frame."""


class OutputWatermarks:
    """Says which watermark the output carries, and when."""

    def __init__(self, *, is_reusing: bool) -> None:
        self._is_reusing = is_reusing
        self.forget()

    def forget(self) -> None:
        """The output begins anew."""
        self._waiting = deque[tuple[int, Place | None]]()
        self._newest_ms = self._released_ms = self._passed_ms = self._published_ns = -1

    @property
    def is_waiting(self) -> bool:
        """Whether anything is to go on, now or later."""
        return bool(self._waiting) or self._released_ms > self._passed_ms

    def note_published(self, timestamp_ns: int) -> None:
        """A frame of that time was published; all ones: it has none."""
        if timestamp_ns != _NULL_TIMESTAMP:
            self._published_ns = max(self._published_ns, timestamp_ns)

    def note(self, ms: int, behind: Place | None) -> None:
        """The lowest of the inputs' watermarks, and the last frame that came before it."""
        if ms <= self._newest_ms:
            return
        self._newest_ms = ms
        if len(self._waiting) == WAITING_MAX:
            self._waiting.pop()
        self._waiting.append((ms, behind))

    def release(self, decided: Place | None, epoch: int | None) -> None:
        """Frames up to ``decided`` were joined or written down; ``epoch`` is the present one."""
        while self._waiting:
            ms, behind = self._waiting[0]
            # Frames of an epoch that is over were let go when the next one began.
            is_present = behind is not None and behind[0] == epoch
            if behind is not None and is_present and (decided is None or decided < behind):
                return
            self._released_ms = ms
            self._waiting.popleft()

    def due(self) -> int | None:
        """What goes on now."""
        ms = self._released_ms
        if self._is_reusing:
            ms = min(ms, self._published_ns // _NS_PER_MS)
        if ms <= self._passed_ms:
            return None
        self._passed_ms = ms
        return ms
