# SPDX-License-Identifier: Apache-2.0
"""Pairs outputs one to one with the nearest frames: which frame the first waiting output takes, and whether a later
frame can change that.

``x`` are the times that outputs ask for, ``y`` the times of an input's frames; both rise. The best pairing has the most
pairs and, among those, the smallest sum of distances. On a line, one of the best pairings has no crossings, so it is an
alignment of two sequences: a table of the best pairing of the first i outputs with the first j frames. Between equally
good pairings, the newer frame stays out, and then the newer output.

At most ``outputs_max`` outputs compete. What the first one takes is its partner in the best pairing of that many
outputs with all frames, in whatever order they came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

OUTPUTS_MAX: Final = 64
INFINITE: Final = math.inf
"""As a reach: any distance. As a horizon: nothing more comes."""

Time: TypeAlias = float
"""A time in whole nanoseconds, or infinity."""
Worth: TypeAlias = tuple[int, Time]
"""The number of pairs, and the sum of their distances as a negative number: more is better."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a frame may lie before and after the time that an output asks for."""

    behind: Time = INFINITE
    ahead: Time = INFINITE


@dataclass(frozen=True, slots=True)
class Closed:
    """What the first output takes: a frame's index, or None. ``is_early``: a later frame or output might have changed
    it.
    """

    partner: int | None
    is_early: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """The best pairing of the first outputs with the first frames, and the frame of the first output in it."""

    worth: Worth = (0, 0)
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The table's row of one more output, by number of frames. Cells further to the right equal the final one."""

    cells: dict[int, Cell]
    low: int
    passed: int
    high: int

    def at(self, frames: int) -> Cell:
        """The cell of this number of frames."""
        return self.cells[min(frames, self.high)]


def first_choice(
    xs: Sequence[int],
    ys: Sequence[int],
    reach: Reach,
    x_horizon: Time,
    y_horizon: Time,
    *,
    outputs_max: int = OUTPUTS_MAX,
    is_forced: bool = False,
) -> Closed | None:
    """What the first of ``xs`` takes from ``ys``; None while something later could change it.

    No later output asks for a time before ``x_horizon``, and no later frame has one before ``y_horizon``.
    ``is_forced``: choose now from what is here.
    """
    rows = [Row({0: Cell()}, 0, 0, 0)]
    for count, x in enumerate(xs[:outputs_max], 1):
        rows.append(_row(rows[-1], x, ys, reach, outputs_max, is_first=count == 1))
        choice = rows[-1].at(len(ys)).first
        following = xs[count] if count < len(xs) else x_horizon
        arriving = _next_frame(rows[-1], ys, y_horizon, outputs_max)
        kept_outputs = _keeping_outputs(rows, xs[:count], reach, arriving)
        if any(cell is None or cell.first != choice for cell in kept_outputs):
            continue
        least = rows[-1].passed - (outputs_max - count)
        frames_that_change_it = [
            frames for frames, cell in _keeping_frames(rows[-1], ys, reach, following) if cell.first != choice
        ]
        if count == outputs_max or all(frames < least for frames in frames_that_change_it):
            return Closed(choice, is_early=bool(frames_that_change_it) and count == outputs_max)
    return Closed(rows[-1].at(len(ys)).first, is_early=True) if is_forced else None


def _row(before: Row, x: int, ys: Sequence[int], reach: Reach, side_max: int, *, is_first: bool) -> Row:
    """Compute the row of one more output. It never needs a frame beyond ``side_max`` on either side, because the other
    outputs cannot take them all.
    """
    passed = sum(y < x for y in ys)
    low = max(sum(y < x - reach.behind for y in ys), passed - side_max)
    high = min(sum(y <= x + reach.ahead for y in ys), passed + side_max)
    cells = {low: before.at(low)}
    for frames in range(low + 1, high + 1):
        pairs, worth = before.at(frames - 1).worth
        paired = Cell(
            (pairs + 1, worth - abs(x - ys[frames - 1])), frames - 1 if is_first else before.at(frames - 1).first
        )
        # max keeps the first of equals.
        cells[frames] = max(cells[frames - 1], before.at(frames), paired, key=lambda cell: cell.worth)
    return Row(cells, low, passed, high)


def _next_frame(row: Row, ys: Sequence[int], y_horizon: Time, side_max: int) -> Time:
    """The smallest time of a frame that is not in the table and that one of its outputs could take."""
    if row.high == row.passed + side_max:
        return INFINITE
    return ys[row.high] if row.high < len(ys) else y_horizon


def _keeping_outputs(rows: list[Row], xs: Sequence[int], reach: Reach, arriving: Time) -> Iterator[Cell | None]:
    """For each number of newest outputs that later frames may take, the best pairing of the others; None if the first
    output is among the taken ones.

    Only if the taken ones, each with the nearest frame that can come, make a better pairing than fewer of them.
    """
    best = rows[-1].at(rows[-1].high).worth
    kept: Time = 0
    for count in range(len(xs) - 1, -1, -1):
        if arriving == INFINITE or xs[count] < arriving - reach.ahead:
            return
        kept += max(0, arriving - xs[count])
        pairs, worth = rows[count].at(rows[-1].high).worth
        hoped = pairs + len(xs) - count, worth - kept
        if hoped > best:
            best = hoped
            yield rows[count].at(rows[-1].high) if count else None


def _keeping_frames(row: Row, ys: Sequence[int], reach: Reach, following: Time) -> Iterator[tuple[int, Cell]]:
    """The best pairing without the newest frames that later outputs may take, with the number of frames before them."""
    best = row.at(row.high).worth
    kept: Time = 0
    for frames in range(row.high - 1, row.low - 1, -1):
        if following == INFINITE or ys[frames] < following - reach.behind:
            return
        kept += max(0, following - ys[frames])
        pairs, worth = row.at(frames).worth
        hoped = pairs + row.high - frames, worth - kept
        if hoped > best:
            best = hoped
            yield frames, row.at(frames)
