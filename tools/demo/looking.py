# SPDX-License-Identifier: Apache-2.0
"""What the demo computes on every joined set, in Spark's workers and without Spark alike: one function of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from framegate.shmpool.commands.moving import scene
from framegate.tools.demo.motion import MotionFinder

SPARK_COLUMNS: Final = (
    "row bigint, out_seq bigint, newest_ns bigint, joined_ns bigint, mean double, difference double, moved array<int>"
)
"""Of ``Finding``, as Spark writes them."""


class Finding(NamedTuple):
    """What was found in one joined set."""

    row: int
    out_seq: int
    newest_ns: int
    """When its newest frame was made, by the monotonic clock."""
    joined_ns: int
    """When the row was made, by the wall clock."""
    mean: float
    """Brightness over all its frames."""
    difference: float
    """How far the first and the last camera are apart, on average over the picture."""
    moved: Sequence[int]
    """For each camera the rows and the columns that the scene has gone since the beginning."""


@dataclass(frozen=True, slots=True)
class Look:
    """The function. It travels to the workers by its few numbers; what it needs beside them is made there, once."""

    cameras: tuple[str, ...]
    shape: tuple[int, int]

    def prepare(self) -> None:
        """Make what is made once, before the first row comes."""
        _finder(self.shape)

    def __call__(self, row: Mapping[str, Any]) -> Finding:
        """A set without one of its frames, or with another kind of frame, is an error: this join has no such rows."""
        frames = [row[name] for name in self.cameras]
        finder = _finder(self.shape)
        return Finding(
            row=row["row"],
            out_seq=row["out_seq"],
            newest_ns=row["newest_ns"],
            joined_ns=row["joined_ns"],
            mean=float(np.mean([frame.mean() for frame in frames])),
            difference=mean_difference(frames[0], frames[-1]),
            moved=[number for frame in frames for number in finder.moved(frame)],
        )


def mean_difference(left: npt.NDArray[np.uint8], right: npt.NDArray[np.uint8]) -> float:
    """Mean of the absolute differences.

    >>> mean_difference(np.array([[0, 255]], np.uint8), np.array([[3, 254]], np.uint8))
    2.0
    """
    return float((np.maximum(left, right) - np.minimum(left, right)).mean())


@lru_cache(maxsize=4)
def _finder(shape: tuple[int, int]) -> MotionFinder:
    return MotionFinder(scene(shape).picture)
