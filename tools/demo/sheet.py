# SPDX-License-Identifier: Apache-2.0
"""The contact sheet: a line for each of a few joined sets, as a PNG file.

A line has the cameras' pictures, with a cross in the middle of the largest disc; then how the first and the last camera
differ as they were joined, and how their frames of one number differ, which a join without the rule would pair.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from framegate.joinbarrier.journal.row import Row
from framegate.shmpool.commands.moving import moved_by, scene

Picture = npt.NDArray[np.uint8]
LINES: Final = 6
_TILE: Final = 208
"""Pixels of a picture's width at most."""
_SHOWN: Final = 4
"""Cameras that are shown at most, the last one among them."""
_GAP, _ARM = 8, 9
_PAPER, _CROSS = 24, (255, 80, 60)
_GAIN: Final = 2.2
"""Differences are drawn brighter than they are."""


class Sheet:
    """Takes its lines from the rows as they come, ``frames`` in all. The last camera is late by ``lag`` frames."""

    def __init__(self, cameras: Sequence[str], lag: int, frames: int) -> None:
        self._first, self._last = cameras[0], cameras[-1]
        self._shown = [*cameras[: _SHOWN - 1], cameras[-1]] if len(cameras) > _SHOWN else list(cameras)
        self._lag = lag
        self._wanted = {lag + n * max(frames - 2 * lag, 0) // LINES for n in range(LINES)}
        self._late: tuple[int | None, Picture] | None = None
        self._lines: list[Picture] = []

    def take(self, row: Row) -> None:
        """Draw a line if it is time for one."""
        number = row["row"]
        if number in self._wanted and self._late is not None and self._late[0] == row.inputs[self._first].seq:
            self._lines.append(self._line(row, self._late[1]))
        if number + self._lag in self._wanted:
            self._late = (row.inputs[self._last].seq, row[self._last].copy())

    def _line(self, row: Row, unaligned: Picture) -> Picture:
        first = row[self._first]
        tiles = [_crossed(row[name], row["out_seq"]) for name in self._shown]
        tiles += [_difference(first, row[self._last]), _difference(first, unaligned)]
        return np.hstack([_framed(tile) for tile in tiles])

    def png(self) -> bytes | None:
        """The file; None if there is nothing to see."""
        return png(_framed(np.vstack(self._lines))) if self._lines else None


def png(picture: Picture) -> bytes:
    """A picture of shape (rows, columns, 3) as a PNG file: eight bits of red, green and blue, its rows unfiltered.

    >>> png(np.zeros((2, 3, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    rows, columns, _ = picture.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    lines = np.pad(picture.reshape(rows, 3 * columns), ((0, 0), (1, 0)))
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b"")]
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def _crossed(picture: Picture, out_seq: int) -> Picture:
    """A small grey picture, with a cross where the landmark of the scene is now."""
    shape = (picture.shape[0], picture.shape[1])
    tile = np.repeat(_small(picture).astype(np.uint8)[:, :, None], 3, axis=2)
    places = zip(scene(shape).landmark, moved_by(out_seq, shape), shape, tile.shape[:2], strict=True)
    row, column = ((place + by) % side * small // side for place, by, side, small in places)
    tile[row, max(column - _ARM, 0) : column + _ARM + 1] = _CROSS
    tile[max(row - _ARM, 0) : row + _ARM + 1, column] = _CROSS
    return tile


def _difference(left: Picture, right: Picture) -> Picture:
    """From black over red to yellow."""
    heat = _small(np.abs(left.astype(np.int16) - right)) * _GAIN
    channels = np.stack([heat * 1.4, heat * 0.9 - 40, heat * 0.3], axis=2)
    return channels.clip(0, 255).astype(np.uint8)


def _small(picture: npt.NDArray[np.uint8 | np.int16]) -> npt.NDArray[np.float32]:
    """Means over squares; what does not fill one is left out."""
    factor = -(-picture.shape[1] // _TILE)
    rows, columns = (side // factor for side in picture.shape)
    squares = picture[: rows * factor, : columns * factor].reshape(rows, factor, columns, factor)
    means: npt.NDArray[np.float32] = squares.mean(axis=(1, 3), dtype=np.float32)
    return means


def _framed(picture: Picture) -> Picture:
    return np.pad(picture, ((_GAP // 2,) * 2, (_GAP // 2,) * 2, (0, 0)), constant_values=_PAPER)
