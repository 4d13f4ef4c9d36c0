# SPDX-License-Identifier: Apache-2.0
"""The rows that a join of two inputs must give, found by looking at every message: plain Python, and slow.

Each function takes the times of the driving input's messages and of the other one's, in the order of their sequences,
and gives the pairs of sequences, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence

Pairs = list[tuple[int, int]]
Times = Sequence[int]


def in_step(drive: Times, other: Times) -> Pairs:
    """Row n holds message n of both."""
    return [(k, k) for k in range(min(len(drive), len(other)))]


def newest_within(drive: Times, other: Times, tolerance_ns: int) -> Pairs:
    """The newest message that is not newer, if it is near enough."""
    found = []
    for k, at in enumerate(drive):
        before = [(then, n) for n, then in enumerate(other) if then <= at]
        if before and at - max(before)[0] <= tolerance_ns:
            found.append((k, max(before)[1]))
    return found


def nearest_within(drive: Times, other: Times, tolerance_ns: int) -> Pairs:
    """The nearest message on either side, if it is near enough; it may be in several rows."""
    found = []
    for k, at in enumerate(drive):
        distance, n = min((abs(at - then), n) for n, then in enumerate(other))
        if distance <= tolerance_ns:
            found.append((k, n))
    return found


def best_pairs(drive: Times, other: Times, tolerance_ns: int) -> Pairs:
    """Each message in one row at most: the most pairs that there can be, and of those the least sum of distances."""
    # Pairs that do not cross are never worse, so that the best of two beginnings follows from the best of shorter ones.
    Best = tuple[int, int]  # noqa: N806  (a type)
    best: list[list[Best]] = [[(0, 0)] * (len(other) + 1) for _ in range(len(drive) + 1)]
    for i, at in enumerate(drive):
        for j, then in enumerate(other):
            choices = [best[i][j + 1], best[i + 1][j]]
            if abs(at - then) <= tolerance_ns:
                count, distance = best[i][j]
                choices.append((count - 1, distance + abs(at - then)))
            best[i + 1][j + 1] = min(choices)
    found, i, j = [], len(drive), len(other)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]
