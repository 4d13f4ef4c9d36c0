# SPDX-License-Identifier: Apache-2.0
"""The picture that moves: where it is in which frame, and that it is known again."""

from __future__ import annotations

import numpy as np
import pytest
from framegate.schema.errors import WrongUsage
from framegate.shmpool.commands.moving import MOTION, SIDE_MIN, MovingPattern, moved_by, scene
from hypothesis import given
from hypothesis import strategies as st

SHAPE = (48, 80)
Picture = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


def camera(stream: int = 1, lag: int = 0) -> MovingPattern:
    return MovingPattern(stream=stream, shape=SHAPE, dtype="uint8", lag=lag)


def shot(pattern: MovingPattern, seq: int) -> Picture:
    payload = np.zeros(SHAPE[0] * SHAPE[1], np.uint8)
    pattern.fill(payload, seq)
    return payload.reshape(SHAPE)


@given(st.integers(0, 2**63 - 1))
def test_a_frame_is_the_scene_moved_on_and_the_cameras_own_noise(seq: int) -> None:
    first = shot(camera(), 0)
    noise = first - scene(SHAPE).picture
    assert np.array_equal(shot(camera(), seq) - noise, np.roll(scene(SHAPE).picture, moved_by(seq, SHAPE), (0, 1)))


def test_each_frame_goes_as_far_as_is_said_and_comes_in_again() -> None:
    steps = [np.subtract(moved_by(seq + 1, SHAPE), moved_by(seq, SHAPE)) % SHAPE for seq in range(100)]
    assert {tuple(step) for step in steps} == {MOTION}


@given(st.integers(0, 1000), st.integers(0, 40))
def test_a_camera_that_lags_shows_what_the_others_showed_before(seq: int, lag: int) -> None:
    assert np.array_equal(shot(camera(lag=lag), seq + lag), shot(camera(), seq))


def test_two_cameras_see_one_scene_with_noise_of_their_own() -> None:
    apart = np.abs(shot(camera(1), 9).astype(int) - shot(camera(2), 9))
    assert 0 < apart.max() < 16


@pytest.mark.parametrize("shape", [(SIDE_MIN, SIDE_MIN), SHAPE, (480, 640)])
def test_nothing_in_it_wraps_over_the_largest_value(shape: tuple[int, int]) -> None:
    assert int(scene(shape).picture.max()) + 15 <= 255
    assert scene(shape).picture.std() > 30
    # What goes over the end comes in again as black, beside the brightest.
    assert int(scene(shape).picture.min()) >= 30


@given(st.integers(0, 2**40), st.integers(0, SHAPE[0] * SHAPE[1] - 1), st.integers(1, 255))
def test_one_byte_that_differs_is_seen(seq: int, place: int, flip: int) -> None:
    payload = shot(camera(), seq).reshape(-1)
    assert camera().holds(payload, seq)
    payload[place] ^= flip
    assert not camera().holds(payload, seq)


def test_another_sequence_stream_lag_or_size_does_not_hold() -> None:
    payload = shot(camera(), 7).reshape(-1)
    assert not camera().holds(payload, 8)
    assert not camera(stream=2).holds(payload, 7)
    assert not camera(lag=1).holds(payload, 7)
    assert not camera().holds(payload[:-1], 7)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((48,), "uint8"), ((3, 48, 48), "uint8"), ((15, 48), "uint8"), ((48, 48), "uint16")]
)
def test_what_is_no_picture_is_refused(shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(WrongUsage, match="moving"):
        MovingPattern(stream=1, shape=shape, dtype=dtype)
