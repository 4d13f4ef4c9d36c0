# SPDX-License-Identifier: Apache-2.0
"""Nearest picks against the whole history: with reuse each output takes the nearest frame, without it the best pairing.

Nothing here goes by time or lateness: whatever the order of arrival, rows and leftovers are those of the history.
"""

from __future__ import annotations

import math
import random
from itertools import accumulate
from typing import Any

import pytest
from framegate.spec.join.pairing import Reach
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joins.pairings import best_by_brute_force, best_by_table, clock, reach_ms
from tests.joins.stage_world import IMPLEMENTATIONS, Implementation, World, make_stage, recall

each_impl = pytest.mark.parametrize("impl", IMPLEMENTATIONS)
times = st.lists(st.integers(0, 12), min_size=1, max_size=25).map(
    lambda steps: [100 + time for time in accumulate(steps)]
)
few_times = st.lists(st.integers(0, 9), min_size=1, max_size=6).map(
    lambda steps: [100 + time for time in accumulate(steps)]
)
chances = st.randoms(use_true_random=False)


@each_impl
@settings(max_examples=100, deadline=None)
@given(
    anchors=times,
    others=times,
    offset=st.integers(-9, 9),
    tolerance_ns=st.one_of(st.none(), st.integers(0, 12)),
    chance=chances,
)
def test_with_reuse_each_output_takes_the_nearest_frame_not_older_than_the_last(
    impl: Implementation,
    anchors: list[int],
    others: list[int],
    offset: int,
    tolerance_ns: int | None,
    chance: random.Random,
) -> None:
    nearest = {"offset": offset, "tolerance_ns": tolerance_ns, "pick": "nearest"}
    # With so much lateness an output waits until the nearest can be told, so that arrival does not matter.
    world = World(impl, [{}, nearest], policy="timestamp", drive="input", lateness_ns=10_000)
    _play(world, [anchors, others], chance)
    assert world.rows == _nearest_in_turn(anchors, others, offset, tolerance_ns)


@each_impl
@settings(max_examples=120, deadline=None)
@given(
    anchors=few_times,
    others=few_times,
    rule=st.one_of(
        st.integers(0, 12).map(lambda each: {"tolerance_ns": each}),
        st.integers(1, 12).map(lambda each: {"window": each}),
        st.just({}),
    ),
    offset=st.integers(-9, 9),
    is_restored=st.booleans(),
    chance=chances,
)
def test_without_reuse_rows_are_the_best_pairing_in_any_order_of_arrival(
    impl: Implementation,
    anchors: list[int],
    others: list[int],
    rule: dict[str, int],
    offset: int,
    is_restored: bool,
    chance: random.Random,
) -> None:
    """``is_restored``: at every step another stage goes on from a checkpoint. The frames that wait are all there is."""
    offset = 0 if "window" in rule else offset
    world = _world(impl, {**rule, "offset": None if "window" in rule else offset})
    # An output before the start of its window is none.
    kept = [seq for seq, time in enumerate(anchors) if time >= rule.get("window", 0)]
    reach = Reach(
        rule.get("window", rule.get("tolerance_ns", math.inf)),
        0 if "window" in rule else rule.get("tolerance_ns", math.inf),
    )
    pairs = best_by_brute_force([anchors[seq] + offset for seq in kept], others, reach)
    _play(world, [anchors, others], chance, is_restored=is_restored)
    assert world.rows == [(anchors[kept[output]], kept[output], frame) for output, frame in sorted(pairs.items())]
    assert world.counters["closed_early"] == [0, 0]
    left = {(index, seq): cause for index, first, last, cause in world.leftovers() for seq in range(first, last + 1)}
    if not is_restored:
        joined = {(0, kept[output]) for output in pairs} | {(1, frame) for frame in pairs.values()}
        assert joined | set(left) == {(0, seq) for seq in range(len(anchors))} | {
            (1, seq) for seq in range(len(others))
        }
        assert not joined & set(left)
        assert {cause for (index, _), cause in left.items() if index} <= {
            "superseded",
            "no_match",
            "before_window",
            "pending_at_end",
        }


@each_impl
@pytest.mark.parametrize("tolerance_ms", [12, 20])
@pytest.mark.parametrize("seed", range(2))
def test_recorded_clocks_give_the_rows_of_the_best_pairing(impl: Implementation, seed: int, tolerance_ms: int) -> None:
    count = 400 if impl == "native" else 80
    anchors, others = clock(seed, count), clock(seed + 50, count)
    pairs = best_by_table(anchors, others, reach_ms(tolerance_ms))
    for run in range(2):
        world = _world(impl, {"tolerance_ns": tolerance_ms * 1_000_000})
        _play(world, [anchors, others], random.Random(run), burst=10)
        assert world.rows == [(anchors[output], output, frame) for output, frame in sorted(pairs.items())]
        assert world.counters["closed_early"] == [0, 0]


def _world(impl: Implementation, rule: dict[str, Any]) -> World:
    once = {"pick": "nearest", "reuse": False, **rule}
    return World(impl, [{}, once], policy="timestamp", drive="input", history=256)


def _play(
    world: World, times: list[list[int]], chance: random.Random, *, is_restored: bool = False, burst: int = 1
) -> None:
    """Frames come in any order that keeps each input's own; then the ends."""
    waiting = [list(enumerate(each)) for each in times]
    while any(waiting):
        index = chance.choice([index for index, each in enumerate(waiting) if each])
        for seq, time in waiting[index][: chance.randint(1, burst)]:
            world.frame(index, seq, time)
            waiting[index].pop(0)
        if not waiting[index] and chance.random() < 0.5:
            world.end(index)
        world.join()
        if is_restored:
            _restore(world)
    world.end(0, 1)
    world.join()


def _restore(world: World) -> None:
    waiting, rest, state = world.stage.waiting(), world.stage.rest(), world.stage.state()
    world.stage = make_stage(
        "native" if type(world.stage).__name__ == "NativeStage" else "reference", world.config, state
    )
    recall(world.stage, waiting, rest, world.now_ns)
    world.map()


def _nearest_in_turn(
    anchors: list[int], others: list[int], offset: int, tolerance_ns: int | None
) -> list[tuple[int, int, int]]:
    rows = []
    last = 0
    for seq, time in enumerate(anchors):
        distances = [(abs(others[other] - time - offset), other) for other in range(last, len(others))]
        near = [each for each in distances if tolerance_ns is None or each[0] <= tolerance_ns]
        if near:
            last = min(near)[1]
            rows.append((time, seq, last))
    return rows
