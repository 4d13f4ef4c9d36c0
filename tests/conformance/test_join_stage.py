# SPDX-License-Identifier: Apache-2.0
"""Which frames a join tries to read, and what becomes of the others: one suite for the twin and the native stage."""

from __future__ import annotations

import json
from typing import Any, Protocol

import pytest
from framegate.joinbarrier.config.policies import POLICIES, PolicyName
from framegate.joinbarrier.journal.causes import Cause
from framegate.schema.errors import MapRefused
from framegate.schema.merge import TimestampSource
from framegate.spec.join.history import Rejection

from framegate._native import join_causes
from tests.joins.stage_world import IMPLEMENTATIONS, Implementation, World, recall


class MakeWorld(Protocol):
    def __call__(self, *inputs: dict[str, Any], **config: Any) -> World: ...


@pytest.fixture(params=IMPLEMENTATIONS)
def impl(request: pytest.FixtureRequest) -> Implementation:
    """Both answer the same."""
    chosen: Implementation = request.param
    return chosen


@pytest.fixture
def world(impl: Implementation) -> MakeWorld:
    """A stage with these inputs."""
    return lambda *inputs, **config: World(impl, inputs, **{"policy": "sequence", **config})


# --- Sequence ---


def test_lockstep_joins_equal_sequences(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(3))
    assert stage.join() == []
    stage.frames(1, range(2))
    assert stage.join() == [(0, 0, 0), (1, 1, 1)]
    assert stage.leftovers() == [(0, 2, 2, "pending_at_end")]


def test_offset_joins_the_frame_so_far_back_and_skips_what_no_rule_can_satisfy(world: MakeWorld) -> None:
    stage = world({}, {"offset": -2})
    stage.frames(0, range(5))
    stage.frames(1, range(5))
    assert stage.join() == [(2, 2, 0), (3, 3, 1), (4, 4, 2)]
    assert stage.leftovers() == [(0, 0, 1, "before_first"), (1, 3, 4, "pending_at_end")]


def test_first_is_the_smallest_output_that_every_input_has_a_frame_for(world: MakeWorld) -> None:
    stage = world({}, {"offset": 3})
    stage.frames(0, range(100, 106))
    assert stage.join() == []
    stage.frames(1, range(105, 109))
    assert stage.join() == [(102, 102, 105), (103, 103, 106), (104, 104, 107), (105, 105, 108)]
    assert stage.left() == [(0, 100, 101, "before_first")]


def test_given_first_output_is_heeded_and_earlier_frames_are_before_first(world: MakeWorld) -> None:
    stage = world({}, {}, first=2)
    stage.frames(0, range(4))
    stage.frames(1, range(4))
    assert stage.join() == [(2, 2, 2), (3, 3, 3)]
    assert stage.left() == [(0, 0, 1, "before_first"), (1, 0, 1, "before_first")]


def test_given_first_below_what_rules_can_satisfy_is_raised(world: MakeWorld) -> None:
    stage = world({"window": 3}, {"offset": -4}, first=0)
    stage.frames(0, range(6))
    stage.frames(1, range(2))
    assert stage.join() == [(4, 4, 0), (5, 5, 1)]


def test_gap_gives_no_row_and_its_partners_no_partner(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(8))
    stage.frames(1, [0, 1, 5, 6])
    assert stage.join() == [(0, 0, 0), (1, 1, 1), (5, 5, 5), (6, 6, 6)]
    assert stage.left() == [(0, 2, 4, "no_partner")]
    assert stage.counters["skipped_outputs"] == 3


def test_huge_gap_is_jumped_at_once_and_partners_that_come_later_have_none(world: MakeWorld) -> None:
    far = 2**40
    stage = world({}, {})
    stage.frames(0, [0, 1])
    stage.frames(1, [0, far])
    assert stage.join() == [(0, 0, 0)]
    stage.frames(0, [2, 3, far])
    assert stage.join() == [(far, far, far)]
    assert stage.left() == [(0, 1, 3, "no_partner")]
    assert stage.stage.take_unmatched() == []


def test_window_takes_the_newest_of_the_last_frames(world: MakeWorld) -> None:
    stage = world({"window": 5}, {})
    stage.frames(0, [0, 1, 2, 5, 9, 16])
    stage.frames(1, range(16))
    assert stage.join() == [
        *[(4, 2, 4), (5, 5, 5), (6, 5, 6), (7, 5, 7), (8, 5, 8)],
        *[(9, 9, 9), (10, 9, 10), (11, 9, 11), (12, 9, 12), (13, 9, 13)],
    ]
    assert stage.leftovers() == [
        *[(0, 0, 1, "superseded"), (0, 16, 16, "pending_at_end")],
        *[(1, 0, 3, "before_first"), (1, 14, 15, "no_partner")],
    ]


def test_window_frame_below_every_later_window_had_no_match(world: MakeWorld) -> None:
    stage = world({"window": 2}, {})
    stage.frames(0, range(10))
    stage.frames(1, [0, 1, 9])
    assert stage.join() == [(1, 1, 1), (9, 9, 9)]
    # 8 lies in the window of 9, and lost to 9; 2 to 7 were in no window of a row.
    assert stage.left(0) == [(0, 0, "superseded"), (2, 7, "no_match"), (8, 8, "superseded")]


def test_window_without_reuse_joins_a_frame_once(world: MakeWorld) -> None:
    stage = world({"window": 3, "reuse": False}, {})
    stage.frames(0, [0, 2, 5])
    stage.frames(1, range(6))
    assert stage.join() == [(2, 2, 2), (5, 5, 5)]
    assert stage.left(1) == [(0, 1, "before_first"), (3, 4, "no_partner")]


