# SPDX-License-Identifier: Apache-2.0
"""The authority of MergeMaps: what it answers, when it announces, and that it never takes over another's map."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framegate.joinbarrier.maps.authority import REPORTS_MAX, Announce, Conflict, MapAuthority
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.joinbarrier.maps.messages import Announced, Requested, hear
from framegate.schema.codec import HEADER
from framegate.schema.errors import Truncated, UnsupportedVersion, WrongBlockLength
from framegate.schema.merge import (
    ClockDomain,
    MergeRuleType,
    SequenceMergeMapAnnounce,
    SequenceMergeMapRequest,
    TimestampMergeMapRequest,
)

MS = 1_000_000
FIRST = MergeMap(20001, 3, [SequenceRule(10001, offset=0), SequenceRule(10002, window=5)])
NEXT_EPOCH = MergeMap(20001, 4, [SequenceRule(10001, offset=0)])
BY_TIME = MergeMap(20002, 3, [TimestampRule(10001, offset_ns=-5)], clock_domain=ClockDomain.MONOTONIC)
OTHER = MergeMap(20001, 3, [SequenceRule(10001, offset=-1)])
THEIR_SESSION = 77


def authority(*maps: MergeMap) -> MapAuthority:
    found = MapAuthority(announce_period_ns=100 * MS)
    for each in maps:
        found.own(each)
    return found


def asked(pair: tuple[int, int], *, by_timestamp: bool = False) -> Requested:
    kind = TimestampMergeMapRequest if by_timestamp else SequenceMergeMapRequest
    found = hear(kind(out_stream_id=pair[0], epoch=pair[1]).encode())
    assert isinstance(found, Requested)
    return found


def announced(found: MergeMap) -> Announced:
    heard = hear(found.to_message().encode())
    assert isinstance(heard, Announced)
    return heard


def test_a_request_is_answered_at_once_with_the_map_of_exactly_that_pair() -> None:
    owner = authority(FIRST, BY_TIME)
    assert owner.on_request(asked((20001, 3))) == [Announce(FIRST)]
    assert owner.on_request(asked((20002, 3), by_timestamp=True)) == [Announce(BY_TIME)]


def test_each_request_is_answered() -> None:
    owner = authority(FIRST)
    assert [owner.on_request(asked((20001, 3))) for _ in range(3)] == [[Announce(FIRST)]] * 3
    assert owner.counts["answers"] == 3


def test_an_output_or_epoch_that_is_not_owned_gets_silence() -> None:
    owner = authority(FIRST)
    assert owner.on_request(asked((20001, 4))) == []
    assert owner.on_request(asked((20009, 3))) == []
    assert (owner.counts["unknown_pairs"], owner.counts["answers"]) == (2, 0)


def test_a_request_of_the_other_kind_gets_silence() -> None:
    owner = authority(FIRST, BY_TIME)
    assert owner.on_request(asked((20001, 3), by_timestamp=True)) == []
    assert owner.on_request(asked((20002, 3))) == []
    assert (owner.counts["other_kind"], owner.counts["unknown_pairs"]) == (2, 0)


def test_a_request_with_more_fields_is_understood_by_its_first_two() -> None:
    plain = SequenceMergeMapRequest(out_stream_id=20001, epoch=3).encode()
    longer_block = HEADER.pack(20, 2, 903, 1) + plain[8:] + b"eight by"
    group_behind = plain + b"\x04\x00\x02\x00" + b"listlist"
    for request in (plain, longer_block, group_behind):
        assert hear(request) == Requested((20001, 3), False)


def test_a_longer_request_of_the_other_kind_is_of_that_kind() -> None:
    plain = TimestampMergeMapRequest(out_stream_id=20002, epoch=3).encode()
    assert hear(HEADER.pack(13, 4, 903, 1) + plain[8:] + b"!") == Requested((20002, 3), True)


def test_a_request_of_a_newer_version_or_cut_short_is_refused() -> None:
    plain = SequenceMergeMapRequest(out_stream_id=20001, epoch=3).encode()
    with pytest.raises(UnsupportedVersion):
        hear(HEADER.pack(20, 2, 903, 2) + plain[8:] + b"eight by")
    with pytest.raises(WrongBlockLength):
        hear(HEADER.pack(8, 2, 903, 1) + plain[8:16])
    with pytest.raises((Truncated, WrongBlockLength)):
        hear(HEADER.pack(20, 2, 903, 1) + plain[8:])
    with pytest.raises(Truncated):
        hear(plain[:-1])


def test_messages_of_other_schemas_with_the_same_template_are_passed_over() -> None:
    """J-003: the control stream is shared, and template 2 exists in every schema."""
    plain = SequenceMergeMapRequest(out_stream_id=20001, epoch=3).encode()
    for schema in (900, 901, 902, 920):
        assert hear(HEADER.pack(12, 2, schema, 1) + plain[8:]) is None
    assert hear(HEADER.pack(12, 9, 903, 1) + plain[8:]) is None
    assert hear(b"short") is None


def test_all_maps_are_announced_at_first_and_again_once_a_period() -> None:
    owner = authority(FIRST, BY_TIME)
    both = [Announce(FIRST), Announce(BY_TIME)]
    assert owner.on_tick(1_000) == both
    assert owner.on_tick(1_000 + 100 * MS - 1) == []
    assert owner.on_tick(1_000 + 100 * MS) == both
    # A thread that did not run announces once, not once for each period it missed.
    assert owner.on_tick(1_000 + 950 * MS) == both
    assert owner.on_tick(1_000 + 951 * MS) == []


def test_a_map_that_changes_is_announced_at_the_next_tick_and_an_identical_one_is_not() -> None:
    owner = authority(FIRST)
    owner.on_tick(0)
    owner.own(MergeMap(20001, 3, list(FIRST.sequence_rules)))
    assert owner.on_tick(1) == []
    owner.own(OTHER)
    assert owner.on_tick(2) == [Announce(OTHER)]
    assert owner.maps == (OTHER,)


def test_what_nobody_heard_is_announced_anew() -> None:
    owner = authority(FIRST)
    owner.on_tick(0)
    owner.announce_anew()
    assert owner.on_tick(1) == [Announce(FIRST)]


def test_an_output_that_is_given_up_is_neither_announced_nor_answered_for() -> None:
    owner = authority(FIRST, BY_TIME)
    owner.disown(20001)
    owner.disown(20001)
    assert owner.on_tick(0) == [Announce(BY_TIME)]
    assert owner.on_request(asked((20001, 3))) == []


def test_an_output_that_goes_on_in_another_epoch_is_announced_in_that_one_alone() -> None:
    owner = authority(FIRST)
    owner.on_tick(0)
    owner.own(NEXT_EPOCH)
    assert owner.on_tick(1) == [Announce(NEXT_EPOCH)]
    assert owner.on_tick(100 * MS + 1) == [Announce(NEXT_EPOCH)]
    assert owner.on_request(asked((20001, 3))) == []
    assert owner.on_request(asked((20001, 4))) == [Announce(NEXT_EPOCH)]


def test_rules_for_every_epoch_answer_a_request_for_any_of_them() -> None:
    owner = authority()
    owner.own(FIRST, is_any_epoch=True)
    for epoch in (3, 9, 0, 2**64 - 1):
        assert owner.on_request(asked((20001, epoch))) == [Announce(replace(FIRST, epoch=epoch))]
    assert owner.on_request(asked((20001, 3), by_timestamp=True)) == []
    assert owner.on_request(asked((20009, 3))) == []


def test_of_rules_for_every_epoch_only_the_epoch_that_was_asked_for_last_is_announced() -> None:
    """Not the highest: one wrong request must not end the announces of the epoch that runs."""
    owner = authority()
    owner.own(FIRST, is_any_epoch=True)
    assert owner.on_tick(0) == [Announce(FIRST)]
    for epoch in (900, 5):
        owner.on_request(asked((20001, epoch)))
    assert owner.on_tick(100 * MS) == [Announce(replace(FIRST, epoch=5))]
    assert owner.maps == (replace(FIRST, epoch=5),)


def test_rules_for_every_epoch_conflict_with_an_announce_for_any_of_them() -> None:
    owner = authority()
    owner.own(FIRST, is_any_epoch=True)
    (same,) = owner.on_announce(announced(replace(FIRST, epoch=8)), THEIR_SESSION)
    (other,) = owner.on_announce(announced(replace(OTHER, epoch=8)), THEIR_SESSION)
    assert isinstance(same, Conflict)
    assert isinstance(other, Conflict)
    assert "the same" in same.error.message
    assert "another map" in other.error.message


def test_another_map_by_another_authority_is_reported_once_with_both_and_not_taken_over() -> None:
    owner = authority(FIRST)
    (conflict,) = owner.on_announce(announced(OTHER), THEIR_SESSION)
    assert isinstance(conflict, Conflict)
    facts = conflict.error.facts
    assert (facts["out_stream"], facts["epoch"], facts["session"]) == (20001, 3, THEIR_SESSION)
    assert (facts["ours"], facts["theirs"]) == ("10001 OFFSET 0, 10002 WINDOW 5", "10001 OFFSET -1")
    assert owner.on_announce(announced(OTHER), THEIR_SESSION) == []
    assert owner.counts["conflicts"] == 2
    assert owner.on_request(asked((20001, 3))) == [Announce(FIRST)]


def test_the_same_map_by_another_authority_is_a_conflict_too() -> None:
    owner = authority(FIRST)
    (conflict,) = owner.on_announce(announced(FIRST), THEIR_SESSION)
    assert isinstance(conflict, Conflict)
    assert "the same" in conflict.error.message
    assert owner.on_announce(announced(FIRST), THEIR_SESSION) == []


def test_a_third_authority_and_a_third_map_are_reported_too() -> None:
    owner = authority(FIRST)
    heard = [(OTHER, 1), (OTHER, 2), (FIRST, 1), (OTHER, 1), (FIRST, 1)]
    assert [len(owner.on_announce(announced(each), session)) for each, session in heard] == [1, 1, 1, 0, 0]


def test_an_invalid_map_for_an_output_that_is_owned_is_reported_with_its_reason() -> None:
    bad = SequenceMergeMapAnnounce(
        out_stream_id=20001,
        epoch=3,
        rules=(
            SequenceMergeMapAnnounce.Rule(
                input_stream_id=10001, rule_type=MergeRuleType.WINDOW, window_size=0, offset=None
            ),
        ),
    )
    heard = hear(bad.encode())
    assert isinstance(heard, Announced)
    assert (heard.pair, heard.map) == ((20001, 3), None)
    owner = authority(FIRST)
    (conflict,) = owner.on_announce(heard, THEIR_SESSION)
    assert isinstance(conflict, Conflict)
    assert "window_zero" in str(conflict.error.facts["theirs"])
    assert owner.on_announce(heard, THEIR_SESSION) == []


def test_maps_of_outputs_that_others_own_are_no_conflict() -> None:
    owner = authority(FIRST)
    assert owner.on_announce(announced(NEXT_EPOCH), THEIR_SESSION) == []
    assert owner.on_announce(announced(BY_TIME), THEIR_SESSION) == []
    assert owner.counts["conflicts"] == 0
    assert owner.maps == (FIRST,)


def test_reports_are_bounded_and_the_count_goes_on() -> None:
    owner = authority(FIRST)
    told = sum(len(owner.on_announce(announced(OTHER), session)) for session in range(REPORTS_MAX + 5))
    assert (told, owner.counts["conflicts"]) == (REPORTS_MAX, REPORTS_MAX + 5)
