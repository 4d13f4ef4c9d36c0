# SPDX-License-Identifier: Apache-2.0
"""A stage that was cut, lost, and given back what the cut held goes on as the one that was never lost.

The law that restoring stands on: whatever was told before the cut, rows and leftovers after it are the same. With a
state that was sealed later than the cut (P7) and everything since told again, as a source that goes back does it, the
rows after that state are the same too, and none comes twice.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from framegate.joinbarrier.journal.causes import Cause
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.joins.stage_rules import RuledConfig
from tests.joins.stage_world import IMPLEMENTATIONS, Implementation, make_stage, recall
from tests.property.stage_scripts import Op, Player, configs, scripts

THOROUGH = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def _timeless(config: RuledConfig) -> RuledConfig:
    """How long something has waited is no part of a checkpoint, so nothing here goes by it. Nor is a full history: what
    is told again has the room that it had, and what comes then has as much as ever."""
    inputs = tuple(replace(each, deadline_ns=0, processed=False) for each in config.inputs)
    return replace(config, inputs=inputs, max_age_ns=0, history=64)


def _plain(script: list[Op]) -> list[Op]:
    """Neither maps nor frames that cannot be read: these are the world's, not the stage's."""
    kept = [op for op in script if op[0] not in ("map", "invalidate", "drain", "processed", "push") and op[-1] != "seq"]
    return [("next", 50, []) if op[0] == "next" else op for op in kept]


def _rows(log: list[Any]) -> list[Any]:
    return [each for kind, answer in log if kind == "next" for each in answer if each is not None]


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("policy", ["sequence", "timestamp", "union"])
@THOROUGH
@given(data=st.data())
def test_a_stage_that_takes_everything_back_stands_where_the_cut_one_stood(
    impl: Implementation, policy: str, data: st.DataObject
) -> None:
    config = _timeless(data.draw(configs(policy)))
    before, after = _plain(data.draw(scripts())), _plain(data.draw(scripts()))
    whole, cut = Player(impl, config), Player(impl, config)
    # An output epoch that ends as it is asked wants another map.
    for op in [*before, *[("map", None, 0), ("next", 50, [])] * 2]:
        whole.play(op)
        cut.play(op)
    kept = whole.stage.take_unmatched()
    assert cut.stage.take_unmatched() == kept
    marks = len(whole.log)
    cut.play(("restore",))
    # A stage that was restored was told the time; the other one hears it as well, as in every turn of an engine.
    whole.play(("wait", 0))
    for op in [*after, ("next", 50, [])]:
        whole.play(op)
        cut.play(op)
    assert _rows(cut.log[marks:]) == _rows(whole.log[marks:])
    assert _leftovers(cut) == _leftovers(whole)


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@pytest.mark.parametrize("policy", ["sequence", "timestamp", "union"])
@THOROUGH
@given(data=st.data())
def test_p7_what_a_later_state_decided_is_not_made_again(
    impl: Implementation, policy: str, data: st.DataObject
) -> None:
    """Cut, go on, seal a state somewhere, be killed; then that state, what the cut held, and everything since again."""
    config = _timeless(data.draw(configs(policy)))
    before, between, after = (_plain(data.draw(scripts())) for _ in range(3))
    whole = _Asked(impl, config)
    whole.play_all(before)
    waiting, rest, cut_state = whole.stage.waiting(), whole.stage.rest(), whole.stage.state()
    restored = whole.twin_of_its_sources()
    sealed_at = data.draw(st.integers(0, max(0, len(between) - 1)))
    whole.play_all(between[:sealed_at])
    sealed = whole.play_and_seal(between[sealed_at : sealed_at + 1], data.draw(st.integers(0, 3)))
    whole.rows.clear()
    whole.play_all([*between[sealed_at + 1 :], *after])

    restored.stage = make_stage(impl, config, sealed)
    recall(restored.stage, waiting, rest, restored.now_ns, is_same_cut=sealed == cut_state)
    restored.play_all([*between, *after])
    assert restored.rows == whole.rows


class _Asked(Player):
    """Asked for every row after each line, as an engine asks."""

    def __init__(self, impl: Implementation, config: RuledConfig) -> None:
        super().__init__(impl, config)
        self.rows: list[Any] = []

    def play_all(self, script: list[Op]) -> None:
        self._ask(1_000)
        for op in script:
            self.play(op)
            self._ask(1_000)

    def play_and_seal(self, script: list[Op], rows: int) -> str:
        """The state after so many rows of the last line."""
        for op in script:
            self.play(op)
        self._ask(rows)
        sealed: str = self.stage.state()
        return sealed

    def twin_of_its_sources(self) -> _Asked:
        """Another one, whose sources stand where these do."""
        other = _Asked(self.impl, self.config)
        other.streams, other.now_ns = deepcopy(self.streams), self.now_ns
        return other

    def _ask(self, limit: int) -> None:
        self.play(("map", None, 0))
        self.rows += [each for each in self._next(limit, []) if each is not None]
        self.stage.take_unmatched()


def _leftovers(player: Player) -> list[Any]:
    """Frame by frame: ranges end where they are taken. Whether a window had looked at a frame is not kept."""
    player.stage.finish(player.now_ns)
    left = player.stage.take_unmatched()
    causes = {Cause.BEFORE_WINDOW: Cause.NO_MATCH}
    return sorted(
        (each.input, str(causes.get(each.cause, each.cause)), each.epoch, seq)
        for each in left
        for seq in range(each.seq, each.seq_last + 1)
    )
