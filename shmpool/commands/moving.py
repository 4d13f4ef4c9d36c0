# SPDX-License-Identifier: Apache-2.0
"""The moving pattern: a picture that moves, made by ``framegate produce --pattern moving``.

All cameras of one shape see the same scene. It moves ``MOTION`` rows and columns with each frame, and what leaves on
one side comes in on the other. Each camera adds a pattern of its own that does not move, as sensors do. A camera with a
``lag`` shows in frame ``seq`` what the others showed in frame ``seq - lag``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.schema.errors import WrongUsage

MOTION: Final = (2, 5)
"""By how many rows and columns the scene moves with each frame."""
SIDE_MIN: Final = 16
_SEED: Final = 1
_WAVES, _DISCS = 6, 7
_DARKEST, _BRIGHTEST_WAVE = 30.0, 105.0
_GRAIN: Final = 12
"""The grain of the scene. It moves with the scene, so that even a patch without an edge shows where it is."""
_NOISE: Final = 16
"""The grain of a camera, which does not move. With the brightest disc, 225, and the scene's grain it is below 256."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The scene before it has moved. It is the same in every program."""

    picture: npt.NDArray[np.uint8]
    landmark: tuple[int, int]
    """Row and column of the middle of the largest disc."""


@lru_cache(maxsize=4)
def scene(shape: tuple[int, int]) -> Scene:
    """The scene of a shape: slow waves, grain, and discs with an edge. It fits together where it wraps around."""
    random = np.random.default_rng(_SEED)
    rows, columns = np.indices(shape, dtype=np.float32)
    waves = np.zeros(shape, np.float32)
    for _ in range(_WAVES):
        down, across = random.integers(1, 4, 2) * random.choice([-1, 1], 2)
        waves += np.sin(2 * np.pi * (down * rows / shape[0] + across * columns / shape[1] + random.random()))
    low, high = float(waves.min()), float(waves.max())
    picture = _DARKEST + (waves - low) * ((_BRIGHTEST_WAVE - _DARKEST) / max(high - low, 1e-6))
    landmark, largest = (0, 0), 0.0
    for index in range(_DISCS):
        middle = (int(random.integers(shape[0])), int(random.integers(shape[1])))
        radius = min(shape) * (0.05 + 0.16 * index / _DISCS)
        distance = np.hypot(_around(rows, middle[0], shape[0]), _around(columns, middle[1], shape[1]))
        shade = 225 - 70 * distance / radius if index % 2 else 150 + 60 * distance / radius
        picture = np.where(distance < radius, shade, picture)
        landmark, largest = (middle, radius) if radius > largest else (landmark, largest)
    picture += random.integers(0, _GRAIN, shape)
    return Scene(picture.astype(np.uint8), landmark)


def _around(places: npt.NDArray[np.float32], middle: int, size: int) -> npt.NDArray[Any]:
    """The distances of places from the middle, the shorter way around."""
    apart = np.abs(places - middle)
    found: npt.NDArray[Any] = np.minimum(apart, size - apart)
    return found


def moved_by(tick: int, shape: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns by which the scene has moved at a tick, within its shape.

    >>> moved_by(3, (480, 640)), moved_by(-1, (480, 640)), moved_by(240, (480, 640))
    ((6, 15), (478, 635), (0, 560))
    """
    return tick * MOTION[0] % shape[0], tick * MOTION[1] % shape[1]


class MovingPattern:
    """Fills and checks the payloads of one camera.

    >>> pattern = MovingPattern(stream=7, shape=(32, 48), dtype="uint8")
    >>> payload = np.zeros(32 * 48, np.uint8)
    >>> pattern.fill(payload, seq=5)
    >>> pattern.holds(payload, 5), pattern.holds(payload, 6)
    (True, False)
    """

    def __init__(self, *, stream: int, shape: tuple[int, ...], dtype: str, lag: int = 0) -> None:
        if len(shape) != 2 or min(shape) < SIDE_MIN or dtype != "uint8":
            wanted = f"pictures of uint8 with two sides of {SIDE_MIN} or more"
            raise WrongUsage(f"the moving pattern makes {wanted}, not {'x'.join(map(str, shape))} of {dtype}")
        self._shape = (shape[0], shape[1])
        self._lag = lag
        # The picture is tiled to four times its size, so that a whole picture begins at every place of the scene.
        self._tiled = np.tile(scene(self._shape).picture, (2, 2))
        self._noise = np.random.default_rng(stream).integers(0, _NOISE, self._shape, np.uint8)

    def fill(self, payload: npt.NDArray[np.uint8], seq: int) -> None:
        """Write frame ``seq`` into its payload, as flat bytes."""
        np.add(self._window(seq), self._noise, out=payload.reshape(self._shape))

    def holds(self, payload: npt.NDArray[np.uint8], seq: int) -> bool:
        """Whether a payload is that of frame ``seq``."""
        return payload.size == self._noise.size and bool(
            np.array_equal(payload.reshape(self._shape), self._window(seq) + self._noise)
        )

    def _window(self, seq: int) -> npt.NDArray[np.uint8]:
        down, across = moved_by(seq - self._lag, self._shape)
        top, left = -down % self._shape[0], -across % self._shape[1]
        return self._tiled[top : top + self._shape[0], left : left + self._shape[1]]
