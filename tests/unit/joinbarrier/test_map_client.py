# SPDX-License-Identifier: Apache-2.0
"""A stage that needs a map: when it asks, and when its barrier must stop and may go on."""

from __future__ import annotations

from itertools import pairwise

from framegate.joinbarrier.maps.client import Apply, Ask, Invalidate, MapClient, Refused
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.joinbarrier.maps.messages import Announced, hear
from framegate.schema.errors import MapRefused
from framegate.schema.merge import (
    ClockDomain,
    MergeRuleType,
    SequenceMergeMapAnnounce,
    SequenceMergeMapRequest,
    TimestampMergeMapRequest,
)

MS = 1_000_000
MAP = MergeMap(20001, 3, [SequenceRule(10001, offset=0)])
CHANGED = MergeMap(20001, 3, [SequenceRule(10001, offset=-1)])
NEXT_EPOCH = MergeMap(20001, 4, [SequenceRule(10001, offset=0)])
OTHER_OUTPUT = MergeMap(20002, 3, [SequenceRule(10001, offset=0)])
BY_TIME = MergeMap(20001, 3, [TimestampRule(10001, offset_ns=0)], clock_domain=ClockDomain.MONOTONIC)
THE_REQUEST = SequenceMergeMapRequest(out_stream_id=20001, epoch=3)


def announced(found: MergeMap) -> Announced:
    heard = hear(found.to_message().encode())
    assert isinstance(heard, Announced)
    return heard


def invalid(window: int = 0, offset: int | None = None, epoch: int = 3) -> Announced:
    rule = SequenceMergeMapAnnounce.Rule(
        input_stream_id=10001, rule_type=MergeRuleType.WINDOW, window_size=window, offset=offset
    )
    heard = hear(SequenceMergeMapAnnounce(out_stream_id=20001, epoch=epoch, rules=(rule,)).encode())
    assert isinstance(heard, Announced)
    return heard


def asks(client: MapClient, *at_ms: int) -> list[bool]:
    return [bool(client.on_tick(each * MS)) for each in at_ms]


def with_map() -> MapClient:
    client = MapClient(20001, 3)
    client.on_tick(0)
    assert client.on_announce(announced(MAP), 0) == [Apply(MAP)]
    return client


def test_a_stage_without_a_map_asks_at_once_and_for_its_kind() -> None:
    assert MapClient(20001, 3).on_tick(5) == [Ask(THE_REQUEST)]
    by_time = MapClient(20001, 3, ["timestamp"]).on_tick(5)
    assert by_time == [Ask(TimestampMergeMapRequest(out_stream_id=20001, epoch=3))]


def test_it_asks_again_with_longer_pauses_up_to_a_second_and_never_gives_up() -> None:
    client = MapClient(20001, 3)
    asked_at = [at for at in range(20_000) if client.on_tick(at * MS)]
    assert asked_at[:7] == [0, 100, 300, 700, 1500, 2500, 3500]
    assert {after - before for before, after in pairwise(asked_at[4:])} == {1000}
    assert asked_at[-1] == 19_500


def test_the_answer_is_applied_and_the_asking_ends() -> None:
    client = with_map()
    assert client.map == MAP
    assert asks(client, 100, 1_000, 100_000) == [False, False, False]


def test_an_announce_that_nobody_asked_for_is_applied_as_well() -> None:
    assert MapClient(20001, 3).on_announce(announced(MAP), 0) == [Apply(MAP)]


def test_an_identical_announce_changes_nothing() -> None:
    client = with_map()
    assert [client.on_announce(announced(MAP), at) for at in (1, 2)] == [[], []]
    assert (client.map, client.counts["identical"], client.counts["applied"]) == (MAP, 2, 1)


def test_a_changed_map_stops_the_barrier_before_it_is_applied() -> None:
    client = with_map()
    assert client.on_announce(announced(CHANGED), 1) == [Invalidate(), Apply(CHANGED)]
    assert client.on_announce(announced(CHANGED), 2) == []
    assert client.on_announce(announced(MAP), 3) == [Invalidate(), Apply(MAP)]


def test_maps_of_other_pairs_and_of_the_other_kind_change_nothing() -> None:
    for client in (MapClient(20001, 3), with_map()):
        before = client.map
        for each in (NEXT_EPOCH, OTHER_OUTPUT, BY_TIME):
            assert client.on_announce(announced(each), 1) == []
        assert client.on_announce(invalid(epoch=4), 1) == []
        assert client.map == before
        assert (client.counts["other_pairs"], client.counts["other_kind"]) == (3, 1)


def test_an_invalid_map_blocks_and_names_rule_and_reason_until_a_valid_one_comes() -> None:
    client = with_map()
    stop, refused = client.on_announce(invalid(), 0)
    assert stop == Invalidate()
    assert isinstance(refused, Refused)
    facts = refused.error.facts
    assert (facts["rule"], facts["stream"], facts["reason"]) == (0, 10001, "window_zero")
    assert client.map is None
    # Even the map of before has to be announced again, and is then applied anew.
    assert client.on_announce(announced(MAP), 1) == [Apply(MAP)]
    assert client.refusal is None


