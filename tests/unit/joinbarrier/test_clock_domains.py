# SPDX-License-Identifier: Apache-2.0
"""Inputs that are stamped by another clock than the map declares: who ends the join, who is left out, what is said."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.joinbarrier.agent.clock_domains import YEAR_NS, foreign_streams, is_needed, refusal, stamped_by, without
from framegate.joinbarrier.agent.waiting import Watch
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.merge import ClockDomain

MONOTONIC, REALTIME = ClockDomain.MONOTONIC, ClockDomain.REALTIME_SYNCED
NOW = (5_000_000_000, 55 * YEAR_NS)
"""By the monotonic and by the realtime clock."""


def config(**right: Any) -> JoinConfig:
    inputs = [{"name": "left", "stream": 1}, {"name": "right", "stream": 2, **right}]
    return JoinConfig.model_validate({"join": {"policy": "timestamp"}, "input": inputs})


def by_time(domain: ClockDomain = MONOTONIC) -> MergeMap:
    return MergeMap(20001, 1, [TimestampRule(1, offset_ns=0), TimestampRule(2, offset_ns=0)], clock_domain=domain)


def test_a_stream_of_another_clock_is_foreign_and_one_that_says_nothing_is_not() -> None:
    assert foreign_streams(by_time(), {1: MONOTONIC, 2: REALTIME}) == {2: REALTIME}
    assert foreign_streams(by_time(REALTIME), {1: None}) == {}
    assert foreign_streams(by_time(), {7: REALTIME}) == {}
    assert foreign_streams(MergeMap(20001, 1, [SequenceRule(1, offset=0)]), {1: REALTIME}) == {}


@pytest.mark.parametrize(("optional", "needed"), [(False, True), (True, False)])
def test_a_needed_input_ends_the_join_and_an_optional_one_takes_no_part(optional: bool, needed: bool) -> None:
    assert is_needed(config(optional=optional), {2: REALTIME}) is needed
    assert without(by_time(), {2: REALTIME}).streams == (1,)


def test_the_error_names_the_input_both_clocks_and_the_key() -> None:
    error = refusal(config(), by_time(), {2: REALTIME})
    assert error.facts == {
        "input": "right",
        "stream": 2,
        "want": "MONOTONIC",
        "have": "REALTIME_SYNCED",
        "key": "mergemap.clock_domain",
    }
    assert "--clock realtime" in error.hint
    assert error.exit_code == 1


def test_of_an_optional_and_a_needed_input_the_needed_one_is_named() -> None:
    inputs = [{"name": "left", "stream": 1, "optional": True}, {"name": "right", "stream": 2}]
    drive = {"policy": "timestamp", "drive": "input:right"}
    found = JoinConfig.model_validate({"join": drive, "input": inputs})
    assert refusal(found, by_time(), {1: REALTIME, 2: REALTIME}).facts["input"] == "right"


def test_a_timestamp_is_of_the_clock_that_it_lies_within_a_year_of() -> None:
    for near, clock in zip(NOW, (MONOTONIC, REALTIME), strict=True):
        assert stamped_by(near + YEAR_NS // 2, *NOW) is clock
    assert stamped_by(20 * YEAR_NS, *NOW) is None
    assert stamped_by(YEAR_NS, YEAR_NS, YEAR_NS + 5) is None


def test_stamps_that_lie_years_from_the_declared_clock_are_called_that_once() -> None:
    watch = Watch(config())
    status = {"inputs": [{"last_time_ns": NOW[1] - 7}, {"last_time_ns": None}]}
    (line,) = watch.clocks(status, MONOTONIC, NOW)
    assert "left: its timestamps" in line
    assert "realtime clock, but monotonic is declared" in line
    assert watch.clocks(status, MONOTONIC, NOW) == []
    assert Watch(config()).clocks(status, REALTIME, NOW) == []
    assert Watch(config()).clocks(status, None, NOW) == []
