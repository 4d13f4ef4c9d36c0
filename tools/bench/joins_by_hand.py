# SPDX-License-Identifier: Apache-2.0
"""How many pairs a second do joins make that one writes by hand in Python, and how old is a pair then?

Two producers and a dict of frames by number, over each of the ways in which frames come to another process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from framegate.tools.bench.by_hand import WAYS, Paired, Phase, is_there, joined_by_hand
from framegate.tools.bench.peer import Peer
from framegate.tools.bench.pool_bed import sized
from framegate.tools.bench.result import Result, percentile

SIZES: Final = (4 << 10, 640 << 10)
_RUSH_BYTES: Final = 256 << 20
_RUSH_PAIRS_MAX: Final = 50_000
_SINGLES: Final = 500
_PACE_NS: Final = 2_000_000


def run(*, quick: bool = False) -> Iterator[Result]:
    """Each way with each size; ``quick``: the one that needs no package, and few pairs."""
    if quick:
        yield _joined(WAYS[-1], SIZES[0], pairs=200, singles=50)
        return
    for frame_bytes in SIZES:
        for way in WAYS:
            pairs = min(_RUSH_PAIRS_MAX, _RUSH_BYTES // frame_bytes)
            yield _joined(way, frame_bytes, pairs=pairs, singles=_SINGLES)


def _joined(way: type[Peer], frame_bytes: int, *, pairs: int, singles: int) -> Result:
    question = f"pairs of {sized(frame_bytes)} by hand: {way.name}"
    if not is_there(way):
        return Result(question=question, measured=None, how="not installed: see the group `bench` of pyproject.toml")
    phases = [Phase(max(2, pairs // 10)), Phase(pairs), Phase(singles, _PACE_NS)]
    _, rush, paced = joined_by_hand(way, frame_bytes, phases)
    rate = rush.pairs_a_second()
    return Result(
        question=question,
        measured=rate,
        unit="pairs/s",
        how=f"{2 * rate * frame_bytes / 1e9:.2f} GB/s; one at a time, {1e9 / _PACE_NS:.0f}/s: {_in_words(paced)}",
    )


def _in_words(paced: Paired) -> str:
    ages_us = [age / 1e3 for age in paced.ages_ns]
    return f"p50 {percentile(ages_us, 0.5):.0f} us, p99 {percentile(ages_us, 0.99):.0f} us"
