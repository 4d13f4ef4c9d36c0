# SPDX-License-Identifier: Apache-2.0
"""What the demo calls wrong: another motion, a row left out or seen twice, a frame that nobody accounts for."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.schema.errors import DemoWrong
from framegate.shmpool.commands.moving import moved_by
from framegate.tools.demo.looking import Finding
from framegate.tools.demo.verdict import Verdict

SHAPE = (48, 80)
CAMERAS = ["camera1", "camera2"]
OFFSET_NS = 1_000_000_000
PERIOD_NS = 10_000_000


def finding(row: int, out_seq: int | None = None, **other: Any) -> Finding:
    out_seq = row if out_seq is None else out_seq
    newest_ns = 5_000_000_000 + row * PERIOD_NS
    right = Finding(
        row=row,
        out_seq=out_seq,
        newest_ns=newest_ns,
        joined_ns=newest_ns + OFFSET_NS + 200_000 * (row + 1),
        mean=80.0,
        difference=float(row),
        moved=[*moved_by(out_seq, SHAPE)] * 2,
    )
    return right._replace(**other)


def verdict(rows: int = 0) -> Verdict:
    made = Verdict(CAMERAS, SHAPE, realtime_minus_monotonic_ns=OFFSET_NS)
    for row in range(rows):
        made.take(finding(row), finding(row).newest_ns + 3_000_000)
    return made


def joined(rows: int, **unmatched: int) -> dict[str, Any]:
    return {"rows": rows, "unmatched": unmatched}


def test_rows_that_show_what_was_sent_are_right() -> None:
    found = verdict(100)
    assert found.rows == 100
    assert found.moved(99) == moved_by(99, SHAPE)
    assert found.moved(100) is None
    found.check_account(joined(100, camera1=2, camera2=3), {"camera1": 102, "camera2": 103})


def test_outputs_that_were_never_joined_leave_a_gap_in_their_numbers_and_none_in_the_rows() -> None:
    found = verdict(3)
    found.take(finding(3, out_seq=17), 0)
    assert found.moved(3) == moved_by(17, SHAPE)


@pytest.mark.parametrize("camera", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_camera_that_is_one_step_off_is_wrong(camera: int, axis: int) -> None:
    moved = [*moved_by(3, SHAPE)] * 2
    moved[2 * camera + axis] += 1
    with pytest.raises(DemoWrong) as caught:
        verdict(3).take(finding(3, moved=moved), 0)
    assert (caught.value.facts["camera"], caught.value.facts["row"]) == (CAMERAS[camera], 3)


def test_a_set_without_all_pictures_is_wrong() -> None:
    with pytest.raises(DemoWrong, match="without all its pictures"):
        verdict(3).take(finding(3, moved=[*moved_by(3, SHAPE)]), 0)


@pytest.mark.parametrize("row", [2, 4])
def test_a_row_twice_or_left_out_is_wrong(row: int) -> None:
    with pytest.raises(DemoWrong, match="left out a row, or saw one twice"):
        verdict(3).take(finding(row), 0)


def test_nothing_joined_is_wrong() -> None:
    with pytest.raises(DemoWrong, match="nothing was joined"):
        verdict().check_account(joined(0, camera1=5, camera2=5), {"camera1": 5, "camera2": 5})


def test_a_row_that_was_not_looked_at_is_wrong() -> None:
    with pytest.raises(DemoWrong, match="every row"):
        verdict(9).check_account(joined(10), {"camera1": 10, "camera2": 10})


@pytest.mark.parametrize("told", [0, 2])
def test_a_frame_too_few_or_too_many_in_the_sums_is_wrong(told: int) -> None:
    with pytest.raises(DemoWrong) as caught:
        verdict(9).check_account(joined(9, camera1=0, camera2=told), {"camera1": 9, "camera2": 10})
    assert caught.value.facts == {"camera": "camera2", "frames": 10, "joined": 9, "not_joined": told}


def test_rates_and_lags_are_those_of_the_rows() -> None:
    measured = verdict(101).measured(row_bytes=2_000_000)
    assert measured["rows_per_s"] == pytest.approx(100.0)
    assert measured["gb_per_s"] == pytest.approx(0.2)
    assert measured["join_lag_ms"] == {"p50": pytest.approx(10.2), "p99": pytest.approx(20.0)}
    assert measured["result_lag_ms"] == {"p50": 3.0, "p99": 3.0}
    assert measured["mean_difference"] == 50.0
    assert verdict(101).recent_lag_ms() == 3.0


def test_one_row_has_no_rate() -> None:
    assert verdict(1).measured(row_bytes=1)["rows_per_s"] == 0.0
    assert verdict().recent_lag_ms() is None
