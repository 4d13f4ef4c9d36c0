# SPDX-License-Identifier: Apache-2.0
"""What a join says of itself: which input it waits for, and how much room is wanted. No agent, and time is given."""

from __future__ import annotations

from typing import Any, Final

import pytest
from framegate.joinbarrier.agent.waiting import AGAIN_NS, QUIET_NS, Watch
from framegate.joinbarrier.config.configuration import JoinConfig

SECOND_NS: Final = 1_000_000_000
SLOTS: Final = 1024


def watch(policy: str = "sequence", **join: object) -> Watch:
    inputs = [{"name": "left", "stream": 10001}, {"name": "right", "stream": 10002}]
    if policy == "timestamp":
        inputs = [{**each, "offset_ns": 0} for each in inputs]
    return Watch(JoinConfig.model_validate({"join": {"journal": "here", "policy": policy, **join}, "input": inputs}))


def seen(**changes: Any) -> dict[str, Any]:
    """What is known of an input."""
    known = {"last_seq": 7, "last_time_ns": None, "last_at_ns": 0, "pending": 0, "ahead": 0, "is_ended": False}
    return {
        **known,
        "older_epoch": None,
        "holds": SLOTS,
        "frame_bytes": 4096,
        "refused": 0,
        "overwritten": 0,
        **changes,
    }


