# SPDX-License-Identifier: Apache-2.0
"""Where a picture has gone to is found from the picture alone."""

from __future__ import annotations

import numpy as np
import pytest
from framegate.shmpool.commands.moving import MovingPattern, moved_by, scene
from framegate.tools.demo.looking import look, moved
from hypothesis import given
from hypothesis import strategies as st

SHAPE = (48, 80)
Picture = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


def shot(seq: int, *, stream: int = 1, lag: int = 0, shape: tuple[int, int] = SHAPE) -> Picture:
    payload = np.zeros(shape[0] * shape[1], np.uint8)
    MovingPattern(stream=stream, shape=shape, dtype="uint8", lag=lag).fill(payload, seq)
    return payload.reshape(shape)


@given(st.integers(0, SHAPE[0] - 1), st.integers(0, SHAPE[1] - 1))
def test_every_shift_is_found(down: int, across: int) -> None:
    picture = np.roll(scene(SHAPE).picture, (down, across), (0, 1))
    assert moved(picture) == (down, across)


@pytest.mark.parametrize("shape", [(16, 16), (17, 16), (16, 400), (120, 160)])
@pytest.mark.parametrize("stream", [1, 10_001, 10_016])
def test_a_cameras_noise_does_not_hide_it(shape: tuple[int, int], stream: int) -> None:
    for seq in range(0, 300, 7):
        assert moved(shot(seq, stream=stream, shape=shape)) == moved_by(seq, shape)


@given(st.floats(0.3, 1.0), st.integers(0, 60))
def test_neither_does_another_brightness(gain: float, seq: int) -> None:
    dimmed = (shot(seq) * gain).astype(np.uint8)
    assert moved(dimmed) == moved_by(seq, SHAPE)


def test_a_look_tells_where_each_camera_is_and_how_far_apart() -> None:
    left, late = shot(30, stream=1), shot(30, stream=2)
    row = {"row": 7, "out_seq": 30, "left": left, "late": late}
    found = look(("left", "late"), row)
    assert (found.row, found.out_seq) == (7, 30)
    assert found.moved == [*moved_by(30, SHAPE)] * 2
    assert found.apart == pytest.approx(np.abs(left.astype(int) - late).mean())


def test_a_look_at_frames_of_two_moments_tells_both() -> None:
    row = {"row": 0, "out_seq": 9, "left": shot(9), "late": shot(9, lag=2)}
    assert look(("left", "late"), row).moved == [*moved_by(9, SHAPE), *moved_by(7, SHAPE)]
