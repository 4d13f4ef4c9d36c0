# SPDX-License-Identifier: Apache-2.0
"""Best one-to-one pairings by brute force and by a table over all of both, and histories to compare them on."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from framegate.spec.join.pairing import Reach

Pairs: TypeAlias = dict[int, int]
"""Which frame each output has; those without one are not in it."""

_MS = 1_000_000


def best_by_brute_force(xs: Sequence[int], ys: Sequence[int], reach: Reach) -> Pairs:
    """Of all pairings, crossings included, those with the most pairs and the least sum; of these as ``_of_equals``."""
    found = list(_pairings(xs, ys, reach, 0, frozenset()))
    worth = max((len(each), -_distance(xs, ys, each)) for each in found)
    return _of_equals([each for each in found if (len(each), -_distance(xs, ys, each)) == worth], len(xs), len(ys))


def best_by_table(xs: Sequence[int], ys: Sequence[int], reach: Reach) -> Pairs:
    """The same for any length: the best over the first outputs and frames, and the way back through it."""

    best = [[(0, 0)] * (len(ys) + 1) for _ in range(len(xs) + 1)]
    for outputs, x in enumerate(xs, 1):
        for frames, y in enumerate(ys, 1):
            best[outputs][frames] = max(best[outputs][frames - 1], best[outputs - 1][frames])
            if -reach.behind <= y - x <= reach.ahead:
                pairs_before, worth = best[outputs - 1][frames - 1]
                best[outputs][frames] = max(best[outputs][frames], (pairs_before + 1, worth - abs(x - y)))
    pairs: Pairs = {}
    outputs, frames = len(xs), len(ys)
    while outputs and frames:
        if best[outputs][frames - 1] == best[outputs][frames]:
            frames -= 1
        elif best[outputs - 1][frames] == best[outputs][frames]:
            outputs -= 1
        else:
            outputs, frames = outputs - 1, frames - 1
            pairs[outputs] = frames
    return pairs


def _pairings(
    xs: Sequence[int], ys: Sequence[int], reach: Reach, output: int, taken: frozenset[int]
) -> Iterator[frozenset[tuple[int, int]]]:
    if output == len(xs):
        yield frozenset()
        return
    yield from _pairings(xs, ys, reach, output + 1, taken)
    for frame, y in enumerate(ys):
        if frame not in taken and -reach.behind <= y - xs[output] <= reach.ahead:
            for rest in _pairings(xs, ys, reach, output + 1, taken | {frame}):
                yield rest | {(output, frame)}


def _distance(xs: Sequence[int], ys: Sequence[int], pairs: frozenset[tuple[int, int]]) -> int:
    return sum(abs(xs[output] - ys[frame]) for output, frame in pairs)


def _of_equals(found: list[frozenset[tuple[int, int]]], outputs: int, frames: int) -> Pairs:
    """Newest first: the frame stays out if it can, else the output does if it can, else they are a pair."""
    pairs: Pairs = {}
    while outputs and frames:
        if without := [each for each in found if all(frame != frames - 1 for _, frame in each)]:
            found, frames = without, frames - 1
        elif without := [each for each in found if all(output != outputs - 1 for output, _ in each)]:
            found, outputs = without, outputs - 1
        else:
            outputs, frames = outputs - 1, frames - 1
            found = [each for each in found if (outputs, frames) in each]
            pairs[outputs] = frames
    return pairs


def clock(seed: int, count: int, *, hz: int = 30, start_ns: int = 10**12) -> list[int]:
    """Stamps as recordings have them: a clock with jitter, dropped frames, bursts, and stamps that are equal."""
    chance, period_ns = random.Random(seed), 1_000_000_000 / hz
    jitter_ms = chance.choice([0.1, 2, 8])
    phase_ns = chance.random() * period_ns
    times: list[int] = []
    while len(times) < count:
        number = len(times)
        phase_ns += period_ns
        if chance.random() < 0.04:
            phase_ns += period_ns * chance.randint(1, 5)
        time_ns = start_ns + int(phase_ns + chance.gauss(0, jitter_ms * _MS))
        times.append(max(time_ns, times[-1] if times else 0))
        if chance.random() < 0.02:
            # Held up together, and stamped when they were let go.
            times += [times[-1]] * chance.randint(1, 3)
        if chance.random() < 0.02:
            times += [times[number] + step * _MS for step in range(1, chance.randint(2, 5))]
    return sorted(times[:count])


def reach_ms(ms: float) -> Reach:
    """As far before as behind."""
    return Reach(math.inf, math.inf) if math.isinf(ms) else Reach(int(ms * _MS), int(ms * _MS))
