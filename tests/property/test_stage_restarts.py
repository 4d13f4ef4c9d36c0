# SPDX-License-Identifier: Apache-2.0
"""Producers that begin anew, one by one and again and again: what both lives have is joined, whoever is first."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.joins.stage_world import IMPLEMENTATIONS, Implementation, World

THOROUGH = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LIVES = st.lists(st.integers(1, 8), min_size=1, max_size=4)
"""How many frames both producers send in each of their lives."""


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@THOROUGH
@given(lives=LIVES, turns=st.lists(st.booleans(), max_size=80))
def test_what_both_sent_in_a_life_is_joined_as_long_as_neither_is_two_lives_ahead(
    impl: Implementation, lives: list[int], turns: list[bool]
) -> None:
    world = World(impl, [{}, {}], policy="sequence")
    todo = [[(life, seq) for life, count in enumerate(lives) for seq in range(count)] for _ in range(2)]
    rows, begun = [], [0, 0]
    for side in [*map(int, turns), *([0, 1] * 80)]:
        if not todo[side] or todo[side][0][0] > begun[1 - side] + 1:
            continue
        life, seq = todo[side].pop(0)
        begun[side] = life
        world.frame(side, seq, epoch=life + 1)
        rows += joined(world)
    world.end(0, 1, epoch=len(lives))
    rows += joined(world)
    wanted = [(seq, seq) for count in lives for seq in range(count)]
    assert rows == wanted
    assert world.leftovers() == []


def joined(world: World) -> list[tuple[int, int]]:
    """All rows that are possible now, the maps of new output epochs being there at once."""
    rows = [(left, right) for _, left, right in world.join()]
    while world.stage.wants_map() is not None and world.map():
        rows += [(left, right) for _, left, right in world.join()]
    return rows
