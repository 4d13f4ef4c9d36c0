# SPDX-License-Identifier: Apache-2.0
"""What stands between the frames, kept for whoever asks: once, in order, within bounds."""

from __future__ import annotations

import pytest
from framegate.schema.control import CheckpointBarrier, ControlSignal, SignalCategory, SignalKind, Watermark
from framegate.shmpool.consumer.control_inbox import QUEUE_BOUND, ControlInbox

STREAM, EPOCH = 10_001, 7


def barrier(checkpoint_id: int) -> CheckpointBarrier:
    return CheckpointBarrier(
        checkpoint_id=checkpoint_id, epoch=1, flags=0, stream_id=STREAM, source_epoch=EPOCH, after_seq=3
    )


def signal(category: SignalCategory, barrier_id: int) -> ControlSignal:
    return ControlSignal(
        category=category,
        kind=SignalKind.SYNC_TEST,
        barrier_id=barrier_id,
        stream_id=STREAM,
        source_epoch=EPOCH,
        after_seq=3,
        pipeline="default",
    )


@pytest.mark.parametrize(
    "message",
    [
        barrier(4),
        Watermark(timestamp_ms=5, stream_id=STREAM, source_epoch=EPOCH),
        signal(SignalCategory.BARRIER, 9),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_comes_by_the_shared_stream_and_by_ones_own_is_kept_once(
    message: CheckpointBarrier | Watermark | ControlSignal,
) -> None:
    between = ControlInbox(None)
    for _ in range(2):
        assert between.hear(message.encode(), EPOCH, 3) == message
    assert [each.message for each in between.take()] == [message]
    between.hear(message.encode(), EPOCH, 3)
    assert between.take() == []


def test_instant_signals_are_not_told_apart_and_all_kept() -> None:
    between = ControlInbox(None)
    for _ in range(2):
        between.hear(signal(SignalCategory.INSTANT, 0).encode(), EPOCH, 3)
    assert len(between.take()) == 2


def test_what_is_remembered_is_bounded() -> None:
    between = ControlInbox(None)
    for checkpoint_id in range(1, 2 * QUEUE_BOUND):
        between.hear(barrier(checkpoint_id).encode(), EPOCH, 3)
    assert len(between._recent) == QUEUE_BOUND
    assert (len(between.take()), between.dropped) == (QUEUE_BOUND, QUEUE_BOUND - 1)