def status(*waiting: dict[str, Any], left: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    found = [{"missing": 0, "reason": "behind", **each} for each in waiting]
    inputs = [left or seen(), seen()]
    return {
        "rows": 0,
        "rows_dropped_early": 0,
        "has_map": True,
        "out": 8,
        "waiting": found,
        "inputs": inputs,
        **changes,
    }


def outcome(**changes: Any) -> dict[str, Any]:
    return {"is_full": False, "full_reason": "", "is_finished": False, **changes}


def said(found: dict[str, Any], policy: str = "sequence", ended: dict[str, Any] | None = None) -> list[str]:
    """The lines after just over two seconds without a row."""
    watched = watch(policy)
    assert watched.look(found, ended or outcome(), 0) == []
    return watched.look(found, ended or outcome(), QUIET_NS)


def test_nothing_is_said_while_rows_come_nor_before_two_seconds_without_one() -> None:
    watched, waiting = watch(), {"input": 1, "missing": 1}
    for second in range(5):
        assert watched.look(status(waiting, rows=second), outcome(), second * SECOND_NS) == []
    assert watched.look(status(waiting, rows=4), outcome(), 4 * SECOND_NS + QUIET_NS - 1) == []


def test_the_input_that_is_waited_for_is_named_with_what_it_lacks_and_since_when() -> None:
    (line,) = said(status({"input": 1, "missing": 1}))
    assert line == "no row for 2.0 s: out 8 waits for right (last seq 7, 2.0 s ago, 1 frames short)"


def test_an_input_that_never_came_and_one_that_went_back_are_told_apart() -> None:
    (line,) = said(status({"input": 0}, {"input": 1, "reason": "rejected"}, left=seen(last_seq=None)))
    assert "left (nothing was seen of it yet)" in line
    assert "right (last seq 7, 2.0 s ago, rejected, because its timestamps went back)" in line


def test_an_input_whose_frames_are_of_an_epoch_before_the_known_one_says_so_and_what_helps() -> None:
    (line,) = said(status({"input": 0}, left=seen(last_seq=None, older_epoch=(9, 5))))
    assert "left (its frames are of epoch 5, but the later epoch 9 is known already" in line
    assert "--new-epoch" in line


def test_by_time_what_is_short_is_nanoseconds() -> None:
    (line,) = said(status({"input": 1, "missing": 5_000_000}), "timestamp")
    assert line.endswith("5000000 ns short)")


def test_it_is_said_again_after_a_while_and_not_before() -> None:
    watched, found = watch(), status({"input": 1, "missing": 1})
    lines = [watched.look(found, outcome(), second * SECOND_NS) for second in range(14)]
    assert [second for second, each in enumerate(lines) if each] == [2, 2 + AGAIN_NS // SECOND_NS]


def test_a_row_begins_the_two_seconds_anew() -> None:
    watched, waiting = watch(), {"input": 1, "missing": 1}
    assert watched.look(status(waiting), outcome(), 0) == []
    assert watched.look(status(waiting), outcome(), QUIET_NS)
    assert watched.look(status(waiting, rows=1), outcome(), QUIET_NS + 1) == []
    assert watched.look(status(waiting, rows=1), outcome(), QUIET_NS + SECOND_NS) == []


@pytest.mark.parametrize("ended", [{"is_finished": True}, {"is_full": True, "full_reason": "no room"}])
def test_a_join_that_is_over_or_held_up_by_its_journal_waits_for_no_input(ended: dict[str, Any]) -> None:
    assert not [line for line in said_all(status({"input": 1}), outcome(**ended)) if "waits for" in line]


def said_all(found: dict[str, Any], ended: dict[str, Any]) -> list[str]:
    watched = watch()
    return [*watched.look(found, ended, 0), *watched.look(found, ended, QUIET_NS)]


def test_a_full_journal_is_told_once_and_that_it_has_room_again() -> None:
    watched, full = watch(), outcome(is_full=True, full_reason="a reader holds it")
    lines = [watched.look(status(), each, 0) for each in (full, full, outcome(), outcome())]
    assert [len(each) for each in lines] == [1, 0, 1, 0]
    assert "a reader holds it" in lines[0][0]
    assert "room again" in lines[2][0]


def test_without_a_map_it_is_the_map_that_is_missing() -> None:
    (line,) = said(status(has_map=False))
    assert "no valid map of output 20001 was announced yet; its authority may not run" in line


def test_a_map_that_was_refused_is_told_by_its_reason() -> None:
    (line,) = said(status(has_map=False, blocked="unknown_stream"))
    assert "output 20001 is blocked (unknown_stream)" in line


@pytest.mark.parametrize(("missing", "is_hopeless"), [(None, False), (SLOTS, False), (SLOTS + 1, True)])
def test_an_input_further_behind_than_the_other_ones_frames_can_wait_is_said_never_to_meet_it(
    missing: int | None, is_hopeless: bool
) -> None:
    (line,) = said(status({"input": 1, "missing": missing}))
    assert ("further behind than frames of left can wait" in line) == is_hopeless
    assert ('policy = "timestamp"' in line) == is_hopeless


def test_by_time_inputs_that_are_far_apart_may_meet() -> None:
    (line,) = said(status({"input": 1, "missing": SLOTS + 1}), "timestamp")
    assert "never meet" not in line


@pytest.mark.parametrize(("ahead", "wanted"), [(128, 256), (150, 256), (1000, 2048)])
def test_a_ring_that_lost_what_waited_is_told_once_with_slots_that_hold_the_skew_and_a_quarter(
    ahead: int, wanted: int
) -> None:
    watched = watch(pending="ring")
    found = status(left=seen(holds=128, overwritten=1, ahead=ahead), rows=1)
    (line,) = watched.look(found, outcome(), 0)
    assert line.startswith(f"left: {ahead} newer frames came while one waited for its partners")
    assert f'pending = "auto", or give the stream {wanted} slots' in line
    assert watched.look(found, outcome(), 1) == []


def test_copies_that_find_no_room_are_told_with_the_bytes_to_set_and_again_when_it_is_more() -> None:
    watched = watch(pending="auto", pending_bytes=1 << 20)
    found = [status(left=seen(holds=256, refused=1, ahead=ahead), rows=1) for ahead in (256, 300, 1000)]
    lines = [watched.look(each, outcome(), 0) for each in found]
    assert [len(each) for each in lines] == [1, 0, 1]
    assert 'Set pending_bytes = "2MiB" or more' in lines[0][0]
    assert 'Set pending_bytes = "8MiB" or more' in lines[2][0]


@pytest.mark.parametrize("pending", ["ring", "auto"])
@pytest.mark.parametrize("changes", [{"ahead": 500}, {"overwritten": 9, "refused": 9, "ahead": 100}])
def test_an_input_that_lost_nothing_or_nothing_by_waiting_has_room_enough(
    pending: str, changes: dict[str, Any]
) -> None:
    assert watch(pending=pending).look(status(left=seen(holds=128, **changes), rows=1), outcome(), 0) == []
