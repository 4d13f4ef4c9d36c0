# SPDX-License-Identifier: Apache-2.0
"""FrameProgress: what a producer says of a frame that it fills, and what a consumer believes (PROTOCOL 8)."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import pytest
from framegate.schema.errors import InvalidValue
from framegate.schema.wire import FrameProgress, FrameProgressState
from framegate.shmpool.client.progress import ProgressFilter, ProgressPolicy, ProgressThrottle, ProgressWish
from hypothesis import given
from hypothesis import strategies as st

STREAM = 7
EPOCH = 5
TOTAL = 1_000_000
POLICY = ProgressPolicy(interval_ns=250_000, bytes_delta=65_536)
STARTED, PROGRESS, COMPLETE = FrameProgressState.STARTED, FrameProgressState.PROGRESS, FrameProgressState.COMPLETE


def report(throttle: ProgressThrottle, filled: int, now_ns: int, seq: int = 0, row: int = 0) -> list[tuple[str, int]]:
    messages = throttle.report(
        epoch=EPOCH, seq=seq, filled_bytes=filled, total_bytes=TOTAL, major_bytes=row, now_ns=now_ns
    )
    assert all((message.stream_id, message.epoch, message.seq) == (STREAM, EPOCH, seq) for message in messages)
    return [(message.state.name, message.payload_bytes_filled) for message in messages]


def throttle(policy: ProgressPolicy = POLICY) -> ProgressThrottle:
    return ProgressThrottle(STREAM, policy)


# --- the producer's side ------------------------------------------------------------------------------------


def test_a_frame_is_started_once_then_in_progress_then_complete_once() -> None:
    said = throttle()
    assert report(said, 0, 0) == [("STARTED", 0)]
    assert report(said, 100_000, 1_000_000) == [("PROGRESS", 100_000)]
    assert report(said, 200_000, 2_000_000) == [("PROGRESS", 200_000)]
    assert report(said, TOTAL, 2_000_001) == [("COMPLETE", TOTAL)]
    assert report(said, TOTAL, 9_000_000) == []
    assert said.poll(9_000_000) == []


def test_a_frame_that_is_filled_at_once_is_started_and_complete() -> None:
    assert report(throttle(), TOTAL, 0) == [("STARTED", TOTAL), ("COMPLETE", TOTAL)]


def test_progress_needs_the_interval_and_the_step() -> None:
    said = throttle()
    report(said, 0, 0)
    assert report(said, 65_536, 249_999) == []
    assert report(said, 65_536, 250_000) == [("PROGRESS", 65_536)]
    assert report(said, 131_071, 1_000_000) == []
    assert report(said, 131_072, 1_000_000) == [("PROGRESS", 131_072)]


def test_when_the_interval_is_over_the_newest_state_goes_out_without_another_report() -> None:
    said = throttle()
    report(said, 0, 0)
    for filled in (100_000, 200_000, 300_000):
        assert report(said, filled, 1_000) == []
    (message,) = said.poll(250_000)
    assert (message.state, message.payload_bytes_filled) == (PROGRESS, 300_000)
    assert said.poll(500_000) == []


def test_rows_count_where_somebody_asked_for_rows() -> None:
    said = throttle(ProgressPolicy(interval_ns=0, bytes_delta=TOTAL, major_delta=4))
    report(said, 0, 0, row=10_000)
    assert report(said, 39_999, 1, row=10_000) == []
    assert report(said, 40_000, 2, row=10_000) == [("PROGRESS", 40_000)]


def test_more_than_the_frame_has_is_misuse() -> None:
    said = throttle()
    for filled in (TOTAL + 1, -1):
        with pytest.raises(InvalidValue, match="limit_bytes=1000000"):
            report(said, filled, 0)


def test_less_than_before_says_nothing() -> None:
    """As when an exception abandons a claim, and its sequence is used again."""
    said = throttle()
    report(said, 0, 0)
    report(said, 500_000, 1_000_000)
    assert report(said, 100_000, 2_000_000) == []
    assert report(said, 600_000, 3_000_000) == [("PROGRESS", 600_000)]


def test_another_sequence_or_epoch_is_another_frame() -> None:
    said = throttle()
    report(said, 500_000, 0)
    assert report(said, 10, 1, seq=1) == [("STARTED", 10)]
    messages = said.report(epoch=EPOCH + 1, seq=1, filled_bytes=5, total_bytes=TOTAL, major_bytes=0, now_ns=2)
    assert [(message.epoch, message.state) for message in messages] == [(EPOCH + 1, STARTED)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, TOTAL), st.integers(0, 400_000)), max_size=60))
def test_whatever_is_reported_states_and_bytes_never_go_back_and_the_rate_holds(
    reports: list[tuple[int, int, int]],
) -> None:
    said, now_ns, heard = throttle(), 0, []
    seq = 0
    for next_frame, filled, step in reports:
        now_ns += step
        seq += next_frame == 3
        messages = said.report(
            epoch=EPOCH, seq=seq, filled_bytes=filled, total_bytes=TOTAL, major_bytes=0, now_ns=now_ns
        )
        heard += [(now_ns, message) for message in messages]
    for (earlier_ns, earlier), (later_ns, later) in pairwise(heard):
        if later.seq == earlier.seq:
            assert later.state > earlier.state or later.state is earlier.state is PROGRESS
            assert TOTAL >= later.payload_bytes_filled >= earlier.payload_bytes_filled
            assert later.state is not PROGRESS or later_ns - earlier_ns >= POLICY.interval_ns
        else:
            assert later.state is STARTED


def test_the_policy_is_the_smallest_that_was_offered_not_below_the_floors_with_defaults() -> None:
    assert ProgressPolicy.of([]) == ProgressPolicy(250_000, 65_536, None)
    assert ProgressPolicy.of([ProgressWish()]) == ProgressPolicy(250_000, 65_536, None)
    several = [ProgressWish(300, 20_000, 9), ProgressWish(400, 10_000, 5), ProgressWish(None, None, 0)]
    assert ProgressPolicy.of(several) == ProgressPolicy(300_000, 10_000, 5)
    assert ProgressPolicy.of([ProgressWish(0, 0, 1)]) == ProgressPolicy(100_000, 4_096, 1)
    assert ProgressPolicy(0, 65_536, 1).step_bytes(1) == 4_096


# --- the consumer's side -------------------------------------------------------------------------------------


def seen_by() -> ProgressFilter:
    believed = ProgressFilter(STREAM)
    believed.on_mapped(EPOCH, nslots=8, longest_payload=TOTAL)
    return believed


def said(
    filled: int, state: FrameProgressState = PROGRESS, seq: int = 3, epoch: int = EPOCH, stream: int = STREAM
) -> FrameProgress:
    return FrameProgress(stream_id=stream, epoch=epoch, seq=seq, payload_bytes_filled=filled, state=state)


def test_the_messages_of_a_frame_in_their_order_are_believed() -> None:
    believed = seen_by()
    order = [said(0, STARTED), said(10), said(10), said(20), said(TOTAL, COMPLETE)]
    assert [believed.admits(message) for message in order] == [True] * 5


def test_who_joins_in_the_middle_of_a_frame_believes_what_follows() -> None:
    assert seen_by().admits(said(10))


def test_another_stream_or_epoch_is_not_ours() -> None:
    believed = seen_by()
    assert not believed.admits(said(1, stream=STREAM + 1))
    assert believed.dropped == 0
    for epoch in (EPOCH - 1, EPOCH + 1):
        assert not believed.admits(said(1, epoch=epoch))
    assert believed.dropped == 2


def test_bytes_that_decrease_are_dropped() -> None:
    believed = seen_by()
    assert believed.admits(said(20))
    assert not believed.admits(said(19))
    assert believed.admits(said(20))


def test_states_that_go_back_or_have_no_meaning_are_dropped() -> None:
    believed = seen_by()
    assert not believed.admits(said(1, FrameProgressState.UNKNOWN))
    assert believed.admits(said(1, STARTED))
    assert not believed.admits(said(1, STARTED))
    assert believed.admits(said(TOTAL, COMPLETE))
    for state in (STARTED, PROGRESS, COMPLETE):
        assert not believed.admits(said(TOTAL, state))


def test_more_bytes_than_any_slot_holds_are_dropped() -> None:
    assert not seen_by().admits(said(TOTAL + 1))


def test_one_frame_a_slot_is_remembered_and_the_slot_is_the_sequence_modulo_the_ring() -> None:
    believed = seen_by()
    assert believed.admits(said(50, seq=3))
    assert believed.admits(said(10, seq=4))
    assert believed.admits(said(10, seq=3 + 8))
    assert not believed.admits(said(60, seq=3))


def test_nothing_is_believed_without_regions_and_nothing_remembered_beyond_them() -> None:
    believed = seen_by()
    believed.admits(said(50))
    believed.on_unmapped()
    assert not believed.admits(said(60))
    believed.on_mapped(EPOCH, 8, TOTAL)
    assert believed.admits(said(1))


def test_what_is_told_are_numbers_and_no_way_to_the_payload() -> None:
    """So nothing beyond the filled bytes can be read, and no prefix be taken for whole rows."""
    assert {field.name for field in fields(FrameProgress)} == {
        "stream_id",
        "epoch",
        "seq",
        "payload_bytes_filled",
        "state",
    }
