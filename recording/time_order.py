# SPDX-License-Identifier: Apache-2.0
"""The messages of a file in the order of their log times, even if chunks hold single topics or overlap in time.

A chunk is unpacked when its first message is due. Chunks that overlap are held together, within a bound. Beyond it
those that are due last are dropped, and unpacked again later.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from framegate.recording.pieces import Piece
from framegate.recording.recorded import Recorded

HELD_BYTES: Final = 256 << 20

Load = Callable[[Piece], list[Recorded]]
_Key = tuple[int, int]
"""A log time, and the place in the file where the piece begins."""
_NEVER: Final[_Key] = (1 << 64, 0)


@dataclass(slots=True)
class _Open:
    """A piece with messages that are still due."""

    piece: Piece
    messages: list[Recorded] | None
    """Its messages in order; None if they were dropped."""
    next: int = 0
    due_ns: int = 0

    @property
    def key(self) -> _Key:
        return self.due_ns, self.piece.at


def in_order_of_time(pieces: Sequence[Piece], load: Load, held_bytes: int = HELD_BYTES) -> Iterator[Recorded]:
    """All messages of these pieces. ``load`` gives those of one piece, and may be called again for the same one."""
    to_come = deque(sorted(pieces, key=lambda piece: (piece.first_ns, piece.at)))
    open_: list[tuple[_Key, _Open]] = []
    held = 0
    while to_come or open_:
        while to_come and (not open_ or (to_come[0].first_ns, to_come[0].at) < open_[0][0]):
            piece = to_come.popleft()
            begun = _Open(piece, _sorted(load(piece)))
            if begun.messages:
                begun.due_ns = begun.messages[0].log_time_ns
                heapq.heappush(open_, (begun.key, begun))
                held += _bytes(piece)
        if not open_:
            continue
        _, now = heapq.heappop(open_)
        if now.messages is None:
            now.messages = _sorted(load(now.piece))
            held += _bytes(now.piece)
        if held > held_bytes:
            held -= _let_go(open_, held - held_bytes)
        until = min(open_[0][0] if open_ else _NEVER, _first(to_come))
        while now.next < len(now.messages):
            message = now.messages[now.next]
            if (message.log_time_ns, now.piece.at) > until:
                break
            now.next += 1
            yield message
        if now.next < len(now.messages):
            now.due_ns = now.messages[now.next].log_time_ns
            heapq.heappush(open_, (now.key, now))
        else:
            held -= _bytes(now.piece)


def _let_go(open_: list[tuple[_Key, _Open]], surplus: int) -> int:
    """Drop the pieces that are due last, until this many bytes are free. Returns how many bytes are free."""
    freed = 0
    for _, each in sorted(open_, key=lambda entry: entry[0], reverse=True):
        if freed >= surplus:
            break
        if each.messages is not None:
            each.messages = None
            freed += _bytes(each.piece)
    return freed


def _sorted(messages: list[Recorded]) -> list[Recorded]:
    messages.sort(key=lambda message: message.log_time_ns)
    return messages


def _bytes(piece: Piece) -> int:
    return max(piece.content_bytes, piece.end - piece.at)


def _first(to_come: deque[Piece]) -> _Key:
    return (to_come[0].first_ns, to_come[0].at) if to_come else _NEVER
