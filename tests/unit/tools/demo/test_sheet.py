# SPDX-License-Identifier: Apache-2.0
"""The contact sheet, read back from its file: where its crosses are, and that the offset rule makes a difference."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from framegate.joinbarrier.journal.row import JoinedInput, Row
from framegate.shmpool.commands.moving import MovingPattern, moved_by, scene
from framegate.tools.demo.sheet import LINES, Picture, Sheet, png

SHAPE = (96, 128)
NAMES = ["camera1", "camera2", "camera3"]
CROSS = (255, 80, 60)
LAG = 2


def decoded(data: bytes | None) -> Picture:
    """The picture of a PNG file, with every length and CRC checked."""
    assert data is not None
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, list[tuple[bytes, bytes]]()
    while place < len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        body = data[place + 8 : place + 8 + size]
        assert struct.unpack_from(">I", data, place + 8 + size)[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        place += 12 + size
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    columns, rows, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert rest == [8, 2, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(rows, 1 + 3 * columns)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(rows, columns, 3)


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 7, 3), (64, 300, 3)])
def test_a_picture_comes_back_from_its_file(shape: tuple[int, int, int]) -> None:
    picture = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    assert np.array_equal(decoded(png(picture)), picture)


def row(number: int, names: list[str], shape: tuple[int, int]) -> Row:
    """A joined set: the last camera gives the frame that is LAG later, and shows the same."""

    def cell(index: int) -> JoinedInput:
        lag = LAG if index == len(names) - 1 else 0
        payload = np.zeros(shape[0] * shape[1], np.uint8)
        MovingPattern(stream=index, shape=shape, dtype="uint8", lag=lag).fill(payload, number + lag)
        return JoinedInput("present", number + lag, 0, 1, 0, "uint8", shape, payload.reshape(shape))

    scalars: dict[str, Any] = {"row": number, "out_seq": number}
    return Row(scalars, {name: cell(index) for index, name in enumerate(names)})


def drawn(frames: int, names: list[str] = NAMES, shape: tuple[int, int] = SHAPE) -> Picture:
    sheet = Sheet(names, LAG, frames)
    for number in range(frames - LAG):
        sheet.take(row(number, names, shape))
    return decoded(sheet.png())


def test_a_run_has_six_lines_and_a_short_one_has_one() -> None:
    assert drawn(60).shape[0] == LINES * (SHAPE[0] + 8) + 8
    assert drawn(LAG + 3).shape[0] == SHAPE[0] + 16


def test_before_a_picture_of_the_late_camera_there_is_nothing_to_see() -> None:
    sheet = Sheet(NAMES, LAG, 60)
    sheet.take(row(0, NAMES, SHAPE))
    assert sheet.png() is None


def test_the_cross_is_where_the_disc_has_gone() -> None:
    crosses = (drawn(LAG + 3)[8:-8, 8 : 8 + SHAPE[1]] == CROSS).all(axis=2)
    middle = [
        (place + by) % side for place, by, side in zip(scene(SHAPE).landmark, moved_by(LAG, SHAPE), SHAPE, strict=True)
    ]
    assert [int(crosses.sum(axis=1 - axis).argmax()) for axis in (0, 1)] == middle


def test_joined_frames_differ_by_noise_and_those_of_one_number_by_the_motion() -> None:
    tile = SHAPE[1] + 8
    with_the_rule, without = (drawn(60)[:, 8 + n * tile : n * tile + tile].max() for n in (3, 4))
    assert int(with_the_rule) < 60
    assert int(without) > 150


def test_a_set_whose_early_picture_is_of_another_number_is_left_out() -> None:
    sheet = Sheet(NAMES, LAG, LAG + 3)
    sheet.take(row(0, NAMES, SHAPE))
    gap = row(9, NAMES, SHAPE)
    sheet.take(Row({"row": LAG, "out_seq": 9}, gap.inputs))
    assert sheet.png() is None


@pytest.mark.parametrize("shape", [(16, 16), (48, 640), (1080, 1920)])
def test_pictures_of_any_size_fit_on_it(shape: tuple[int, int]) -> None:
    assert drawn(LAG + 3, shape=shape).shape[1] <= 5 * (208 + 8) + 8


def test_of_many_cameras_the_first_and_the_last_are_shown() -> None:
    many = [f"camera{index}" for index in range(9)]
    assert drawn(LAG + 3, many).shape[1] == 6 * (SHAPE[1] + 8) + 8
