# SPDX-License-Identifier: Apache-2.0
"""When frames of a replay are due, how late they were, and why some could not be sent."""

from __future__ import annotations

import pytest
from framegate.recording.frames import LOST, NOT_RECORDED, LeftOut, LostPayloads
from framegate.schema.errors import WrongUsage
from framegate.tools.replay.left_out import LossCauses
from framegate.tools.replay.options import MAX, parse_speed
from framegate.tools.replay.timetable import Lateness, Timetable

STREAM, MOVED, EPOCH = 10_001, 30, 7


def left_out(seq: int, cause: str = LOST, epoch: int = EPOCH) -> LeftOut:
    return LeftOut(
        position=seq, log_time_ns=seq, stream=MOVED, recorded_stream=STREAM, epoch=epoch, seq=seq, cause=cause
    )


def test_frames_keep_their_distances_at_any_speed_and_none_at_full_speed() -> None:
    for speed, distance in ((1.0, 1_000), (4.0, 250), (0.5, 2_000)):
        timetable = Timetable(speed)
        due = [timetable.due_ns(log_ns, now_ns=50 + index) for index, log_ns in enumerate((10_000, 11_000, 12_000))]
        assert due == [50, 50 + distance, 50 + 2 * distance]
    full = Timetable(MAX)
    assert [full.due_ns(log_ns, now_ns=now_ns) for log_ns, now_ns in ((10, 5), (1_000_000, 6))] == [5, 6]


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf", "1e9", ""])
def test_a_speed_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(WrongUsage):
        parse_speed(text)


def test_lateness_is_told_within_a_tenth_and_early_is_not_late() -> None:
    lateness = Lateness()
    assert lateness.percentile_ns(0.5) is None
    for late_ns in [-5, *range(1, 1_000)]:
        lateness.note(late_ns * 1_000)
    assert 450_000 <= (lateness.percentile_ns(0.5) or 0) <= 560_000
    assert lateness.as_json()["max"] == 999_000


def test_what_was_left_out_has_the_cause_that_the_file_gives_behind_it() -> None:
    causes = LossCauses()
    for seq in (3, 4, 5, 9):
        causes.left_out(left_out(seq))
    causes.left_out(left_out(6, NOT_RECORDED))
    causes.settle([LostPayloads(STREAM, EPOCH, 4, 4, "overwritten"), LostPayloads(STREAM, EPOCH, 9, 20, "queue_full")])
    assert causes.streams() == [MOVED]
    assert causes.of(MOVED) == {"overwritten": 1, "queue_full": 1, LOST: 2, NOT_RECORDED: 1}


def test_a_cause_of_another_epoch_explains_nothing_and_a_second_round_counts_again() -> None:
    causes = LossCauses()
    for _ in range(2):
        causes.left_out(left_out(3))
        causes.settle([LostPayloads(STREAM, EPOCH + 1, 3, 3, "overwritten")])
    assert causes.of(MOVED) == {LOST: 2}