def test_frame_that_cannot_be_read_gives_no_row(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.unreadable = {(1, 1)}
    stage.frames(0, range(3))
    stage.frames(1, range(3))
    assert stage.join() == [(0, 0, 0), (2, 2, 2)]
    assert stage.left() == [(1, 1, 1, "overwritten"), (0, 1, 1, "no_partner")]
    assert stage.counters["overwritten"] == [0, 1]


def test_unread_window_frame_gives_way_to_the_next_older_of_the_same_output(world: MakeWorld) -> None:
    stage = world({"window": 3}, {})
    stage.unreadable = {(0, 2)}
    stage.frames(0, range(3))
    stage.frames(1, range(3))
    assert stage.join() == [(2, 1, 2)]
    assert stage.left(0) == [(0, 0, "superseded"), (2, 2, "overwritten")]


def test_lost_at_arrival_counts_as_observed_and_gives_no_row(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(3))
    stage.frame(1, 0)
    assert stage.stage.observe_lost(11, 1, 1, Cause.OVERWRITTEN, 0)
    stage.frame(1, 2)
    assert stage.join() == [(0, 0, 0), (2, 2, 2)]
    assert stage.left() == [(1, 1, 1, "overwritten"), (0, 1, 1, "no_partner")]


def test_lapped_stream_goes_on_with_frames_that_last_and_its_partner_goes_along(world: MakeWorld) -> None:
    """A ring of eight slots: frame 11 is the newest, so 0 to 3 were overwritten and 4 to 7 are passed over."""
    stage = world({}, {})
    stage.frames(0, range(12))
    stage.frames(1, range(12))
    assert stage.join(limit=1) == [(0, 0, 0)]
    stage.stage.lost_below(10, 1, 4, 8)
    assert stage.join() == [(seq, seq, seq) for seq in range(8, 12)]
    assert stage.left() == [(0, 1, 3, "overwritten"), (0, 4, 7, "aged"), (1, 1, 7, "no_partner")]
    assert stage.counters["overwritten"] == [3, 0]


def test_lap_of_another_epoch_costs_nothing(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(4))
    stage.stage.lost_below(10, 2, 2, 4)
    stage.frames(1, range(4))
    assert stage.join() == [(seq, seq, seq) for seq in range(4)]


def test_full_history_keeps_what_waits_longest_and_loses_what_comes(world: MakeWorld) -> None:
    stage = world({}, {}, history=4)
    stage.frames(0, range(7))
    stage.frames(1, range(2))
    assert stage.join() == [(0, 0, 0), (1, 1, 1)]
    # There is room again, behind a range that goes on as long as frames came in vain.
    stage.frames(0, [7])
    stage.frames(1, range(2, 4))
    assert stage.join() == [(2, 2, 2), (3, 3, 3)]
    stage.frames(1, range(4, 8))
    assert stage.join() == [(7, 7, 7)]
    assert stage.left() == [(0, 4, 6, "no_room"), (1, 4, 6, "no_partner")]
    assert stage.counters["overwritten"] == [0, 0]


def test_full_history_gives_up_its_oldest_where_two_ranges_do_not_meet(world: MakeWorld) -> None:
    """Frame 5 was never sent, so it belongs to no range."""
    stage = world({}, {}, history=3)
    stage.frames(0, [0, 1, 2, 3, 4, 6])
    assert stage.left() == [(0, 0, 0, "no_room")]
    stage.frames(1, range(3))
    assert stage.join() == [(1, 1, 1), (2, 2, 2)]
    assert stage.left() == [(1, 0, 0, "before_first"), (0, 3, 4, "no_room"), (0, 6, 6, "no_room")]


def test_input_drive_makes_one_output_of_each_of_its_frames(world: MakeWorld) -> None:
    stage = world({"offset": 0}, {"window": 4}, drive="input", drive_input=0)
    stage.frames(1, range(12))
    stage.frames(0, [4, 8, 11])
    assert stage.join() == [(4, 4, 4), (8, 8, 8), (11, 11, 11)]
    assert stage.left() == [
        *[(1, 0, 0, "before_first"), (1, 1, 3, "superseded")],
        *[(1, 5, 7, "superseded"), (1, 9, 10, "superseded")],
    ]


def test_window_of_the_driving_input_takes_the_frame_that_drives(world: MakeWorld) -> None:
    stage = world({"window": 3}, {}, drive="input", drive_input=0)
    stage.frames(0, [3, 6])
    stage.frames(1, range(3, 8))
    assert stage.join() == [(3, 3, 3), (6, 6, 6)]
    assert stage.left() == [(1, 4, 5, "no_partner")]


def test_frame_of_a_skipped_output_that_comes_later_has_no_partner(world: MakeWorld) -> None:
    stage = world({}, {}, drive="input", drive_input=0)
    stage.frames(0, [0, 5])
    stage.frame(1, 0)
    assert stage.join() == [(0, 0, 0)]
    stage.frames(1, range(1, 6))
    assert stage.join() == [(5, 5, 5)]
    assert stage.left() == [(1, 1, 4, "no_partner")]


def test_two_inputs_on_one_stream_pick_each_by_its_rule(world: MakeWorld) -> None:
    stage = world({"stream": 10}, {"stream": 10, "offset": -1})
    stage.frames(0, range(4))
    assert stage.join() == [(1, 1, 0), (2, 2, 1), (3, 3, 2)]
    assert stage.leftovers() == [(0, 0, 0, "before_first"), (1, 3, 3, "pending_at_end")]


def test_several_rules_on_one_input_hold_together(world: MakeWorld) -> None:
    stage = world({"stream": 10, "offset": 0}, {"stream": 10, "offset": 2}, {"stream": 11})
    stage.frames(0, range(3))
    stage.frames(2, range(5))
    assert stage.join() == [(0, 0, 2, 0)]
    stage.frames(0, [3])
    assert stage.join() == [(1, 1, 3, 1)]


def test_processed_cursor_holds_an_output_back(world: MakeWorld) -> None:
    stage = world({"processed": True}, {})
    stage.frames(0, range(2))
    stage.frames(1, range(2))
    assert stage.join() == []
    stage.stage.processed(10, 1, 0)
    assert stage.join() == [(0, 0, 0)]


def test_sequences_up_to_the_limit_are_joined_and_above_it_refused(world: MakeWorld) -> None:
    top = 2**63 - 1
    stage = world({}, {})
    stage.frames(0, [top])
    stage.frames(1, [top])
    assert stage.join() == [(top, top, top)]
    assert not stage.frame(0, top + 1)
    assert not stage.frame(0, 5, epoch=top + 1)
    assert stage.left() == [(0, top + 1, top + 1, "no_match"), (0, 5, 5, "no_match")]
    assert stage.counters["out_of_range"] == 2


def test_repeated_sequence_is_ignored_and_counted(world: MakeWorld) -> None:
    stage = world({})
    stage.frames(0, [0, 1])
    assert stage.join() == [(0, 0), (1, 1)]
    assert not stage.frame(0, 1)
    assert not stage.frame(0, 0)
    assert (stage.join(), stage.leftovers(), stage.counters["repeated"]) == ([], [], 2)


def test_missed_range_is_one_entry_and_its_partners_have_none(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(8))
    stage.frame(1, 0)
    stage.stage.missed(11, 1, 1, 5, 0)
    stage.frames(1, [6, 7])
    assert stage.join() == [(0, 0, 0), (6, 6, 6), (7, 7, 7)]
    assert stage.left() == [(1, 1, 5, "agent_down"), (0, 1, 5, "no_partner")]


def test_missed_frames_that_were_observed_are_not_missed(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(3))
    stage.stage.missed(10, 1, 1, 4, 0)
    assert stage.leftovers() == [(0, 0, 2, "pending_at_end"), (0, 3, 4, "agent_down")]


# --- The map ---


def test_nothing_is_attempted_without_a_valid_map(world: MakeWorld) -> None:
    stage = world({}, {}, has_map=False)
    stage.frames(0, range(2))
    stage.frames(1, range(2))
    assert (stage.join(), stage.stage.wants_map()) == ([], 0)
    assert stage.map()
    assert (stage.join(limit=1), stage.stage.wants_map()) == ([(0, 0, 0)], None)
    stage.stage.invalidate()
    assert (stage.join(), stage.stage.wants_map()) == ([], 0)
    assert stage.map()
    assert stage.join() == [(1, 1, 1)]


def test_map_of_other_streams_is_refused_and_blocks(world: MakeWorld) -> None:
    stage, other = world({}, {}), world({}, {"stream": 99})
    with pytest.raises(MapRefused) as refused:
        stage.stage.apply(other.config.map(0), 2)
    assert (refused.value.facts["reason"], refused.value.facts["rule"]) == ("unknown_stream", 1)
    stage.frames(0, [0])
    stage.frames(1, [0])
    assert (stage.join(), stage.counters["maps_refused"]) == ([], 1)


def test_map_for_another_output_or_epoch_or_kind_changes_nothing(world: MakeWorld) -> None:
    stage = world({}, {})
    assert not stage.stage.apply(world({}, {}, out_stream=5).config.map(0), 2)
    assert not stage.stage.apply(stage.config.map(1), 2)
    assert not stage.stage.apply(world({}, {}, policy="timestamp", drive="input").config.map(0), 2)
    stage.frames(0, [0])
    stage.frames(1, [0])
    assert stage.join() == [(0, 0, 0)]


def test_union_needs_no_map(world: MakeWorld) -> None:
    assert world({}, policy="union", has_map=False).stage.wants_map() is None


# --- Absence ---


def test_stale_input_is_absent_and_frames_that_come_after_all_are_late(world: MakeWorld) -> None:
    stage = world({}, {}, stale_timeout_ns=100)
    stage.frame(0, 0, now=0)
    stage.frame(1, 0, now=0)
    stage.frame(0, 1, now=50)
    assert stage.join(now=100) == [(0, 0, 0)]
    assert stage.join(now=101) == [(1, 1, "stale")]
    assert stage.counters["absent"] == [0, 1]
    stage.frame(1, 1, now=110)
    stage.frame(1, 2, now=110)
    stage.frame(0, 2, now=110)
    assert stage.join() == [(2, 2, 2)]
    assert stage.left() == [(1, 1, 1, "late")]


def test_input_that_never_showed_a_frame_is_not_stale(world: MakeWorld) -> None:
    stage = world({}, {}, stale_timeout_ns=100)
    stage.frame(0, 0, now=0)
    assert stage.join(now=1000) == []


def test_with_every_input_stale_there_is_no_row(world: MakeWorld) -> None:
    stage = world({}, {}, stale_timeout_ns=100)
    stage.frame(0, 0, now=0)
    stage.frame(1, 0, now=0)
    assert stage.join() == [(0, 0, 0)]
    assert stage.join(now=1000) == []


def test_output_goes_on_without_an_input_whose_deadline_passed(world: MakeWorld) -> None:
    stage = world({}, {"deadline_ns": 50})
    stage.frame(0, 0, now=0)
    stage.frame(1, 0, now=0)
    assert stage.join(now=1000) == [(0, 0, 0)]
    stage.frame(0, 1, now=2000)
    # The output waits since its first frame came, not since the one before it was made.
    assert stage.join(now=2050) == []
    assert stage.join(now=2051) == [(1, 1, "late")]
    stage.frame(1, 1, now=2060)
    assert (stage.join(), stage.left()) == ([], [(1, 1, 1, "late")])


def test_optional_input_never_blocks(world: MakeWorld) -> None:
    stage = world({}, {"optional": True})
    stage.frames(0, range(2))
    assert stage.join() == [(0, 0, "not_joined"), (1, 1, "not_joined")]
    stage.frames(1, [2, 4])
    stage.frames(0, [2, 3, 4])
    assert stage.join() == [(2, 2, 2), (3, 3, "not_joined"), (4, 4, 4)]


def test_unused_frames_of_an_optional_input_have_no_partner(world: MakeWorld) -> None:
    stage = world({}, {"optional": True})
    stage.frames(1, range(4))
    stage.frames(0, [0, 3])
    assert stage.join() == [(0, 0, 0), (3, 3, 3)]
    assert stage.left() == [(1, 1, 2, "no_partner")]


def test_frames_further_apart_than_allowed_give_no_row(world: MakeWorld) -> None:
    stage = world({}, {}, max_skew_ns=10)
    for seq, (left, right) in enumerate([(100, 110), (200, 211), (300, 300)]):
        stage.frame(0, seq, left)
        stage.frame(1, seq, right)
    assert stage.join() == [(0, 0, 0), (2, 2, 2)]
    assert sorted(stage.left()) == [(0, 1, 1, "skew"), (1, 1, 1, "skew")]


def test_aged_output_gives_way_to_the_newest_possible(world: MakeWorld) -> None:
    stage = world({}, {}, max_age_ns=100)
    stage.frame(0, 0, now=0)
    stage.frame(1, 0, now=0)
    assert stage.join(now=100) == [(0, 0, 0)]
    for seq in range(1, 6):
        stage.frame(0, seq, now=200)
        stage.frame(1, seq, now=200)
    stage.frame(0, 6, now=200)
    assert stage.join(now=301) == [(5, 5, 5)]
    assert sorted(stage.left()) == [(0, 1, 4, "aged"), (1, 1, 4, "aged")]


# --- Epochs and ends ---


def test_frames_of_an_old_epoch_wait_for_their_partners_and_the_output_epoch_with_them(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(5))
    stage.frames(1, range(3))
    assert stage.join(limit=2) == [(0, 0, 0), (1, 1, 1)]
    stage.frames(0, [0, 1, 2, 3], epoch=2)
    assert (stage.join(), stage.stage.wants_map(), stage.left()) == ([(2, 2, 2)], None, [])
    stage.frames(1, [3, 4])
    assert stage.join() == [(3, 3, 3), (4, 4, 4)]
    assert stage.stage.wants_map() == 1
    assert not stage.frame(0, 9, epoch=1)
    assert stage.map()
    stage.frame(1, 5)
    stage.frames(0, [4, 5], epoch=2)
    attempt = stage.stage.next(0)
    # The other input goes on with frame 5, so that 5 is the smallest output of the new epoch.
    assert (attempt.out_epoch, attempt.out_seq, [pick.epoch for pick in attempt.picks]) == (1, 5, [2, 1])
    assert stage.join() == [(5, 5, 5)]
    assert stage.left() == [(0, 9, 9, "epoch"), (0, 0, 4, "before_first")]


def test_late_frame_of_an_old_epoch_counts_while_its_output_epoch_is_open(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, [0, 1])
    stage.frames(0, [0, 1], epoch=2)
    assert stage.frame(0, 2)
    stage.frames(1, [0, 1, 2])
    assert stage.join() == [(0, 0, 0), (1, 1, 1), (2, 2, 2)]
    assert stage.stage.wants_map() == 1


def test_numbers_that_an_input_had_come_to_say_nothing_of_where_the_next_epoch_begins(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(50))
    stage.frames(1, range(50))
    assert len(stage.join()) == 50
    stage.frames(0, range(20), epoch=2)
    assert stage.map()
    assert stage.join() == [], "the other one may begin anew too, or go on with 50"
    stage.frames(1, range(20), epoch=2)
    assert stage.map()
    assert stage.join() == [(n, n, n) for n in range(20)]
    assert stage.left() == []


def test_frames_that_are_left_of_an_old_epoch_take_none_of_the_new_one_along(world: MakeWorld) -> None:
    """Both producers were killed, one of them a few frames ahead, and both begin anew."""
    stage = world({}, {})
    stage.frames(0, range(53))
    stage.frames(1, range(50))
    assert len(stage.join()) == 50
    stage.frames(1, range(20), epoch=2)
    assert stage.map()
    assert stage.join() == [], "frame 50 of the other one waits; that epoch may be over"
    stage.frames(0, range(20), epoch=2)
    assert stage.join() == []
    assert stage.map()
    assert stage.join() == [(n, n, n) for n in range(20)]
    assert stage.left() == [(0, 50, 52, "epoch")]


def test_third_epoch_ends_the_first_one(world: MakeWorld) -> None:
    stage = world({}, {})
    for epoch in (1, 2, 3):
        stage.frames(0, [0, 1], epoch=epoch)
    assert (stage.left(), stage.stage.wants_map()) == ([(0, 0, 1, "epoch")], 1)


def test_full_history_ends_the_old_epoch_for_the_sake_of_the_new_one(world: MakeWorld) -> None:
    stage = world({}, {}, history=4)
    stage.frames(0, [0, 1, 2])
    stage.frames(0, [0, 1], epoch=2)
    assert (stage.left(), stage.stage.wants_map()) == ([(0, 0, 2, "epoch")], 1)


def test_ended_partner_lets_nothing_of_the_old_epoch_wait(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(4))
    stage.frames(0, [0], epoch=2)
    stage.frames(1, [0, 1])
    stage.end(1)
    assert stage.join() == [(0, 0, 0), (1, 1, 1)]
    assert (stage.left(), stage.stage.wants_map()) == ([(0, 2, 3, "epoch")], 1)


def test_both_begin_anew_and_the_output_does_once(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(4))
    stage.frame(1, 0)
    stage.frames(0, [0, 1], epoch=2)
    stage.frames(1, [0, 1], epoch=2)
    assert stage.join() == [(0, 0, 0)]
    assert (stage.left(), stage.stage.wants_map()) == ([(0, 1, 3, "epoch")], 1)
    stage.map()
    assert stage.join() == [(0, 0, 0), (1, 1, 1)]


@pytest.mark.parametrize("is_known", [False, True])
def test_count_that_begins_anew_does_not_wait_behind_old_frames(world: MakeWorld, is_known: bool) -> None:
    stage = world({}, {})
    stage.frames(0, [1_000_000, 1_000_001])
    if is_known:
        stage.frame(1, 0)
        assert stage.join() == []
    stage.frames(0, range(4), epoch=2)
    stage.frame(1, 1)
    stage.join()
    assert stage.stage.wants_map() == 1
    stage.map()
    stage.frames(1, [2, 3])
    assert stage.join() == [(n, n, n) for n in range(0 if is_known else 1, 4)]
    assert (0, 1_000_000, 1_000_001, "epoch") in stage.left()


def test_frames_of_both_epochs_come_back_from_a_checkpoint(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(3))
    stage.frames(0, [0, 1], epoch=2)
    waiting, rest, state = stage.stage.waiting(), stage.stage.rest(), stage.stage.state()
    assert [(each.epoch, each.seq) for each in waiting] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    assert (rest.streams[0].epoch, rest.streams[0].then.epoch, rest.streams[0].then.last_seq) == (1, 2, 1)
    restored = world({}, {}, state=state)
    recall(restored.stage, waiting, rest, 0)
    restored.frames(1, range(3))
    assert restored.join() == [(0, 0, 0), (1, 1, 1), (2, 2, 2)]
    restored.map()
    restored.frames(0, [2, 3], epoch=2)
    restored.frame(1, 3)
    assert restored.join() == [(3, 3, 3)]


def test_range_of_unmatched_frames_does_not_go_on_in_another_epoch(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, [0, 1])
    stage.frames(0, [2, 3], epoch=2)
    stage.frames(0, [9], epoch=3)
    stage.frames(0, [9], epoch=4)
    taken = [(each.epoch, each.seq, each.seq_last) for each in stage.stage.take_unmatched()]
    assert taken == [(1, 0, 1), (2, 2, 3)]


def test_end_makes_outputs_beyond_it_impossible(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(4))
    stage.frames(1, range(2))
    stage.end(1)
    assert stage.join() == [(0, 0, 0), (1, 1, 1)]
    assert stage.left() == [(0, 2, 3, "no_partner")]
    assert not stage.stage.is_finished()
    stage.frame(0, 4)
    stage.end(0)
    assert (stage.join(), stage.left(), stage.stage.is_finished()) == ([], [(0, 4, 4, "no_partner")], True)


def test_stage_with_possible_outputs_is_not_finished(world: MakeWorld) -> None:
    stage = world({}, {}, has_map=False)
    stage.frames(0, [0])
    stage.frames(1, [0])
    stage.end(0, 1)
    assert stage.join() == []
    assert not stage.stage.is_finished()
    stage.map()
    assert (stage.join(), stage.stage.is_finished()) == ([(0, 0, 0)], True)


def test_optional_input_that_never_came_does_not_hold_the_end(world: MakeWorld) -> None:
    stage = world({}, {"optional": True})
    stage.frames(0, [0])
    stage.end(0)
    assert (stage.join(), stage.stage.is_finished()) == ([(0, 0, "not_joined")], True)


def test_clean_end_leaves_what_waits_as_pending_at_end(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, [0, 1, 3])
    assert stage.leftovers() == [(0, 0, 1, "pending_at_end"), (0, 3, 3, "pending_at_end")]
    assert stage.join() == []


# --- Timestamp ---


@pytest.fixture
def timed(world: MakeWorld) -> MakeWorld:
    """A timestamp join that the first input drives."""
    return lambda *inputs, **config: world(*inputs, **{"policy": "timestamp", "drive": "input", **config})


def test_as_of_takes_the_newest_frame_that_is_not_later(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([50, 90, 150, 300]):
        stage.frame(1, seq, time)
    assert stage.join() == [(100, 1, 1), (200, 2, 2), (300, 3, 3)]
    assert stage.left() == [(1, 0, 0, "superseded")]


def test_as_of_uses_a_frame_again_unless_reuse_is_off(timed: MakeWorld) -> None:
    for reuse, rows in ((True, [(100, 1, 0), (200, 2, 0)]), (False, [(100, 1, 0)])):
        stage = timed({}, {"reuse": reuse})
        stage.frames(0, [1, 2], step=100)
        stage.frame(1, 0, 50)
        stage.frame(1, 1, 900)
        assert stage.join() == rows
    assert stage.left() == [(0, 2, 2, "no_partner")]


def test_offset_is_added_to_the_output_time_and_taken_off_the_drivers(timed: MakeWorld) -> None:
    stage = timed({"offset": 10}, {"offset": -20})
    stage.frame(0, 0, 110)
    stage.frame(1, 0, 80)
    stage.frame(1, 1, 81)
    assert stage.join() == [(100, 0, 0)]


def test_tolerance_bounds_how_far_back_a_frame_may_lie(timed: MakeWorld) -> None:
    stage = timed({}, {"tolerance_ns": 10})
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([90, 189, 290, 400]):
        stage.frame(1, seq, time)
    assert stage.join() == [(100, 1, 0), (300, 3, 2)]
    assert stage.left() == [(1, 1, 1, "no_match"), (0, 2, 2, "no_partner")]


def test_window_takes_the_newest_within_it_edges_included(timed: MakeWorld) -> None:
    stage = timed({}, {"window": 10})
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([89, 90, 110, 191, 200, 289, 301]):
        stage.frame(1, seq, time)
    assert stage.join() == [(100, 1, 1), (200, 2, 4)]
    # Each lay before the window of the next output when that looked at it for the first time, or lost to a newer one.
    assert stage.left(1) == [
        (0, 0, "before_window"),
        (2, 2, "before_window"),
        (3, 3, "superseded"),
        (5, 5, "before_window"),
    ]


def test_window_frame_that_was_looked_at_and_then_left_had_no_match(timed: MakeWorld) -> None:
    stage = timed({}, {"window": 10}, {"window": 10})
    stage.frames(0, [1, 2], step=100)
    stage.frame(1, 0, 95)
    stage.frame(1, 1, 200)
    stage.frame(2, 0, 200)
    assert stage.join() == [(200, 2, 1, 0)]
    assert sorted(stage.left()) == [(0, 1, 1, "no_partner"), (1, 0, 0, "no_match")]


def test_nearest_looks_to_both_sides_and_takes_the_older_of_two_as_near(timed: MakeWorld) -> None:
    stage = timed({}, {"pick": "nearest"})
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([95, 105, 180, 210, 320]):
        stage.frame(1, seq, time)
    assert stage.join() == [(100, 1, 0), (200, 2, 3), (300, 3, 4)]


def test_nearest_waits_until_the_input_has_passed_the_time(timed: MakeWorld) -> None:
    stage = timed({}, {"pick": "nearest"}, lateness_ns=50)
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 70)
    assert stage.join() == []
    stage.frame(1, 1, 120)
    assert stage.join() == [(100, 0, 1)]


def test_nearest_waits_no_longer_than_lateness_of_the_furthest_input(timed: MakeWorld) -> None:
    stage = timed({}, {"pick": "nearest"}, lateness_ns=50)
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 70)
    stage.frame(0, 1, 149)
    assert stage.join() == []
    stage.frame(0, 2, 150)
    assert stage.join() == [(100, 0, 0)]


