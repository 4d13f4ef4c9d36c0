# SPDX-License-Identifier: Apache-2.0
"""Processes at maximum rate, one of them killed every few seconds: no hang, no wrong payload, nothing left."""

from __future__ import annotations

import pytest

from tests.chaos.world import World


@pytest.mark.timeout(600)
def test_half_a_minute_of_kills_is_survived() -> None:
    seen = World(seed=1).run(seconds=25, kill_every_s=5)
    assert sum(seen["kills"].values()) >= 4
    assert seen["frames"] > 0


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_ten_minutes_of_kills_are_survived() -> None:
    seen = World(seed=2).run(seconds=600, kill_every_s=5)
    assert sum(seen["kills"].values()) >= 60
