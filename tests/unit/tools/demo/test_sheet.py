# SPDX-License-Identifier: Apache-2.0
"""The contact sheet and its file, read back by a decoder written for this test."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from framegate.shmpool.commands.moving import MovingPattern, moved_by, scene
from framegate.tools.demo.lettering import lettered
from framegate.tools.demo.png import png
from framegate.tools.demo.sheet import _CROSS, Picture, Sample, sample, sheet

SHAPE = (96, 128)
NAMES = ["camera1", "camera2", "camera3"]


def decoded(data: bytes) -> Picture:
    """The picture of a PNG file, with every length and CRC checked."""
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


def shot(seq: int, stream: int, shape: tuple[int, int] = SHAPE) -> Picture:
    payload = np.zeros(shape[0] * shape[1], np.uint8)
    MovingPattern(stream=stream, shape=shape, dtype="uint8").fill(payload, seq)
    return payload.reshape(shape)


def taken(row: int, names: list[str] = NAMES, shape: tuple[int, int] = SHAPE) -> Sample:
    frames = {name: shot(row, index + 1, shape) for index, name in enumerate(names)}
    return sample(row, frames, shot(row - 2, len(names), shape))


def test_joined_frames_differ_by_noise_and_those_of_one_number_by_the_motion() -> None:
    with_the_rule, without = taken(40).differences
    assert int(with_the_rule.max()) < 60
    assert int(without.max()) > 150


def test_the_cross_is_where_the_disc_has_gone() -> None:
    gone = moved_by(40, SHAPE)
    drawn = sheet([taken(40)], [gone], lag=2)
    crosses = np.argwhere((drawn == _CROSS).all(axis=2))
    rows, columns = (crosses[:, axis] for axis in (0, 1))
    middle = [(place + by) % side for place, by, side in zip(scene(SHAPE).landmark, gone, SHAPE, strict=True)]
    # The first tile lies behind a gap; its row of the cross is the one with the most dots.
    first = columns < 8 + SHAPE[1]
    assert np.bincount(columns[first]).argmax() == 8 + middle[1]
    head = drawn.shape[0] - sheet([taken(40)] * 2, [gone] * 2, lag=2).shape[0] + drawn.shape[0]
    assert np.bincount(rows[first]).argmax() == head + middle[0]


@pytest.mark.parametrize("shape", [(16, 16), (48, 640), (1080, 1920)])
def test_pictures_of_any_size_fit_on_it(shape: tuple[int, int]) -> None:
    drawn = sheet([taken(3, shape=shape), taken(9, shape=shape)], [(0, 0), (5, 5)], lag=2)
    assert drawn.shape[1] <= 5 * (208 + 8) + 8
    assert decoded(png(drawn)).shape == drawn.shape


def test_of_many_cameras_the_first_and_the_last_are_shown() -> None:
    many = [f"camera{index}" for index in range(9)]
    assert list(taken(3, many).tiles) == ["camera0", "camera1", "camera2", "camera8"]


def test_what_has_no_sign_is_left_blank() -> None:
    assert lettered("§").any() == np.False_
    assert lettered("").shape == (5, 0)