def test_nearest_within_tolerance(timed: MakeWorld) -> None:
    stage = timed({}, {"pick": "nearest", "tolerance_ns": 10})
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([89, 110, 190, 289, 311]):
        stage.frame(1, seq, time)
    assert stage.join() == [(100, 1, 1), (200, 2, 2)]


def test_nearest_within_a_window_takes_nothing_after_the_output(timed: MakeWorld) -> None:
    for reuse in (True, False):
        stage = timed({}, {"pick": "nearest", "window": 10, "reuse": reuse})
        stage.frames(0, [1, 2, 3, 4], step=100)
        for seq, time in enumerate([89, 101, 190, 199, 289, 311, 400, 401]):
            stage.frame(1, seq, time)
        assert stage.join() == [(200, 2, 3), (400, 4, 6)]


def by_sequence(offset: int, **config: Any) -> dict[str, Any]:
    """An input whose frames are picked by the sequence of the frame that drives the join."""
    return {"pick": "sequence", "seq_offset": offset, **config}


def test_input_by_sequence_stands_beside_one_by_time(timed: MakeWorld) -> None:
    stage = timed({}, by_sequence(-2), {"pick": "nearest", "tolerance_ns": 20})
    stage.frames(0, range(5), step=100)
    for seq, time in enumerate([10, 120, 210, 290, 420]):
        stage.frame(2, seq, time)
    stage.frame(1, 0, 7_000)
    assert stage.join() == [(200, 2, 0, 2)], "its times decide nothing"
    stage.frame(1, 2, 8_000)
    assert stage.join() == [(400, 4, 2, 4)]
    assert stage.left(0) == [(0, 1, "no_partner"), (3, 3, "no_partner")]


