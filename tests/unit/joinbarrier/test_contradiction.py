# SPDX-License-Identifier: Apache-2.0
"""An announced map against the keys of a file: only what is written there can contradict it."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.joinbarrier.agent.plan import noted_map
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.contradiction import bound, contradiction
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.merge import ClockDomain, TimestampSource

OUT = 20001


def config(*inputs: dict[str, Any], policy: str = "sequence", **mergemap: Any) -> JoinConfig:
    named = [{"name": f"i{index}", "stream": 10001 + index, **each} for index, each in enumerate(inputs)]
    return JoinConfig.model_validate({"join": {"policy": policy}, "mergemap": mergemap, "input": named})


def by_seq(*rules: tuple[int, int | None, int | None], **more: Any) -> MergeMap:
    return MergeMap(
        OUT, 1, [SequenceRule(stream, offset=offset, window=window) for stream, offset, window in rules], **more
    )


def by_time(*rules: TimestampRule, domain: ClockDomain = ClockDomain.MONOTONIC, **more: Any) -> MergeMap:
    return MergeMap(OUT, 1, rules, clock_domain=domain, **more)


def said(found: JoinConfig, announced: MergeMap) -> tuple[object, object] | None:
    error = contradiction(found, announced)
    return None if error is None else (error.facts["file"], error.facts["map"])


def test_what_the_file_leaves_out_is_the_maps_choice() -> None:
    announced = by_seq((10001, None, 5), (10002, -2, None), stale_timeout_ns=7)
    assert said(config({}, {}), announced) is None
    timed = by_time(
        TimestampRule(10001, offset_ns=3, source=TimestampSource.FRAME_DESCRIPTOR),
        domain=ClockDomain.REALTIME_SYNCED,
        lateness_ns=9,
    )
    assert said(config({}, policy="timestamp"), timed) is None


def test_a_default_that_is_written_down_counts_as_much_as_any_other_value() -> None:
    announced = by_seq((10001, 0, None), (10002, -2, None))
    assert said(config({"offset": 0}, {"offset": -2}), announced) is None
    assert said(config({}, {"offset": 0}), announced) == ("input[1] i1: offset = 0", "input[1] i1: offset = -2")


def test_a_window_where_the_file_says_an_offset_is_named_with_both() -> None:
    found = said(config({"offset": 0}), by_seq((10001, None, 5)))
    assert found == ("input[0] i0: offset = 0", "input[0] i0: offset = none")


def test_all_keys_that_disagree_are_named_together() -> None:
    announced = by_time(TimestampRule(10001, offset_ns=0), lateness_ns=5, stale_timeout_ns=1_000_000)
    file = config(
        {"offset_ns": 1, "timestamp_source": "frame_descriptor"},
        policy="timestamp",
        lateness_ns=6,
        stale_timeout_ms=2,
        clock_domain="realtime_synced",
    )
    error = contradiction(file, announced)
    assert error is not None
    for key in ("offset_ns", "timestamp_source", "lateness_ns", "stale_timeout_ms", "clock_domain"):
        assert key in str(error.facts["file"])
        assert key in str(error.facts["map"])
    assert error.exit_code == 2


def test_a_stale_time_out_of_none_is_0_in_the_file() -> None:
    announced = by_seq((10001, 0, None))
    assert said(config({}, stale_timeout_ms=0), announced) is None
    assert said(config({}, stale_timeout_ms=1), announced) is not None


def test_by_latest_value_parameters_are_ignored_so_they_contradict_nothing() -> None:
    by_number = config({}, {}, policy="latest")
    assert said(by_number, by_seq((10001, -3, None), (10002, None, 9))) is None
    assert said(by_number, by_time(TimestampRule(10001, offset_ns=1), TimestampRule(10002, window_ns=1))) is None


@pytest.mark.parametrize("streams", [(10001, 10001, 10002), (10001, 10002, 10001)])
def test_the_kth_rule_of_a_stream_is_that_of_its_kth_input(streams: tuple[int, ...]) -> None:
    file = JoinConfig.model_validate(
        {
            "input": [
                {"name": "a", "stream": 10001, "offset": 1},
                {"name": "b", "stream": 10002},
                {"name": "c", "stream": 10001, "offset": 2},
            ]
        }
    )
    offsets = iter((1, 2))
    rules = [(stream, next(offsets) if stream == 10001 else 9, None) for stream in streams]
    assert said(file, by_seq(*rules)) is None
    places = bound(file, by_seq(*rules))
    assert [streams[place] for place in places if place is not None] == [10001, 10002, 10001]


def test_an_input_without_a_rule_contradicts_nothing() -> None:
    file = config({"offset": 0}, {"offset": 5})
    assert said(file, by_seq((10001, 0, None))) is None
    assert bound(file, by_seq((10001, 0, None))) == (0, None)


def test_what_the_journal_notes_names_the_inputs_and_does_not_hold_the_epoch() -> None:
    file = config({}, {"deadline_ms": 5})
    notes = [
        noted_map(file, MergeMap(OUT, epoch, [SequenceRule(10002, offset=-2), SequenceRule(10009, offset=0)]))
        for epoch in (1, 2)
    ]
    assert notes[0]["rules"] == [
        {"input": "i1", "stream": 10002, "offset": -2},
        {"input": None, "stream": 10009, "offset": 0},
    ]
    assert notes[0]["message"] == notes[1]["message"]
    assert notes[0]["local"] == notes[1]["local"]
    assert noted_map(config({}, {}), by_seq((10002, -2, None)))["local"] != notes[0]["local"]
