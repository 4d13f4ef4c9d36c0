# SPDX-License-Identifier: Apache-2.0
"""How does ``framegate join`` compare with joins that one writes by hand in Python?

By hand: two producers and a dict of frames by number, over each of the ways in which frames come to another process.
For each size the pairs a second, as fast as whoever joins takes them, and the ages of single pairs, 500 a second, from
the later of the two sends to the pair. Then framegate's own in the same run, and both beside the best by hand.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dev.bench.by_hand import WAYS, Phase, is_there, joined_by_hand
from dev.bench.join import held_back, pairs_joined_a_second
from dev.bench.join_ages import ages
from dev.bench.join_bed import Case
from dev.bench.peer import Peer
from dev.bench.pool_bed import sized
from dev.bench.result import Result, percentile

KIB: Final = 1 << 10
CASES: Final = ((Case(4 * KIB, 16_384), 10.0), (Case(64 * KIB, 1024), None), (Case(640 * KIB, 64), 2.0))
"""With how many times the pairs a second of the best by hand were asked for. The slots are those of our own rings."""
_RUSH_BYTES: Final = 256 << 20
_RUSH_PAIRS_MAX: Final = 50_000
_OUR_BYTES: Final = 2 << 30
_OUR_RUNS: Final = 3
_SINGLES: Final = 500
_PACE_HZ: Final = 500


@dataclass(frozen=True, slots=True)
class Joins:
    """What one way of joining came to."""

    name: str
    rate_hz: float
    ages_us: Sequence[float]

    def in_words(self) -> str:
        """Its ages."""
        p50, p99 = (percentile(self.ages_us, part) for part in (0.5, 0.99))
        return f"one at a time, {_PACE_HZ}/s: p50 {p50:.0f} us, p99 {p99:.0f} us"


def run(*, quick: bool = False) -> Iterator[Result]:
    """Each way with each size; ``quick``: the one that needs no package, and few pairs."""
    if quick:
        case, asked = Case(4 * KIB, 1024), None
        others = [_by_hand(WAYS[-1], case, pairs=200, singles=50)]
        yield from _compared(case, asked, others, _ours(case, pairs=2 * case.slots, runs=1, singles=50))
        return
    for case, asked in CASES:
        pairs = min(_RUSH_PAIRS_MAX, _RUSH_BYTES // case.frame_bytes)
        there = [way for way in WAYS if is_there(way)]
        others = [_by_hand(way, case, pairs=pairs, singles=_SINGLES) for way in there]
        ours = _ours(case, pairs=_OUR_BYTES // (2 * case.frame_bytes), runs=_OUR_RUNS, singles=_SINGLES)
        yield from _compared(case, asked, others, ours)
        for way in set(WAYS) - set(there):
            question = f"pairs of {sized(case.frame_bytes)} by hand: {way.name}"
            yield Result(question=question, measured=None, how="not installed: see the group `bench` of pyproject.toml")


def _by_hand(way: type[Peer], case: Case, *, pairs: int, singles: int) -> Joins:
    phases = [Phase(max(2, pairs // 10)), Phase(pairs), Phase(singles, 1_000_000_000 // _PACE_HZ)]
    _, rush, paced = joined_by_hand(way, case.frame_bytes, phases)
    return Joins(f"by hand: {way.name}", rush.pairs_a_second(), [age / 1e3 for age in paced.ages_ns])


def _ours(case: Case, *, pairs: int, runs: int, singles: int) -> Joins:
    held = held_back(case, 2 * case.slots, [pairs] * runs)
    rate_hz = statistics.median(pairs_joined_a_second(each) for each in held)
    return Joins("framegate join", rate_hz, ages(case, _PACE_HZ, singles).written)


def _compared(case: Case, asked: float | None, others: Sequence[Joins], ours: Joins) -> Iterator[Result]:
    size = sized(case.frame_bytes)
    for each in (*others, ours):
        yield Result(
            question=f"pairs of {size}, {each.name}",
            measured=each.rate_hz,
            unit="pairs/s",
            how=f"{2 * each.rate_hz * case.frame_bytes / 1e9:.2f} GB/s; {each.in_words()}",
        )
    best = max(others, key=lambda each: each.rate_hz)
    yield Result(
        question=f"pairs of {size}: framegate join over the best by hand",
        measured=ours.rate_hz / best.rate_hz,
        unit="x",
        target=asked,
        is_floor=True,
        how=f"{ours.rate_hz:,.0f} over {best.rate_hz:,.0f} pairs/s of {best.name}; {case.slots} slots, "
        "producers held back to what is joined",
    )
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        yield _age(size, name, part, others, ours)


def _age(size: str, name: str, part: float, others: Sequence[Joins], ours: Joins) -> Result:
    quickest = min(others, key=lambda each: percentile(each.ages_us, part))
    mine, best = percentile(ours.ages_us, part), percentile(quickest.ages_us, part)
    return Result(
        question=f"age of a pair of {size} at {_PACE_HZ}/s, {name}: framegate join over the best by hand",
        measured=mine / best,
        unit="x",
        target=1.0,
        how=f"{mine:.0f} us over {best:.0f} us of {quickest.name}",
    )