def test_input_by_sequence_is_waited_for_until_its_sequence_has_come(timed: MakeWorld) -> None:
    stage = timed({}, by_sequence(1))
    stage.frames(0, [0, 1], step=100)
    stage.frames(1, [0], step=1_000)
    assert stage.join() == []
    (waiting,) = stage.stage.status()["waiting"]
    assert (waiting["input"], waiting["reason"], waiting["missing"]) == (1, "behind", 1)
    stage.frame(1, 1, 1_001)
    assert stage.join() == [(0, 0, 1)]
    assert stage.left() == [(1, 0, 0, "no_partner")]
    stage.end(1)
    assert stage.join() == []
    assert stage.leftovers() == [(0, 1, 1, "no_partner")]


def test_input_by_sequence_is_absent_after_its_deadline_and_its_frame_late(timed: MakeWorld) -> None:
    stage = timed({}, by_sequence(0, deadline_ns=50))
    stage.frame(1, 4, 10)
    stage.frame(0, 5, 100, now=0)
    assert stage.join(now=50) == []
    assert stage.join(now=101) == [(100, 5, "late")]
    stage.frame(1, 5, 20)
    assert stage.left(1) == [(4, 4, "no_partner"), (5, 5, "late")]


def test_stale_input_by_sequence_is_absent(timed: MakeWorld) -> None:
    stage = timed({}, by_sequence(0), stale_timeout_ns=500)
    stage.frame(1, 0, 0, now=0)
    stage.frame(0, 1, 100, now=400)
    assert stage.join(now=500) == []
    assert stage.join(now=501) == [(100, 1, "stale")]


