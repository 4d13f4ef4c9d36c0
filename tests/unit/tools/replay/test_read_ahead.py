# SPDX-License-Identifier: Apache-2.0
"""Reading on a thread of its own: the order stays, failures come where items are taken, and the thread ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from framegate.recording.frames import Item, LeftOut
from framegate.tools.replay import read_ahead
from framegate.tools.replay.read_ahead import ReadAhead


def items(count: int) -> Iterator[Item]:
    for seq in range(count):
        yield LeftOut(position=seq, log_time_ns=0, stream=1, recorded_stream=1, epoch=1, seq=seq, cause="lost")


def test_items_come_in_their_order_and_then_it_is_over() -> None:
    with ReadAhead(items(1000)) as ahead:
        assert [item.position for item in ahead] == list(range(1000))


def test_a_failure_of_the_reader_comes_behind_what_was_read() -> None:
    def failing() -> Iterator[Item]:
        yield from items(3)
        raise OSError("the disk is gone")

    taken: list[Item] = []
    with ReadAhead(failing()) as ahead, pytest.raises(OSError, match="the disk is gone"):
        taken.extend(ahead)
    with ReadAhead(failing()) as ahead:
        first = next(iter(ahead))
    assert first.position == 0


def test_no_more_waits_than_there_is_room_for_and_leaving_early_ends_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_ahead, "ITEMS_MAX", 4)
    taken = []
    read = threading.Semaphore(0)

    def counted() -> Iterator[Item]:
        for item in items(100):
            taken.append(item)
            read.release()
            yield item

    with ReadAhead(counted()) as ahead:
        # Four that wait, and one in the reader's hand.
        for _ in range(5):
            assert read.acquire(timeout=30)
        assert next(iter(ahead)).position == 0
    assert len(taken) <= 6
    assert not any(thread.name == "framegate-read-ahead" for thread in threading.enumerate())
