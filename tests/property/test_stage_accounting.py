# SPDX-License-Identifier: Apache-2.0
"""The accounting law: every frame that was observed or missed is joined or in one unmatched entry, never in both."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.joins.stage_rules import RuledConfig
from tests.joins.stage_world import IMPLEMENTATIONS, Implementation
from tests.property.stage_scripts import Op, Player, configs, scripts

THOROUGH = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))

each_impl = pytest.mark.parametrize("impl", IMPLEMENTATIONS)


@each_impl
@pytest.mark.parametrize("policy", ["sequence", "timestamp", "latest", "union"])
@THOROUGH
@given(data=st.data())
def test_every_frame_is_joined_or_in_one_entry_or_waits(impl: Implementation, policy: str, data: st.DataObject) -> None:
    player = _played(impl, data.draw(configs(policy)), data.draw(scripts()))
    pending = player.stage.status()["pending"]
    player.play(("drain", 1_000_000))
    before = [account.unmatched.total() for account in player.accounts]
    player.play(("finish",))
    for account, waiting, known in zip(player.accounts, pending, before, strict=True):
        once = Counter(dict.fromkeys(account.joined, 1))
        assert once + account.unmatched == account.told
        # What waited is what the end has added; a range counts as one that waits.
        assert account.unmatched.total() - known >= waiting


@each_impl
@pytest.mark.parametrize("policy", ["sequence", "timestamp", "latest", "union"])
@THOROUGH
@given(data=st.data())
def test_frames_of_an_input_are_decided_in_their_order(impl: Implementation, policy: str, data: st.DataObject) -> None:
    player = _played(impl, data.draw(configs(policy)), data.draw(scripts()))
    for index, each in enumerate(player.config.inputs):
        rows = [attempt for kind, seen in player.log if kind == "next" for attempt in seen if attempt is not None]
        picks = [row.picks[index] for row in rows if not isinstance(row.picks[index], str)]
        joined = [(pick.epoch, pick.seq) for pick in picks if (pick.epoch, pick.seq) in player.accounts[index].joined]
        assert joined == sorted(joined)
        if not each.reuse or player.config.policy == "union":
            assert max(player.accounts[index].joined.values(), default=1) == 1


@each_impl
@THOROUGH
@given(data=st.data())
def test_counters_tell_what_the_entries_and_rows_tell(impl: Implementation, data: st.DataObject) -> None:
    player = _played(impl, data.draw(configs()), data.draw(scripts()))
    player.play(("finish",))
    counters = player.stage.counted()
    assert counters["unmatched_dropped"] == 0
    for index, account in enumerate(player.accounts):
        assert sum(counters["unmatched"][index].values()) == account.unmatched.total()
        assert account.joined.total() + counters["absent"][index] == counters["rows"]


def _played(impl: Implementation, config: RuledConfig, script: list[Op]) -> Player:
    player = Player(impl, config)
    for op in script:
        player.play(op)
    return player