def test_latest_input_gives_what_is_there_and_no_row_waits_for_another(timed: MakeWorld) -> None:
    stage = timed({}, {"pick": "latest"})
    stage.frames(0, [1, 2], step=100)
    assert stage.join() == [], "one frame must have come"
    stage.frame(1, 0, 5)
    assert stage.join() == [(100, 1, 0), (200, 2, 0)]
    stage.frame(1, 1, 250)
    stage.frames(0, [3], step=100)
    assert stage.join() == [(300, 3, 1)]
    stage.frame(1, 2, 900)
    stage.frames(0, [4], step=100)
    assert stage.join() == [(400, 4, 1)], "a frame that is later than the row is not its"


ONCE: dict[str, Any] = {"pick": "nearest", "reuse": False}


def test_one_to_one_waits_until_nothing_later_can_change_the_choice(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 15})
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 112)
    assert stage.join() == [], "an output at 112 might come"
    stage.frame(0, 1, 111)
    assert stage.join() == [], "a frame at 126 might come, so that both have one"
    stage.frame(1, 1, 130)
    assert stage.join() == [], "an output at 112 would be nearer still"
    assert stage.left() == [(0, 0, 0, "no_partner")]
    stage.frame(0, 2, 113)
    assert stage.join() == [(111, 1, 0)], "of two as near the older output has it"
    assert stage.counters["closed_early"] == [0, 0]


def test_one_to_one_makes_the_most_pairs_and_of_these_the_nearest(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 20})
    for seq, time in enumerate([100, 110, 200, 210]):
        stage.frame(0, seq, time)
    for seq, time in enumerate([95, 109, 180, 199, 212, 400]):
        stage.frame(1, seq, time)
    stage.frame(0, 4, 400)
    stage.frame(0, 5, 500)
    assert stage.join() == [(100, 0, 0), (110, 1, 1), (200, 2, 3), (210, 3, 4), (400, 4, 5)]
    assert stage.left() == [(1, 2, 2, "superseded")]


def test_one_to_one_does_not_depend_on_the_order_of_arrival(timed: MakeWorld) -> None:
    outputs, frames = [(0, 0, 100), (0, 1, 110), (0, 2, 120)], [(1, 0, 109), (1, 1, 140), (1, 2, 150)]
    in_turn = [each for both in zip(outputs, frames, strict=True) for each in both]
    for order in ([*outputs, *frames], [*frames, *outputs], in_turn):
        stage = timed({}, dict(ONCE))
        for frame in order:
            stage.frame(*frame)
            stage.join()
        assert stage.rows == []
        stage.end(0, 1)
        stage.join()
        assert stage.rows == [(100, 0, 0), (110, 1, 1), (120, 2, 2)]


def test_one_to_one_frame_whose_output_lacks_another_input_had_no_partner(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 10}, {"tolerance_ns": 0})
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([99, 101, 202, 300, 320]):
        stage.frame(1, seq, time)
    for seq, time in enumerate([110, 200, 310]):
        stage.frame(2, seq, time)
    stage.end(0)
    assert stage.join() == [(200, 2, 2, 1)]
    assert [each for each in stage.left() if each[0] == 1] == [
        (1, 0, 0, "no_partner"),
        (1, 1, 1, "no_match"),
        (1, 3, 3, "no_partner"),
    ]


def test_one_to_one_frame_that_cannot_be_read_gives_way_to_the_next_best(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 20})
    stage.frame(0, 0, 100)
    stage.frame(0, 1, 200)
    for seq, time in enumerate([90, 99, 300]):
        stage.frame(1, seq, time)
    stage.unreadable = {(1, 1)}
    assert stage.join() == [(100, 0, 0)]
    assert (1, 1, 1, "overwritten") in stage.left()


def test_one_to_one_closes_at_the_deadline_with_what_is_there(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 15, "deadline_ns": 50})
    stage.frame(0, 0, 100, now=0)
    stage.frame(1, 0, 112)
    assert stage.join(now=50) == []
    assert stage.join(now=101) == [(100, 0, 0)]
    assert stage.counters["closed_early"] == [0, 1]


def test_one_to_one_input_without_a_frame_at_the_deadline_is_late(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 15, "deadline_ns": 50})
    stage.frame(0, 0, 100, now=0)
    stage.frame(1, 0, 70)
    stage.frame(1, 1, 101)
    stage.frame(1, 2, 110)
    stage.unreadable = {(1, 1), (1, 2)}
    assert stage.join(now=0) == []
    assert stage.join(now=51) == [(100, 0, "late")]


def test_one_to_one_closes_by_a_lateness_of_the_furthest_input(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 15}, {}, lateness_ns=20)
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 98)
    for seq, time in enumerate([95, 121]):
        stage.frame(2, seq, time)
    assert stage.join() == [], "a frame at 101 would not be too late yet"
    stage.frame(2, 2, 122)
    assert stage.join() == [(100, 0, 0, 0)]
    assert stage.counters["closed_early"] == [0, 1, 0]


def test_one_to_one_optional_input_never_waits(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 15, "optional": True})
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 112)
    assert stage.join() == [(100, 0, 0)]
    stage.frame(0, 1, 111)
    assert stage.join() == [(111, 1, "not_joined")]
    assert stage.counters["closed_early"] == [0, 1]


def test_one_to_one_goes_on_when_an_input_is_stale(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 15}, stale_timeout_ns=100)
    stage.frame(0, 0, 100, now=0)
    stage.frame(1, 0, 112, now=60)
    assert stage.join(now=100) == []
    assert stage.join(now=161) == [(100, 0, 0)]
    assert stage.counters["closed_early"] == [0, 1]


