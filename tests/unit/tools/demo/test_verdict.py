# SPDX-License-Identifier: Apache-2.0
"""What the demo calls wrong: another motion, a row left out or seen twice, a frame that nobody accounts for."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from framegate.joinbarrier.journal.row import JoinedInput, Row
from framegate.schema.errors import DemoWrong
from framegate.shmpool.commands.moving import moved_by
from framegate.tools.audit.auditing import Audit
from framegate.tools.audit.books import Book
from framegate.tools.audit.ranges import Ranges
from framegate.tools.demo.looking import Finding
from framegate.tools.demo.verdict import Verdict

SHAPE = (48, 80)
CAMERAS = ["camera1", "camera2"]
OFFSET_NS = 1_000_000_000
PERIOD_NS = 10_000_000


def newest_ns(row: int) -> int:
    return 5_000_000_000 + row * PERIOD_NS


def joined(row: int) -> Row:
    """A row whose frames were made one after the other, and which was made a little later."""
    at_us = (newest_ns(row) + OFFSET_NS) // 1000 + 200 * (row + 1)
    cells = {
        name: JoinedInput("present", row, newest_ns(row) - late, 1, 0, "uint8", SHAPE, None)
        for name, late in zip(CAMERAS, (7, 0), strict=True)
    }
    return Row({"row": row, "joined_at": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)}, cells)


def finding(row: int, out_seq: int | None = None, **other: Any) -> Finding:
    out_seq = row if out_seq is None else out_seq
    right = Finding(row=row, out_seq=out_seq, apart=float(row), moved=[*moved_by(out_seq, SHAPE)] * 2)
    return right._replace(**other)


def verdict(rows: int = 0) -> Verdict:
    """So many rows were right, and the next ones have come."""
    made = Verdict(CAMERAS, SHAPE, realtime_minus_monotonic_ns=OFFSET_NS)
    for row in range(rows):
        made.see(joined(row))
        made.take(finding(row), newest_ns(row) + 3_000_000)
    if rows:
        made.see(joined(rows))
    return made


def books(published: int, joined: int, **unmatched: int) -> Audit:
    """The second camera's; a frame that nobody accounts for is a finding."""
    found = {name: Book(published=joined, joined=joined) for name in CAMERAS}
    found["camera2"] = Book(published=published, joined=joined, unmatched=Counter(unmatched))
    missing = published - joined - sum(unmatched.values())
    if missing:
        found["camera2"].find(
            "camera2", 1, Ranges([(joined, published - 1)]), "published and neither joined nor unmatched"
        )
    return Audit(found, [])


def test_rows_that_show_what_was_sent_are_right() -> None:
    found = verdict(100)
    assert found.rows == 100
    assert found.moved == moved_by(99, SHAPE)
    found.check(100, books(103, 100, before_first=3))


def test_outputs_that_were_never_joined_leave_a_gap_in_their_numbers_and_none_in_the_rows() -> None:
    found = verdict(3)
    found.take(finding(3, out_seq=17), 0)
    assert found.moved == moved_by(17, SHAPE)


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_camera_that_is_one_step_off_is_wrong(camera: int, axis: int) -> None:
    moved = [*moved_by(3, SHAPE)] * 2
    moved[2 * camera + axis] += 1
    with pytest.raises(DemoWrong) as caught:
        verdict(3).take(finding(3, moved=moved), 0)
    assert (caught.value.facts["camera"], caught.value.facts["row"]) == (CAMERAS[camera], 3)


def test_a_set_without_all_pictures_is_wrong() -> None:
    with pytest.raises(DemoWrong) as caught:
        verdict(3).take(finding(3, moved=[*moved_by(3, SHAPE)]), 0)
    assert (caught.value.facts["camera"], caught.value.facts["have_moved"]) == ("camera2", ())


@pytest.mark.parametrize("row", [2, 4])
def test_a_row_twice_or_left_out_is_wrong(row: int) -> None:
    with pytest.raises(DemoWrong, match="left out a row, or saw one twice"):
        verdict(3).take(finding(row), 0)


def test_nothing_joined_is_wrong() -> None:
    with pytest.raises(DemoWrong, match="nothing was joined"):
        verdict().check(0, books(5, 0, no_partner=5))


def test_a_row_that_was_not_looked_at_is_wrong() -> None:
    with pytest.raises(DemoWrong, match="every row"):
        verdict(9).check(10, books(10, 10))


def test_a_frame_without_a_fate_is_wrong() -> None:
    with pytest.raises(DemoWrong, match="neither joined nor unmatched") as caught:
        verdict(9).check(9, books(10, 9))
    assert caught.value.facts == {"camera": "camera2", "first": 9, "last": 9}


def test_rates_and_lags_are_those_of_the_rows() -> None:
    found = Verdict(CAMERAS, SHAPE, realtime_minus_monotonic_ns=OFFSET_NS)
    for row in range(101):
        found.see(joined(row))
        found.take(finding(row), newest_ns(row) + 3_000_000)
    measured = found.measured(row_bytes=2_000_000)
    assert measured["rows_per_s"] == pytest.approx(100.0)
    assert measured["gb_per_s"] == pytest.approx(0.2)
    assert measured["join_lag_ms"] == {"p50": pytest.approx(10.2), "p99": pytest.approx(20.0)}
    assert measured["result_lag_ms"] == {"p50": 3.0, "p99": 3.0}
    assert measured["mean_difference"] == 50.0
    assert verdict(101).recent_lag_ms() == 3.0


def test_one_row_has_no_rate() -> None:
    found = Verdict(CAMERAS, SHAPE, realtime_minus_monotonic_ns=OFFSET_NS)
    found.see(joined(0))
    found.take(finding(0), 0)
    assert found.measured(row_bytes=1)["rows_per_s"] == 0.0
    assert verdict().recent_lag_ms() is None
