# SPDX-License-Identifier: Apache-2.0
"""What the demo computes on every joined set, in Spark's workers and without Spark alike: one function of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from framegate.shmpool.commands.moving import scene

SPARK_COLUMNS: Final = "row bigint, out_seq bigint, apart double, moved array<int>"
"""Of ``Finding``, as Spark writes them."""


class Finding(NamedTuple):
    """What was found in one joined set."""

    row: int
    out_seq: int
    apart: float
    """How far the pictures of the first and the last camera are apart: the mean of the absolute differences."""
    moved: Sequence[int]
    """For each camera the rows and the columns that the scene has gone since the beginning."""


def look(cameras: Sequence[str], row: Mapping[str, Any]) -> Finding:
    """A row has its own columns, and each camera's picture as an array."""
    pictures = [row[name] for name in cameras]
    apart = np.abs(pictures[0].astype(np.int16) - pictures[-1]).mean()
    return Finding(row["row"], row["out_seq"], float(apart), [n for picture in pictures for n in moved(picture)])


def moved(picture: npt.NDArray[np.uint8]) -> tuple[int, int]:
    """Rows down and columns to the right that the scene has gone in a picture, seen from the picture alone.

    A picture that moves and comes in again on the other side has the same sums of rows and of columns, moved on. Two
    circular correlations of a few hundred numbers find by how much; the whole picture's would take far longer.

    >>> moved(np.roll(scene((30, 40)).picture, (3, 39), (0, 1)))
    (3, 39)
    """
    before = _spectra_of_the_scene((picture.shape[0], picture.shape[1]))
    pairs = zip(_spectra(picture), before, picture.shape, strict=True)
    down, across = (int(np.fft.irfft(now * np.conj(then), side).argmax()) for now, then, side in pairs)
    return down, across


@lru_cache(maxsize=4)
def _spectra_of_the_scene(shape: tuple[int, int]) -> list[npt.NDArray[np.complex128]]:
    return _spectra(scene(shape).picture)


def _spectra(picture: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.complex128]]:
    """Of the steps from one row's sum to the next, and from one column's: slow shades say little about the place."""
    # As products with ones: much faster than sums that widen byte by byte.
    whole = picture.astype(np.float32)
    sums = whole @ np.ones(whole.shape[1], np.float32), np.ones(whole.shape[0], np.float32) @ whole
    return [np.fft.rfft(each - np.roll(each, 1)) for each in sums]