def test_an_invalid_first_map_is_told_and_there_is_nothing_to_stop() -> None:
    (refused,) = MapClient(20001, 3).on_announce(invalid(), 0)
    assert isinstance(refused, Refused)


def test_the_same_invalid_map_is_told_once_and_another_one_again() -> None:
    client = with_map()
    heard = [invalid(), invalid(), invalid(window=3, offset=1), invalid(window=3, offset=1), invalid()]
    assert [len(client.on_announce(each, 1)) for each in heard] == [2, 0, 1, 0, 1]
    assert client.counts["refused"] == 5
    client.on_announce(announced(MAP), 2)
    assert len(client.on_announce(invalid(), 3)) == 2


def test_a_blocked_stage_asks_again_and_not_as_fast_as_it_is_refused() -> None:
    client = with_map()
    client.on_announce(invalid(), 50 * MS)
    assert asks(client, 50, 149, 150, 151) == [False, False, True, False]
    client.on_announce(invalid(), 160 * MS)
    assert asks(client, 161, 349, 350) == [False, False, True]


def test_a_map_that_the_barrier_cannot_apply_blocks_like_an_invalid_one() -> None:
    client = with_map()
    refusal = MapRefused("a barrier follows at most 256 inputs", reason="too_many_inputs")
    assert client.on_refused(refusal, 0) == [Invalidate(), Refused(refusal)]
    assert asks(client, 100) == [True]


def test_a_map_that_the_stage_could_not_apply_is_not_given_to_it_again_and_the_asking_goes_on() -> None:
    client = with_map()
    refusal = MapRefused("a rule names a stream that has no [[input]]", reason="unknown_stream", stream=10001)
    assert client.on_refused(refusal, 0, MAP) == [Invalidate(), Refused(refusal)]
    assert [client.on_announce(announced(MAP), at) for at in (1, 2)] == [[], []]
    assert asks(client, 100) == [True]
    assert client.on_announce(announced(CHANGED), 101) == [Apply(CHANGED)]
    # The authority says again what cannot be applied: what it said between holds no longer.
    assert client.on_announce(announced(MAP), 102) == [Invalidate(), Refused(refusal)]
    assert client.map is None


def test_a_refusal_that_comes_when_another_map_is_already_in_force_stops_nothing() -> None:
    client = with_map()
    client.on_announce(announced(CHANGED), 1)
    assert client.on_refused(MapRefused("too late", reason="unknown_stream"), 2, MAP) == []
    assert client.map == CHANGED


def test_a_map_that_was_refused_in_one_epoch_is_tried_in_the_next() -> None:
    client = with_map()
    client.on_refused(MapRefused("no such stream", reason="unknown_stream"), 0, MAP)
    client.new_epoch(4, 1)
    assert client.on_announce(announced(NEXT_EPOCH), 2) == [Apply(NEXT_EPOCH)]


def test_a_stage_that_takes_both_kinds_asks_for_one_after_the_other_and_applies_either() -> None:
    for found in (MAP, BY_TIME):
        client = MapClient(20001, 3, ["sequence", "timestamp"])
        asked = [client.on_tick(at * MS) for at in (0, 100, 300)]
        by_time = Ask(TimestampMergeMapRequest(out_stream_id=20001, epoch=3))
        assert asked == [[Ask(THE_REQUEST)], [by_time], [Ask(THE_REQUEST)]]
        assert client.on_announce(announced(found), 301 * MS) == [Apply(found)]


def test_a_new_epoch_blocks_and_asks_for_its_own_map_at_once() -> None:
    client = with_map()
    assert client.new_epoch(4, 10) == [Invalidate()]
    assert client.on_tick(10) == [Ask(SequenceMergeMapRequest(out_stream_id=20001, epoch=4))]
    assert client.on_announce(announced(MAP), 11) == []
    assert client.map is None
    assert client.on_announce(announced(NEXT_EPOCH), 12) == [Apply(NEXT_EPOCH)]


def test_the_same_epoch_again_changes_nothing() -> None:
    client = with_map()
    assert client.new_epoch(3, 1) == []
    assert client.map == MAP


def test_a_new_epoch_of_a_stage_without_a_map_has_nothing_to_stop() -> None:
    client = MapClient(20001, 3)
    asks(client, 0, 100)
    assert client.new_epoch(4, 101 * MS) == []
    assert asks(client, 101, 102, 201) == [True, False, True]


def test_requests_that_nobody_heard_are_sent_anew() -> None:
    client = MapClient(20001, 3)
    asks(client, 0, 100, 300)
    client.ask_anew()
    assert asks(client, 301, 400, 401) == [True, False, True]
    client.on_announce(announced(MAP), 402 * MS)
    client.ask_anew()
    assert asks(client, 403) == [False]
