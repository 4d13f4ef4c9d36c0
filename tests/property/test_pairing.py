# SPDX-License-Identifier: Apache-2.0
"""The choices of best one-to-one nearest, made while frames and outputs come, against the best pairing of all of them.

Whatever the order of arrival, the choices are those of the whole history: nothing that came later could change one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

import pytest
from framegate.spec.join.pairing import OUTPUTS_MAX, Reach, Time, first_choice
from hypothesis import given, settings
from hypothesis import strategies as st

from framegate._native import NearestPairing
from tests.joins.pairings import Pairs, best_by_brute_force, best_by_table, clock, reach_ms

Answer: TypeAlias = tuple[int | None, bool] | None
Choose: TypeAlias = Callable[[Sequence[int], Sequence[int], Reach, Time, Time, int], Answer]

_CELLS_MAX = OUTPUTS_MAX * (2 * OUTPUTS_MAX + 1)


def _twin(xs: Sequence[int], ys: Sequence[int], reach: Reach, x_horizon: Time, y_horizon: Time, most: int) -> Answer:
    found = first_choice(xs, ys, reach, x_horizon, y_horizon, outputs_max=most)
    return None if found is None else (found.partner, found.is_early)


def _native(xs: Sequence[int], ys: Sequence[int], reach: Reach, x_horizon: Time, y_horizon: Time, most: int) -> Answer:
    numbers = [
        None if time == math.inf else -(2**63) if time == -math.inf else int(time)
        for time in (reach.behind, reach.ahead, x_horizon, y_horizon)
    ]
    pairing = NearestPairing()
    found = pairing.first_choice(xs, ys, (numbers[0], numbers[1]), (numbers[2], numbers[3]), most, False)
    assert pairing.cells <= _CELLS_MAX
    return found


each_impl = pytest.mark.parametrize("choose", [_twin, _native], ids=["reference", "native"])

few_times = st.lists(st.integers(0, 9), max_size=7).map(lambda steps: list(accumulate(steps)))
distance = st.one_of(st.integers(0, 12), st.just(math.inf))
reaches = st.one_of(
    distance.map(lambda each: Reach(each, each)),
    distance.map(lambda each: Reach(each, 0)),
    st.builds(Reach, distance, distance),
)
chances = st.randoms(use_true_random=False)


@settings(max_examples=60, deadline=None)
@given(xs=few_times, ys=few_times, reach=reaches)
def test_the_table_finds_what_brute_force_finds(xs: list[int], ys: list[int], reach: Reach) -> None:
    assert best_by_table(xs, ys, reach) == best_by_brute_force(xs, ys, reach)


@each_impl
@settings(max_examples=100, deadline=None)
@given(xs=few_times, ys=few_times, reach=reaches, chance=chances)
def test_choices_made_in_any_order_of_arrival_are_the_best_pairing(
    choose: Choose, xs: list[int], ys: list[int], reach: Reach, chance: random.Random
) -> None:
    want = best_by_brute_force(xs, ys, reach)
    for _ in range(3):
        assert _played(choose, xs, ys, reach, chance).pairs == want


@each_impl
@settings(max_examples=250, deadline=None)
@given(xs=few_times, ys=few_times, reach=reaches, most=st.integers(1, 4), chance=chances)
def test_so_many_outputs_compete_and_no_more(
    choose: Choose, xs: list[int], ys: list[int], reach: Reach, most: int, chance: random.Random
) -> None:
    # Which of equal frames are the nearest so many is not told apart.
    ys = sorted(set(ys))
    want: Pairs = {}
    left = 0
    for output in range(len(xs)):
        partner = best_by_table(xs[output : output + most], ys[left:], reach).get(0)
        if partner is not None:
            want[output] = left + partner
            left += partner + 1
    assert _played(choose, xs, ys, reach, chance, most).pairs == want


@each_impl
@pytest.mark.parametrize("tolerance_ms", [2, 12, 20, 30])
@pytest.mark.parametrize("seed", range(4))
def test_recorded_clocks_are_paired_as_well_as_can_be_in_any_order_of_arrival(
    choose: Choose, seed: int, tolerance_ms: int
) -> None:
    count = 600 if choose is _native else 150
    xs, ys, reach = clock(seed, count), clock(seed + 100, count), reach_ms(tolerance_ms)
    want = best_by_table(xs, ys, reach)
    for run in range(3):
        played = _played(choose, xs, ys, reach, random.Random(run), burst=8)
        assert played.pairs == want
        assert played.early == 0


def test_without_a_tolerance_no_more_than_the_bound_of_cells_is_looked_at() -> None:
    """Frames that every output would rather have than none, far before and after: no choice closes before the bound."""
    xs, ys = list(range(1_000, 1_200)), [*range(200), *range(1_100, 1_300)]
    pairing = NearestPairing()
    assert pairing.first_choice(xs, ys, (None, None), (None, None), OUTPUTS_MAX, False) is not None
    assert _CELLS_MAX // 2 < pairing.cells <= _CELLS_MAX


@each_impl
@pytest.mark.parametrize(("tolerance_ms", "outputs"), [(12, 12), (20, 24)])
def test_a_choice_closes_after_few_outputs_where_the_tolerance_is_below_the_period(
    choose: Choose, tolerance_ms: int, outputs: int
) -> None:
    count = 600 if choose is _native else 150
    xs, ys = clock(3, count), clock(103, count)
    waited = _waited(choose, xs, ys, reach_ms(tolerance_ms))
    assert sorted(waited)[len(waited) * 9 // 10] <= 4
    assert max(waited) <= outputs


@each_impl
def test_without_a_tolerance_a_choice_waits_for_as_many_outputs_as_may_compete(choose: Choose) -> None:
    xs, ys = clock(3, 150), clock(103, 150)
    waited = _waited(choose, xs, ys, reach_ms(math.inf))
    assert OUTPUTS_MAX // 2 < max(waited) < 2 * OUTPUTS_MAX


@settings(max_examples=200, deadline=None)
@given(
    xs=few_times.filter(len),
    ys=few_times,
    reach=reaches,
    x_ahead=st.integers(0, 9),
    y_ahead=st.integers(-9, 9),
    most=st.integers(1, 5),
)
def test_both_answer_alike_whatever_the_horizons(
    xs: list[int], ys: list[int], reach: Reach, x_ahead: int, y_ahead: int, most: int
) -> None:
    horizons = xs[-1] + x_ahead, max(ys[-1] if ys else -5, 10 + y_ahead)
    assert _native(xs, ys, reach, *horizons, most) == _twin(xs, ys, reach, *horizons, most)


class _Played:
    """The choices of a history that came in some order: which frame each output has, and how many closed early."""

    def __init__(self) -> None:
        self.pairs: Pairs = {}
        self.early = 0


def _played(
    choose: Choose,
    xs: list[int],
    ys: list[int],
    reach: Reach,
    chance: random.Random,
    most: int = OUTPUTS_MAX,
    burst: int = 1,
) -> _Played:
    """Outputs and frames come, several of one kind at a time, each kind in its order. Asked for after each time."""
    played, decided, left = _Played(), 0, 0
    came = {"x": 0, "y": 0}
    while decided < len(xs):
        kind = chance.choice("xy")
        came[kind] = min(came[kind] + chance.randint(1, burst), len(xs if kind == "x" else ys))
        x_horizon = _horizon(xs, came["x"])
        y_horizon = _horizon(ys, came["y"])
        while decided < came["x"]:
            answer = choose(xs[decided : came["x"]], ys[left : came["y"]], reach, x_horizon, y_horizon, most)
            if answer is None:
                break
            partner, is_early = answer
            if partner is not None:
                played.pairs[decided] = left + partner
                left += partner + 1
            played.early += is_early
            decided += 1
    return played


def _waited(choose: Choose, xs: list[int], ys: list[int], reach: Reach) -> list[int]:
    """How many outputs had come when each one's choice closed; everything comes when its time is due."""
    waited, decided, left = [], 0, 0
    for now in sorted({*xs, *ys}):
        came, seen = [sum(time <= now for time in times) for times in (xs, ys)]
        while decided < came:
            answer = choose(xs[decided:came], ys[left:seen], reach, _horizon(xs, came), _horizon(ys, seen), OUTPUTS_MAX)
            if answer is None:
                break
            waited.append(came - decided)
            left += 0 if answer[0] is None else answer[0] + 1
            decided += 1
    return waited


def _horizon(times: list[int], came: int) -> Time:
    if came == len(times):
        return math.inf
    return times[came - 1] if came else -math.inf