def test_one_to_one_without_a_tolerance_waits_for_sixty_four_outputs(timed: MakeWorld) -> None:
    stage = timed({}, dict(ONCE), history=256)
    for seq in range(200):
        stage.frame(0, seq, 1_000 + 100 * seq)
        stage.frame(1, seq, 1_000 + 100 * seq + 70)
        stage.join()
    assert len(stage.rows) == 200 - 63
    assert all(row[1] == row[2] for row in stage.rows)
    # One more output than frames, and each would have the frame before its time instead of the one behind it.
    assert stage.counters["closed_early"] == [0, 200 - 63]


def test_one_to_one_without_a_tolerance_closes_at_once_where_every_frame_is_nearest_to_its_own(
    timed: MakeWorld,
) -> None:
    stage = timed({}, dict(ONCE), history=256)
    for seq in range(200):
        stage.frame(0, seq, 1_000 + 100 * seq)
        stage.frame(1, seq, 1_000 + 100 * seq + 30)
        stage.join()
    assert len(stage.rows) == 199
    assert stage.counters["closed_early"] == [0, 0]


def test_one_to_one_waits_for_outputs_also_after_the_input_has_ended(timed: MakeWorld) -> None:
    stage = timed({}, {**ONCE, "tolerance_ns": 20})
    stage.frame(1, 0, 318)
    stage.end(1)
    stage.frame(0, 0, 300)
    assert stage.join() == [], "an output at 318 might come"
    stage.frame(0, 1, 400)
    assert stage.join() == [(300, 0, 0)]


def test_one_to_one_on_times_that_no_frame_makes(impl: Implementation) -> None:
    stage = World(impl, [{**ONCE, "tolerance_ns": 15}], policy="timestamp", drive="external")
    for seq, time in enumerate([112, 130]):
        stage.frame(0, seq, time)
    stage.stage.push_time(100)
    assert stage.join() == []
    stage.stage.push_time(111)
    assert stage.join() == []
    assert stage.counters["skipped_outputs"] == 1, "the output at 111 is nearer to the only frame"
    stage.end(0)
    assert stage.join() == [(111, 0)]


def test_lateness_lets_an_output_go_before_the_input_is_there(timed: MakeWorld) -> None:
    for late, rows in (("drop", [(100, 0, 0)]), ("stall", [])):
        stage = timed({}, {}, lateness_ns=20, late=late)
        stage.frame(0, 0, 100)
        stage.frame(1, 0, 80)
        assert stage.join() == rows


def test_frame_that_comes_below_what_was_decided_is_late(timed: MakeWorld) -> None:
    stage = timed({}, {"window": 10}, lateness_ns=20)
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 80)
    assert stage.join() == []
    stage.frame(1, 1, 89)
    stage.frame(1, 2, 90)
    stage.frames(0, [1], step=110)
    stage.frame(1, 3, 101)
    assert stage.join() == [(110, 1, 3)]
    assert stage.left() == [
        *[(1, 0, 0, "before_window"), (0, 0, 0, "no_partner"), (1, 1, 1, "late")],
        (1, 2, 2, "before_window"),
    ]


def test_output_before_what_rules_can_satisfy_is_skipped(timed: MakeWorld) -> None:
    stage = timed({}, {"window": 50})
    stage.frames(0, [4, 5], step=10)
    stage.frames(1, [4, 5], step=10)
    assert stage.join() == [(50, 5, 5)]
    assert stage.left() == [(0, 4, 4, "before_first"), (1, 4, 4, "superseded")]


