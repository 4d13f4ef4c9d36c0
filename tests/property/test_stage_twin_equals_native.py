# SPDX-License-Identifier: Apache-2.0
"""Whatever a stage is told and asked: both implementations give the same attempts, leftovers, counters and state."""

from __future__ import annotations

import pytest
from framegate.schema.merge import TimestampSource
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.joins.stage_rules import RuledConfig, RuledInput
from tests.property.stage_scripts import Op, Player, configs, scripts

THOROUGH = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("policy", ["sequence", "timestamp", "latest", "union"])
@THOROUGH
@given(data=st.data())
def test_twin_and_native_answer_alike(policy: str, data: st.DataObject) -> None:
    config = data.draw(configs(policy))
    script = data.draw(scripts())
    _compare(config, script)


@pytest.mark.parametrize("policy", ["sequence", "timestamp", "latest", "union"])
@settings(THOROUGH, max_examples=25)
@given(data=st.data())
def test_twin_and_native_answer_alike_after_a_resume(policy: str, data: st.DataObject) -> None:
    config = data.draw(configs(policy))
    before, after = data.draw(scripts()), data.draw(scripts())
    _compare(config, [*before, ("resume",), *after])


@pytest.mark.parametrize("policy", ["sequence", "timestamp", "latest", "union"])
@settings(THOROUGH, max_examples=25)
@given(data=st.data())
def test_twin_and_native_answer_alike_after_a_restore(policy: str, data: st.DataObject) -> None:
    config = data.draw(configs(policy))
    before, after = data.draw(scripts()), data.draw(scripts())
    _compare(config, [*before, ("restore",), *after])


def test_an_output_waits_from_its_restore_on_where_all_was_heard_before() -> None:
    windows = (RuledInput(stream=1, window=1), RuledInput(stream=1, window=2), RuledInput(stream=2, window=1))
    config = RuledConfig(policy="sequence", inputs=windows, first=0)
    _compare(config, [("missed", 2, 0, 1), ("restore",), ("next", 1, []), ("frame", 1, 1, 0, 0)])


def test_a_newest_frame_that_found_no_room_takes_no_others_place() -> None:
    inputs = (RuledInput(stream=1, source=TimestampSource.SLOT_HEADER, window=1),)
    config = RuledConfig(policy="latest", inputs=inputs, order_by="timestamp", history=3)
    times = ((0, None), (-5, -5), (-5, None), (0, None))
    _compare(config, [("frame", 1, 1, *each) for each in times])


def _compare(config: RuledConfig, script: list[Op]) -> None:
    twin, native = Player("reference", config), Player("native", config)
    for op in [*script, ("next", 50, []), ("finish",)]:
        for player in (twin, native):
            player.play(op)
        assert native.log[-1] == twin.log[-1]
        assert native.stage.state() == twin.stage.state()
        assert native.stage.counted() == twin.stage.counted()
        assert native.stage.status() == twin.stage.status()
        assert native.stage.is_finished() == twin.stage.is_finished()
        assert len(native.stage.state()) <= native.stage._stage.state_capacity()
