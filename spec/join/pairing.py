# SPDX-License-Identifier: Apache-2.0
"""Best one-to-one nearest: which frame the first waiting output takes, and whether a later frame can change that.

``x`` are the times that outputs ask for, ``y`` the times of an input's frames, both rising. The best pairing has the
most pairs, then the least sum of distances. For distances on a line one without crossings is among the best, so it is
an alignment of two sequences: a table of the best over the first i outputs and the first j frames. Of equally good ones
the newer frame stays out, and then the newer output.

At most ``outputs_max`` outputs compete: what the first one takes is its partner in the best pairing of that many
outputs with all frames, in whatever order they came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

OUTPUTS_MAX: Final = 64
INFINITE: Final = math.inf
"""Of a reach: any distance. Of a horizon: nothing more comes."""

Time: TypeAlias = float
"""Whole nanoseconds, or infinite."""
Worth: TypeAlias = tuple[int, Time]
"""Pairs, and the sum of their distances, negative: more is better."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far before and after the time asked for a frame may lie."""

    behind: Time = INFINITE
    ahead: Time = INFINITE


@dataclass(frozen=True, slots=True)
class Closed:
    """The first output's choice: a frame's place, or None. ``is_early``: a later frame or output might change it."""

    partner: int | None
    is_early: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """The best pairing of some first outputs with some first frames, and which frame the first output has in it."""

    worth: Worth = (0, 0)
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The table's cells of one more output, by the number of frames. Further cells to the right equal the last."""

    cells: dict[int, Cell]
    low: int
    passed: int
    high: int

    def at(self, frames: int) -> Cell:
        """The cell of so many frames."""
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
    """What the first of ``xs`` takes of ``ys``; None while a later one could change it.

    No output comes for a time before ``x_horizon``, and no frame with one before ``y_horizon``. ``is_forced``: choose
    from what is here.
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
    """One more output. It never needs a frame beyond so many on either side: the others cannot take them all."""
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
    """The least time of a frame that is not in the table and could be paired by one of its outputs."""
    if row.high == row.passed + side_max:
        return INFINITE
    return ys[row.high] if row.high < len(ys) else y_horizon


def _keeping_outputs(rows: list[Row], xs: Sequence[int], reach: Reach, arriving: Time) -> Iterator[Cell | None]:
    """The best of the others, for each number of last outputs that later frames may take; None: the first is kept too.

    Only where the kept ones, each with a frame as near as one can come, make more of it than any fewer do.
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
    """The same for last frames that later outputs may take, with the number of frames before them."""
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