def test_null_timestamp_is_never_joined(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frames(0, [1, 2], step=100)
    stage.frame(1, 0, 100)
    stage.frame(1, 1, None)
    stage.frame(1, 2, 2**64 - 1)
    stage.frame(1, 3, 200)
    assert stage.join() == [(100, 1, 0), (200, 2, 3)]
    assert stage.left() == [(1, 1, 2, "null_timestamp")]


def test_timestamp_above_the_range_has_no_match(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frame(1, 0, 2**63)
    assert stage.left() == [(1, 0, 0, "no_match")]
    assert stage.counters["out_of_range"] == 1


def test_decreasing_timestamps_reject_the_stream_until_its_next_epoch(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frames(0, [1, 2], step=100)
    stage.frame(1, 0, 100)
    stage.frame(1, 1, 99)
    stage.frame(1, 2, 200)
    assert stage.join() == []
    assert stage.stage.status()["waiting"][0]["reason"] == "rejected"
    stage.frame(1, 0, 100, epoch=2)
    stage.frame(1, 1, 200, epoch=2)
    assert stage.join() == []
    stage.map()
    assert stage.join() == [(100, 1, 0), (200, 2, 1)]
    assert stage.left() == [(1, 0, 0, "epoch"), (1, 1, 2, "regressed")]
    assert stage.counters["regressions"] == 1
    assert stage.stage.take_rejections() == []


def test_a_rejection_is_told_once_with_the_frame_and_both_times(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frame(1, 4, 100)
    stage.frame(1, 5, 99)
    stage.frame(1, 6, 98)
    assert stage.stage.take_rejections() == [Rejection(11, 1, 5, 0, 100, 99)]
    assert stage.stage.take_rejections() == []


def test_a_frame_whose_time_goes_back_is_left_out_alone_where_the_input_drops_it(timed: MakeWorld) -> None:
    stage = timed({}, {"drops_regressed": True}, stale_timeout_ns=50)
    stage.frames(0, [1, 2, 3], step=100)
    for seq, time in enumerate([100, 99, 150, 99, 200]):
        stage.frame(1, seq, time)
    assert stage.join() == [(100, 1, 0), (200, 2, 4)]
    assert stage.left(1) == [(1, 1, "regressed"), (2, 2, "superseded"), (3, 3, "regressed")]
    assert (stage.stage.take_rejections(), stage.counters["regressions"]) == ([], 0)
    # It is no sign of life either: what readiness goes by has stood still.
    stage.frame(1, 5, 150, now=40)
    assert stage.join(now=51) == [(300, 3, "stale")]


def test_an_optional_input_that_is_rejected_is_absent(timed: MakeWorld) -> None:
    stage = timed({}, {"optional": True})
    stage.frame(1, 0, 100)
    stage.frame(0, 0, 100)
    assert stage.join() == [(100, 0, 0)]
    stage.frame(1, 1, 99)
    stage.frame(1, 2, 200)
    stage.frame(0, 1, 200)
    assert stage.join() == [(200, 1, "not_joined")]
    stage.end(1)
    stage.frame(0, 2, 300)
    assert stage.join() == [(300, 2, "not_joined")], "its last frame is not joined again either"


def test_rule_reads_the_timestamp_of_its_source(timed: MakeWorld) -> None:
    stage = timed({}, {"source": TimestampSource.FRAME_DESCRIPTOR})
    stage.frame(0, 0, 100)
    stage.stage.observe(11, 1, 0, 100, 7, 0, 0)
    assert stage.join() == [(100, 0, 0)]
    assert [stage.stage.needs_slot_time(stream) for stream in (10, 11)] == [True, True]


def test_unread_as_of_frame_gives_way_to_the_next_older(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.unreadable = {(1, 1)}
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 90)
    stage.frame(1, 1, 100)
    assert stage.join() == [(100, 0, 0)]
    assert stage.left() == [(1, 1, 1, "overwritten")]


def test_unread_frame_of_the_driver_takes_its_output_with_it(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.unreadable = {(0, 1)}
    stage.frames(0, [1, 2], step=100)
    stage.frames(1, [1, 2], step=100)
    assert stage.join() == [(200, 2, 2)]
    assert stage.left() == [(0, 1, 1, "overwritten"), (1, 1, 1, "superseded")]


def test_clock_begins_when_every_input_was_observed_and_ticks_by_its_period(timed: MakeWorld) -> None:
    stage = timed({}, {}, drive="clock", period_ns=50)
    stage.frame(0, 0, 10)
    stage.stage.tick(100, 100)
    stage.frame(1, 0, 10)
    assert stage.join() == []
    stage.stage.tick(120, 120)
    stage.frames(0, [1], step=500)
    stage.frames(1, [1], step=500)
    stage.stage.tick(230, 230)
    assert stage.join() == [(120, 0, 0), (170, 0, 0), (220, 0, 0)]


def test_watermark_drive_makes_an_output_of_every_advance_of_the_lowest(timed: MakeWorld) -> None:
    ms = 1_000_000
    stage = timed({}, {}, drive="watermark")
    for index in (0, 1):
        stage.frame(index, 0, ms)
        stage.frame(index, 1, 9 * ms)
    for index, mark in ((0, 2), (1, 3), (0, 1), (0, 5), (1, 3)):
        stage.stage.watermark(10 + index, mark, 0)
    assert stage.join() == [(2 * ms, 0, 0), (3 * ms, 0, 0)]


def test_external_times_are_outputs_unless_they_decrease(timed: MakeWorld) -> None:
    stage = timed({}, {}, drive="external")
    stage.frames(0, [1, 2], step=100)
    stage.frames(1, [1, 2], step=100)
    assert [stage.stage.push_time(time) for time in (100, 150, 149, 150, 200)] == [True, True, False, True, True]
    assert stage.join() == [(100, 1, 1), (150, 1, 1), (150, 1, 1), (200, 2, 2)]
    assert not stage.stage.push_time(199)
    assert stage.counters["time_refused"] == 2


def test_external_times_wait_in_a_bounded_queue(timed: MakeWorld) -> None:
    stage = timed({}, drive="external")
    assert [stage.stage.push_time(time) for time in range(1025)] == [True] * 1024 + [False]
    assert stage.counters["skipped_outputs"] == 1


def test_deadline_of_a_timestamp_input_counts_from_when_its_output_was_asked_for(timed: MakeWorld) -> None:
    stage = timed({}, {"deadline_ns": 50})
    stage.frame(1, 0, 10, now=0)
    stage.frame(0, 0, 100, now=0)
    assert stage.join(now=10) == []
    assert stage.join(now=60) == []
    assert stage.join(now=61) == [(100, 0, "late")]


def test_skewed_timestamp_picks_give_no_row(timed: MakeWorld) -> None:
    stage = timed({}, {}, max_skew_ns=10)
    stage.frames(0, [1, 2], step=100)
    stage.frame(1, 0, 89)
    stage.frame(1, 1, 200)
    assert stage.join() == [(200, 2, 1)]
    assert stage.left() == [(0, 1, 1, "skew"), (1, 0, 0, "superseded")]


def test_aged_timestamp_outputs_are_skipped_for_the_newest_possible(timed: MakeWorld) -> None:
    stage = timed({}, {}, max_age_ns=100)
    for seq in (1, 2, 3):
        stage.frame(0, seq, seq * 100, now=0)
        stage.frame(1, seq, seq * 100, now=0)
    stage.frame(0, 4, 400, now=0)
    assert stage.join(now=101) == [(300, 3, 3)]
    assert sorted(stage.left()) == [(0, 1, 2, "aged"), (1, 1, 1, "aged"), (1, 2, 2, "superseded")]


def test_ended_input_counts_as_observed_for_ever(timed: MakeWorld) -> None:
    stage = timed({}, {"tolerance_ns": 150})
    stage.frames(0, [1, 2, 3], step=100)
    stage.frame(1, 0, 100)
    stage.end(1)
    assert stage.join() == [(100, 1, 0), (200, 2, 0)]
    assert stage.left() == [(0, 3, 3, "no_partner")]


def test_old_frames_are_joined_up_to_the_first_time_of_the_new_epoch(timed: MakeWorld) -> None:
    stage = timed({}, {"tolerance_ns": 50})
    stage.frames(1, [1, 2, 3], step=100)
    stage.frame(1, 0, 500, epoch=2)
    stage.frames(0, [1, 2, 3, 4], step=100)
    assert stage.join() == [(100, 1, 1), (200, 2, 2), (300, 3, 3)]
    assert stage.stage.wants_map() == 1
    stage.map()
    stage.frames(0, [5], step=100)
    assert stage.join() == [(500, 5, 0)]
    assert stage.left() == [(0, 4, 4, "no_partner")]


def test_new_epoch_of_a_timestamp_input_lets_times_start_again(timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frames(0, [5], step=100)
    stage.frames(1, [5], step=100)
    assert stage.join() == [(500, 5, 5)]
    for index in (0, 1):
        stage.frame(index, 0, 100, epoch=2)
    assert stage.stage.wants_map() == 2
    stage.map()
    assert stage.join() == [(100, 0, 0)]


# --- Latest ---


@pytest.fixture
def latest(world: MakeWorld) -> MakeWorld:
    """A join of the newest."""
    return lambda *inputs, **config: world(*inputs, **{"policy": "latest", **config})


def test_latest_makes_one_output_of_each_observation(latest: MakeWorld) -> None:
    stage = latest({}, {})
    for index, seq in [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3)]:
        stage.frame(index, seq)
        stage.join()
    assert stage.rows == [(0, 1, 0), (1, 2, 0), (2, 3, 0)]
    assert stage.left() == [(0, 0, 0, "superseded")]


def test_latest_observations_between_two_questions_are_one_tick(latest: MakeWorld) -> None:
    stage = latest({}, {})
    stage.frames(0, range(4))
    stage.frames(1, range(4))
    assert stage.join() == [(0, 3, 3)]
    assert sorted(stage.left()) == [(0, 0, 2, "superseded"), (1, 0, 2, "superseded")]


def test_latest_driven_by_an_input_makes_one_output_of_each_of_its_frames(latest: MakeWorld) -> None:
    stage = latest({}, {}, drive="input", drive_input=1)
    for index, seq in [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1)]:
        stage.frame(index, seq)
        stage.join()
    assert stage.rows == [(0, 1, 0), (1, 2, 1)]


def test_latest_by_the_clock_joins_at_every_tick(latest: MakeWorld) -> None:
    stage = latest({}, {}, drive="clock", period_ns=10)
    stage.frame(0, 0)
    stage.frame(1, 0)
    stage.stage.tick(100, 100)
    assert stage.join() == [(100, 0, 0)]
    stage.stage.tick(125, 125)
    assert stage.join() == [(110, 0, 0), (120, 0, 0)]


def test_latest_frame_that_cannot_be_read_is_retried_with_the_next_newer(latest: MakeWorld) -> None:
    stage = latest({}, {})
    stage.unreadable = {(1, 1)}
    stage.frame(0, 0)
    stage.frame(1, 0)
    assert stage.join() == [(0, 0, 0)]
    stage.frame(1, 1)
    assert stage.join() == []
    stage.frame(0, 1)
    assert stage.join() == []
    stage.frame(1, 2)
    assert stage.join() == [(1, 1, 2)]
    assert stage.left() == [(1, 1, 1, "overwritten")]
    assert stage.counters["ticks_not_ready"] == 2


def test_latest_frame_lost_at_arrival_makes_its_input_wait_for_a_newer(latest: MakeWorld) -> None:
    stage = latest({}, {})
    stage.frame(0, 0)
    stage.frame(1, 0)
    assert stage.join() == [(0, 0, 0)]
    stage.stage.observe_lost(11, 1, 1, Cause.OVERWRITTEN, 0)
    stage.frame(0, 1)
    assert stage.join() == []
    stage.frame(1, 2)
    assert stage.join() == [(1, 1, 2)]


def test_latest_stale_input_is_absent_whatever_it_last_showed(latest: MakeWorld) -> None:
    stage = latest({}, {}, stale_timeout_ns=100)
    stage.frame(0, 0, now=0)
    stage.frame(1, 0, now=0)
    assert stage.join(now=100) == [(0, 0, 0)]
    stage.frame(0, 1, now=101)
    assert stage.join() == [(1, 1, "stale")]


def test_latest_ended_input_keeps_its_last_value_until_it_is_stale(latest: MakeWorld) -> None:
    stage = latest({}, {}, stale_timeout_ns=100)
    stage.frame(0, 0, now=0)
    stage.frame(1, 0, now=0)
    stage.end(1)
    assert stage.join() == [(0, 0, 0)]
    stage.frame(0, 1, now=100)
    assert stage.join() == [(1, 1, 0)]
    stage.frame(0, 2, now=101)
    assert stage.join() == [(2, 2, "stale")]


def test_latest_by_timestamp_takes_the_newest_time(latest: MakeWorld) -> None:
    stage = latest({}, {}, order_by="timestamp")
    stage.frame(0, 0, 50)
    stage.frame(1, 0, 100)
    stage.frame(1, 1, 90)
    assert stage.join() == [(0, 0, 0)]
    assert stage.left() == [(1, 1, 1, "superseded")]


def test_latest_by_timestamp_keeps_a_joined_frame_that_is_newer_than_the_next(latest: MakeWorld) -> None:
    stage = latest({}, {}, order_by="timestamp")
    stage.frame(0, 0, 50)
    stage.frame(1, 0, 100)
    assert stage.join() == [(0, 0, 0)]
    stage.frame(1, 1, 90)
    assert stage.join() == [(1, 0, 0)]
    assert stage.left() == [(1, 1, 1, "superseded")]


def test_latest_resumed_does_not_take_what_it_joined_before_for_news(impl: Implementation, latest: MakeWorld) -> None:
    stage = latest({}, {})
    stage.frame(0, 0)
    stage.frame(1, 0)
    assert stage.join() == [(0, 0, 0)]
    again = World(impl, [{}, {}], policy="latest", state=stage.stage.state())
    again.frame(0, 0)
    again.frame(1, 0)
    assert again.join() == []
    again.frame(0, 1)
    assert again.join() == [(1, 1, 0)]


def test_latest_new_epoch_forgets_the_last_value(latest: MakeWorld) -> None:
    stage = latest({}, {})
    stage.frame(0, 0)
    stage.frame(1, 0)
    assert stage.join() == [(0, 0, 0)]
    stage.frame(1, 5, epoch=2)
    assert stage.map()
    attempt = stage.stage.next(0)
    assert (attempt.out_epoch, attempt.out_seq) == (1, 0)
    assert stage.join() == [(0, 0, 5)]


def test_latest_skewed_tick_gives_no_row_and_loses_no_frame(latest: MakeWorld) -> None:
    stage = latest({}, {}, max_skew_ns=10)
    stage.frame(0, 0, 100)
    stage.frame(1, 0, 200)
    assert (stage.join(), stage.left()) == ([], [])
    stage.frame(0, 1, 195)
    assert stage.join() == [(0, 1, 0)]


# --- Union ---


def test_union_makes_a_row_of_every_frame_in_order_of_arrival(world: MakeWorld) -> None:
    stage = world({}, {}, policy="union")
    stage.unreadable = {(0, 6)}
    for index, seq in [(0, 5), (1, 0), (0, 6), (1, 1)]:
        stage.frame(index, seq)
    assert stage.join() == [(0, 5, "not_joined"), (1, "not_joined", 0), (2, "not_joined", 1)]
    assert stage.left() == [(0, 6, 6, "overwritten")]
    assert stage.counters["absent"] == [2, 1]


# --- Back-pressure, state, status ---


def test_nothing_is_decided_while_the_unmatched_are_not_drained(world: MakeWorld) -> None:
    stage = world({}, {}, first=0)
    # Every second frame lacks its partner: entries that cannot grow together.
    made = 0
    for seq in range(0, 4000, 2):
        stage.frame(0, seq)
        stage.frame(0, seq + 1)
        stage.frame(1, seq)
        made += len(stage.join())
        if stage.stage.status()["is_backed_up"]:
            break
    assert stage.stage.status()["is_backed_up"]
    assert stage.join() == []
    left = stage.left()
    assert len(left) == 512
    assert stage.counters["unmatched_dropped"] == 0
    assert not stage.stage.status()["is_backed_up"]


def test_resumed_stage_decides_nothing_twice(impl: Implementation, world: MakeWorld) -> None:
    stage = world({}, {"window": 3})
    stage.frames(0, range(5))
    stage.frames(1, range(4))
    assert stage.join() == [(2, 2, 2), (3, 3, 3)]
    again = World(impl, [{}, {"window": 3}], policy="sequence", state=stage.stage.state())
    again.frames(0, range(6))
    again.frames(1, [0, 1, 2, 3, 5])
    # Frame 3 of the window was joined before, and may be again.
    assert again.join() == [(4, 4, 3), (5, 5, 5)]
    assert again.left() == []
    assert again.counters["already_decided"] == 4 + 3


def test_resumed_timestamp_stage_goes_on_with_the_last_joined_frame(impl: Implementation, timed: MakeWorld) -> None:
    stage = timed({}, {})
    stage.frames(0, [1], step=100)
    stage.frame(1, 0, 90)
    stage.frame(1, 1, 100)
    assert stage.join() == [(100, 1, 1)]
    again = World(impl, [{}, {}], policy="timestamp", drive="input", state=stage.stage.state())
    again.frames(0, [1, 2], step=100)
    again.frame(1, 0, 90)
    again.frame(1, 1, 100)
    again.frame(1, 2, 300)
    assert again.join() == [(200, 2, 1)]


def test_resumed_stage_reports_what_it_missed_and_not_what_it_had_decided(
    impl: Implementation, world: MakeWorld
) -> None:
    stage = world({}, {})
    stage.frames(0, range(3))
    stage.frames(1, range(2))
    stage.join()
    again = World(impl, [{}, {}], policy="sequence", state=stage.stage.state())
    again.stage.missed(10, 1, 0, 9, 0)
    again.stage.missed(11, 1, 0, 9, 0)
    assert sorted(again.left()) == [(0, 2, 9, "agent_down"), (1, 2, 9, "agent_down")]


def test_a_stream_that_is_reopened_is_waited_for_again(world: MakeWorld) -> None:
    stage = world({}, {})
    stage.frames(0, range(2))
    stage.frames(1, range(2))
    stage.end(0, 1)
    assert stage.join() == [(0, 0, 0), (1, 1, 1)]
    assert stage.stage.is_finished()
    stage.stage.reopen(10)
    assert not stage.stage.is_finished()
    stage.frame(0, 2)
    stage.stage.reopen(11)
    stage.frame(1, 2)
    assert stage.join() == [(2, 2, 2)]


def test_status_names_the_input_that_is_waited_for_and_what_it_lacks(world: MakeWorld) -> None:
    stage = world({}, {"offset": 3})
    stage.frame(0, 0)
    assert [(each["input"], each["reason"]) for each in stage.stage.status()["waiting"]] == [(1, "not_observed")]
    stage.frame(1, 1, now=5)
    assert stage.join() == []
    status = stage.stage.status()
    assert (status["out"], status["since_ns"], status["pending"]) == (0, None, [1, 1])
    assert status["waiting"] == [{"input": 1, "reason": "behind", "last_seq": 1, "last_time_ns": None, "missing": 2}]


def test_causes_are_the_same_words_in_the_same_order() -> None:
    assert list(Cause) == join_causes()


@pytest.mark.parametrize("cause", Cause)
def test_a_lost_frame_is_left_with_the_cause_that_was_given(world: MakeWorld, cause: Cause) -> None:
    stage = world({}, {})
    assert stage.stage.observe_lost(stage.config.inputs[0].stream, 1, 0, cause, 0)
    assert stage.left() == [(0, 0, 0, str(cause))]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_stage_keeps_the_numbers_of_its_policy_and_asks_for_a_map_if_the_policy_needs_one(
    world: MakeWorld, policy: PolicyName
) -> None:
    facts = POLICIES[policy]
    stage = world({}, {}, policy=policy, drive=facts.drives[0], has_map=False).stage
    assert list(json.loads(stage.state())) == ["out_epoch", "out_seq", "map", *facts.numbers_kept, "inputs"]
    assert (stage.wants_map() is not None) == facts.needs_map
