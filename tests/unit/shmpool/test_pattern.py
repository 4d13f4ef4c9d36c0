# SPDX-License-Identifier: Apache-2.0
"""Payloads that can be checked."""

from __future__ import annotations

import numpy as np
import pytest
from framegate.shmpool.commands.pattern import Pattern, PatternName, flat_bytes
from hypothesis import given
from hypothesis import strategies as st

STREAM = 10_001


def filled(
    name: PatternName, seq: int, size: int = 100, stream: int = STREAM
) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    payload = np.full(size, 0xAA, np.uint8)
    Pattern(name, stream=stream, payload_bytes=size).fill(payload, seq)
    return payload


def test_the_counter_begins_with_the_sequence_as_8_bytes_little_endian() -> None:
    assert filled("counter", 0x0102_0304_0506_0708)[:8].tolist() == [8, 7, 6, 5, 4, 3, 2, 1]


@given(st.integers(0, 2**63 - 1), st.integers(0, 600))
def test_what_was_filled_holds(seq: int, size: int) -> None:
    payload = filled("counter", seq, size)
    assert Pattern("counter", stream=STREAM, payload_bytes=size).holds(payload, seq)


@given(st.integers(0, 2**32), st.integers(9, 300), st.data())
def test_one_byte_that_differs_is_seen(seq: int, size: int, data: st.DataObject) -> None:
    payload = filled("counter", seq, size)
    payload[data.draw(st.integers(0, size - 1))] ^= data.draw(st.integers(1, 255))
    assert not Pattern("counter", stream=STREAM, payload_bytes=size).holds(payload, seq)


def test_another_sequence_stream_or_shift_does_not_hold() -> None:
    pattern = Pattern("counter", stream=STREAM, payload_bytes=100)
    assert not pattern.holds(filled("counter", 6), 5)
    assert not pattern.holds(filled("counter", 5, stream=STREAM + 1), 5)
    shifted = filled("counter", 5)
    shifted[8:] = np.roll(shifted[8:], 64)
    assert not pattern.holds(shifted, 5)


def test_noise_is_the_same_for_every_frame_and_zeros_are_zeros() -> None:
    assert np.array_equal(filled("noise", 1), filled("noise", 2))
    assert len(set(filled("noise", 1).tolist())) > 10
    assert not filled("zeros", 1).any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["uint8", "float64", "bool"])
def test_flat_bytes_are_the_memory_as_it_lies_and_are_written_through(order: str, dtype: str) -> None:
    array = np.zeros((3, 5), dtype, order=order)  # type: ignore[call-overload]
    flat = flat_bytes(array)
    assert flat.size == array.nbytes
    flat[-1] = 1
    assert array.any()
