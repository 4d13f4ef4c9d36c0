# SPDX-License-Identifier: Apache-2.0
"""A descriptor can be read while there are frames, at the end, and after a failure, and at no other time."""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from framegate.schema.errors import WrongArray
from framegate.shmpool.consumer.readable import Readable

WATCHDOG_S = 30.0


class Source:
    """What a consumer gives: batches that a test puts there, an end, or a failure."""

    def __init__(self) -> None:
        self.ready = deque[Any]()
        self.coming = deque[list[int]]()
        self.failure: Exception | None = None
        self.is_over = False
        self._changed = threading.Condition()

    def put(self, *frames: int) -> None:
        with self._changed:
            self.coming.append(list(frames))
            self._changed.notify()

    def end(self, failure: Exception | None = None) -> None:
        with self._changed:
            self.failure, self.is_over = failure, failure is None
            self._changed.notify()

    def refill(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self.coming or self.failure or self.is_over, 0.01)
            if self.coming:
                self.ready.extend(self.coming.popleft())
            elif self.failure is not None:
                raise self.failure
        return bool(self.ready)


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def readable(source: Source) -> Iterator[Readable]:
    readable = Readable(source.ready, source.refill, lambda: source.is_over)
    yield readable
    readable.stop()


def can_read(readable: Readable, within_s: float = WATCHDOG_S) -> bool:
    return bool(select.select([readable.fd], [], [], within_s)[0])


def test_it_can_be_read_while_frames_are_there_and_not_between(source: Source, readable: Readable) -> None:
    assert not can_read(readable, 0.05)
    source.put(1, 2, 3)
    assert can_read(readable)
    assert len(readable.take(2, 0)) == 2
    assert can_read(readable), "one is left"
    assert len(readable.take(2, 0)) == 1
    assert not can_read(readable, 0.05)
    source.put(4)
    assert can_read(readable)


def test_a_caller_may_wait_for_the_first_frame(source: Source, readable: Readable) -> None:
    later = threading.Timer(0.05, source.put, (1,))
    later.start()
    assert len(readable.take(64, WATCHDOG_S)) == 1
    later.join()


def test_at_the_end_it_stays_readable(source: Source, readable: Readable) -> None:
    source.end()
    for _ in range(3):
        assert can_read(readable)
        assert not readable.take(64, 0)


def test_a_failure_is_raised_to_whoever_reads_behind_the_frames_before_it(source: Source, readable: Readable) -> None:
    source.put(1)
    assert can_read(readable)
    source.end(WrongArray("broken"))
    assert len(readable.take(64, 0)) == 1
    assert can_read(readable)
    for _ in range(2):
        with pytest.raises(WrongArray):
            readable.take(64, 0)


def test_it_is_closed_once_and_no_thread_is_left(source: Source) -> None:
    before = threading.active_count()
    readable = Readable(source.ready, source.refill, lambda: source.is_over)
    readable.stop()
    readable.stop()
    assert threading.active_count() == before
