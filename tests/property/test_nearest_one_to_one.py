# SPDX-License-Identifier: Apache-2.0
"""Nearest picks against brute force over the whole history: each output in turn takes the nearest frame allowed."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joins.stage_world import IMPLEMENTATIONS, Implementation, World

times = st.lists(st.integers(0, 12), min_size=1, max_size=25).map(
    lambda steps: [100 + time for time in accumulate(steps)]
)


@pytest.mark.parametrize("impl", IMPLEMENTATIONS)
@settings(max_examples=150, deadline=None)
@given(
    anchors=times,
    others=times,
    offset=st.integers(-9, 9),
    tolerance_ns=st.one_of(st.none(), st.integers(0, 12)),
    reuse=st.booleans(),
    interleaving=st.randoms(use_true_random=False),
)
def test_each_output_takes_the_nearest_frame_not_older_than_the_last(
    impl: Implementation,
    anchors: list[int],
    others: list[int],
    offset: int,
    tolerance_ns: int | None,
    reuse: bool,
    interleaving: object,
) -> None:
    nearest = {"offset": offset, "tolerance_ns": tolerance_ns, "pick": "nearest", "reuse": reuse}
    # With so much lateness an output waits until the nearest can be told, so that arrival does not matter.
    world = World(impl, [{}, nearest], policy="timestamp", drive="input", lateness_ns=10_000)
    frames = [(0, seq, time) for seq, time in enumerate(anchors)] + [(1, seq, time) for seq, time in enumerate(others)]
    # Frames come in any order that keeps each input's own.
    turns = [index for index, _, _ in frames]
    interleaving.shuffle(turns)  # type: ignore[attr-defined]
    waiting = [iter(frames[: len(anchors)]), iter(frames[len(anchors) :])]
    for turn in turns:
        world.frame(*next(waiting[turn]))
        world.join()
    world.end(0, 1)
    world.join()
    assert world.rows == _expected(anchors, others, offset, tolerance_ns, reuse)
    if not reuse:
        assert len({row[2] for row in world.rows}) == len(world.rows)


def _expected(
    anchors: list[int], others: list[int], offset: int, tolerance_ns: int | None, reuse: bool
) -> list[tuple[int, int, int]]:
    rows = []
    last = -1
    for seq, time in enumerate(anchors):
        allowed = range(last if reuse and last >= 0 else last + 1, len(others))
        distances = [(abs(others[other] - time - offset), other) for other in allowed]
        near = [each for each in distances if tolerance_ns is None or each[0] <= tolerance_ns]
        if near:
            last = min(near)[1]
            rows.append((time, seq, last))
    return rows
