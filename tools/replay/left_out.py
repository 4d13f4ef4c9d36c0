# SPDX-License-Identifier: Apache-2.0
"""Why frames of a recording could not be sent again, by the file's own account of lost payloads. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from framegate.recording.frames import LOST, LeftOut, LostPayloads

_RANGES_MAX: Final = 100_000
"""The most ranges that wait for a cause. Beyond it a frame keeps the cause that is known without the file's account."""


@dataclass(slots=True)
class _Range:
    stream: int
    recorded: tuple[int, int]
    """The stream and epoch in the file."""
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


@dataclass(slots=True)
class LossCauses:
    """Frames that were left out. Most causes come after the frames that they explain: they are known at the end."""

    _counts: dict[int, Counter[str]] = field(default_factory=dict)
    _waiting: list[_Range] = field(default_factory=list)

    def left_out(self, item: LeftOut) -> None:
        """Note one frame. If its payload was lost, it waits for the file to give the cause."""
        if item.cause != LOST:
            self._count(item.stream, item.cause, 1)
            return
        recorded = item.recorded_stream, item.epoch
        last = self._waiting[-1] if self._waiting else None
        if last is not None and (last.stream, last.recorded, last.last + 1) == (item.stream, recorded, item.seq):
            last.last = item.seq
        elif len(self._waiting) < _RANGES_MAX:
            self._waiting.append(_Range(item.stream, recorded, item.seq, item.seq))
        else:
            self._count(item.stream, LOST, 1)

    def settle(self, losses: Iterable[LostPayloads]) -> None:
        """Give the waiting frames the causes in the file."""
        named: dict[tuple[int, int], list[LostPayloads]] = {}
        for loss in losses:
            named.setdefault((loss.stream, loss.epoch), []).append(loss)
        for ranges in named.values():
            ranges.sort(key=lambda loss: loss.first)
        for each in self._waiting:
            self._settle(each, named.get(each.recorded, []))
        self._waiting.clear()

    def _settle(self, missing: _Range, named: list[LostPayloads]) -> None:
        left = len(missing)
        at = bisect_right(named, missing.first, key=lambda loss: loss.first)
        for loss in named[max(at - 1, 0) :]:
            if loss.first > missing.last:
                break
            common = min(loss.last, missing.last) - max(loss.first, missing.first) + 1
            if common > 0:
                self._count(missing.stream, loss.cause, common)
                left -= common
        if left > 0:
            self._count(missing.stream, LOST, left)

    def _count(self, stream: int, cause: str, count: int) -> None:
        self._counts.setdefault(stream, Counter())[cause] += count

    def streams(self) -> list[int]:
        """The streams of which frames were left out."""
        return list(self._counts)

    def of(self, stream: int) -> Counter[str]:
        """How many frames of a stream were left out, by cause."""
        return self._counts.get(stream, Counter())
