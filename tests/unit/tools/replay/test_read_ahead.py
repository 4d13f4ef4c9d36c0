# SPDX-License-Identifier: Apache-2.0
"""Reading on a thread of its own: the order stays, failures come where items are taken, and the thread ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from framegate.recording.frames import FrameOfRecording, Item, LeftOut
from framegate.shmpool.layout.tensor import Tensor
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


def test_payloads_that_wait_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "BYTES_MAX", 250)
    array = np.zeros(100, np.uint8)
    read = threading.Semaphore(0)
    seqs = []

    def frames() -> Iterator[Item]:
        for seq in range(20):
            seqs.append(seq)
            read.release()
            yield FrameOfRecording(
                position=seq,
                log_time_ns=0,
                stream=1,
                epoch=1,
                seq=seq,
                descriptor_timestamp_ns=None,
                timestamp_ns=None,
                trace_id=0,
                tensor=Tensor.of(array),
                strides=array.strides,
                payload=array.tobytes(),
            )

    with ReadAhead(frames()) as ahead:
        taken = iter(ahead)
        # Three are more than 250 bytes, and one is in the reader's hand. Each that is taken lets one more be read.
        for taken_before in range(10):
            for _ in range(4 if taken_before == 0 else 1):
                assert read.acquire(timeout=30)
            assert len(seqs) == 4 + taken_before
            assert next(taken).position == taken_before
