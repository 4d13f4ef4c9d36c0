# SPDX-License-Identifier: Apache-2.0
"""Reads a recording ahead on a thread of its own, so that unpacking a chunk does not make frames late."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Self

from framegate.recording.frames import FrameOfRecording, Item

ITEMS_MAX: Final = 16_384
BYTES_MAX: Final = 128 << 20
"""How many bytes may be read and not published yet."""


class ReadAhead:
    """Iterate it instead of the items. It is a context manager, whose end ends the thread."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self._waiting: deque[Item] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._is_over = False
        self._is_unwanted = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._read, name="framegate-read-ahead", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._is_unwanted = True
            self._changed.notify_all()
        self._thread.join()

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_over)
                if not self._waiting:
                    if self._failure is not None:
                        raise self._failure
                    return
                item = self._waiting.popleft()
                self._bytes -= _size(item)
                self._changed.notify_all()
            yield item

    def _read(self) -> None:
        try:
            for item in self._items:
                with self._changed:
                    self._changed.wait_for(self._has_room)
                    if self._is_unwanted:
                        return
                    self._waiting.append(item)
                    self._bytes += _size(item)
                    self._changed.notify_all()
        except BaseException as failure:  # raised again where the items are taken
            self._failure = failure
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def _has_room(self) -> bool:
        has_room = len(self._waiting) < ITEMS_MAX and self._bytes < BYTES_MAX
        return has_room or self._is_unwanted


def _size(item: Item) -> int:
    return len(item.payload) if isinstance(item, FrameOfRecording) else 0
