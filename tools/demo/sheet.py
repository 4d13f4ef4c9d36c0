# SPDX-License-Identifier: Apache-2.0
"""The contact sheet: a line for each of a few joined sets, with its pictures, and what the offset rule is good for.

A cross marks the middle of the largest disc where the query says that it has gone. Behind the cameras comes the
difference of the first and the last, as joined; then that of their frames of one number, as a join without the rule
would pair them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from framegate.shmpool.commands.moving import scene
from framegate.tools.demo.lettering import HEIGHT, lettered

Picture = npt.NDArray[np.uint8]
_TILE: Final = 208
"""Pixels of a picture's width at most."""
_SHOWN: Final = 4
"""Cameras that are shown at most, the last one among them."""
_GAP: Final = 8
_DOT: Final = 2
_TEXT: Final = HEIGHT * _DOT
_PAPER: Final = (18, 20, 26)
_INK: Final = (208, 212, 222)
_CROSS: Final = (255, 80, 60)
_ARM: Final = 9
_DIFFERENCE_GAIN: Final = 2.2
"""Differences are drawn brighter than they are."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A joined set as it is drawn: small copies, for the journal's memory is used again."""

    row: int
    shape: tuple[int, int]
    tiles: Mapping[str, Picture]
    """The pictures of the cameras that are shown."""
    differences: tuple[Picture, Picture]
    """With the rule and without."""


def sample(row: int, frames: Mapping[str, Picture], unaligned: Picture) -> Sample:
    """Copy a joined set; ``unaligned`` is the last camera's frame that has the number of the first camera's."""
    first, *_, last = frames.values()
    factor = _factor(first)
    return Sample(
        row=row,
        shape=(first.shape[0], first.shape[1]),
        tiles={name: _grey(_small(frames[name], factor)) for name in shown(list(frames))},
        differences=(_difference(first, last), _difference(first, unaligned)),
    )


def sheet(samples: Sequence[Sample], moved: Sequence[tuple[int, int]], lag: int) -> Picture:
    """All samples below each other, with where the query found the scene in each."""
    *names, last = samples[0].tiles
    titles = [*names, f"{last}, {lag} LATE", "DIFFERENCE, JOINED", "WITHOUT THE RULE"]
    lines = [_line(sample, gone) for sample, gone in zip(samples, moved, strict=True)]
    head = _titles(titles, lines[0].shape[1])
    return np.concatenate([head, *lines])


def shown(names: Sequence[str]) -> list[str]:
    """The first few cameras, and the last.

    >>> shown(["a", "b", "c", "d", "e", "f"])
    ['a', 'b', 'c', 'f']
    """
    return [*names[: _SHOWN - 1], names[-1]] if len(names) > _SHOWN else list(names)


def _line(sample: Sample, gone: tuple[int, int]) -> Picture:
    tiles = [_crossed(tile, sample.shape, gone) for tile in sample.tiles.values()]
    tiles += sample.differences
    rows, columns, _ = tiles[0].shape
    paper = _paper(rows + _TEXT + 2 * _GAP, len(tiles) * (columns + _GAP) + _GAP)
    for index, tile in enumerate(tiles):
        left = _GAP + index * (columns + _GAP)
        paper[:rows, left : left + columns] = tile
    _write(paper, f"ROW {sample.row}: MOVED {gone[0]} DOWN, {gone[1]} ACROSS", rows + _GAP // 2, _GAP)
    return paper


def _titles(titles: Sequence[str], width: int) -> Picture:
    paper = _paper(_TEXT + 2 * _GAP, width)
    step = (width - _GAP) // len(titles)
    for index, title in enumerate(titles):
        _write(paper, title, _GAP, _GAP + index * step)
    return paper


def _crossed(picture: Picture, shape: tuple[int, int], gone: tuple[int, int]) -> Picture:
    """With a cross where the landmark is now."""
    row, column = (
        (place + by) % side * small // side
        for place, by, side, small in zip(scene(shape).landmark, gone, shape, picture.shape[:2], strict=True)
    )
    tile = picture.copy()
    tile[row, max(column - _ARM, 0) : column + _ARM + 1] = _CROSS
    tile[max(row - _ARM, 0) : row + _ARM + 1, column] = _CROSS
    return tile


def _difference(left: Picture, right: Picture) -> Picture:
    """From black over red to yellow."""
    apart = (np.maximum(left, right) - np.minimum(left, right)).astype(np.float32)
    heat = _small(apart, _factor(left)) * _DIFFERENCE_GAIN
    channels = (heat * 1.4, heat * 0.9 - 40, heat * 0.3)
    return np.stack([channel.clip(0, 255).astype(np.uint8) for channel in channels], axis=2)


def _factor(picture: Picture) -> int:
    """By how much a picture is made smaller."""
    return max(-(-int(picture.shape[1]) // _TILE), 1)


def _small(picture: npt.NDArray[np.uint8] | npt.NDArray[np.float32], factor: int) -> npt.NDArray[np.float32]:
    """Means over squares; what does not fill one is left out."""
    rows, columns = (side // factor for side in picture.shape)
    squares = picture[: rows * factor, : columns * factor].reshape(rows, factor, columns, factor)
    means: npt.NDArray[np.float32] = squares.mean(axis=(1, 3), dtype=np.float32)
    return means


def _grey(picture: npt.NDArray[np.float32]) -> Picture:
    return np.repeat(picture.astype(np.uint8)[:, :, None], 3, axis=2)


def _paper(rows: int, columns: int) -> Picture:
    return np.full((rows, columns, 3), _PAPER, np.uint8)


def _write(paper: Picture, words: str, top: int, left: int) -> None:
    """What does not fit on the paper is cut off."""
    dots = np.kron(lettered(words), np.ones((_DOT, _DOT), np.bool_))
    place = paper[top : top + dots.shape[0], left : left + dots.shape[1]]
    place[dots[: place.shape[0], : place.shape[1]]] = _INK
