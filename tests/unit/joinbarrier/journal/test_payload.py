# SPDX-License-Identifier: Apache-2.0
"""A payload as an array: a view that nobody can write through, or an error."""

from __future__ import annotations

import numpy as np
import pytest
from framegate.joinbarrier.journal.payload import DTYPES, payload_array
from framegate.schema.errors import JournalDamaged


@pytest.mark.parametrize("length", [0, 16])
def test_nobody_writes_through_it(length: int) -> None:
    array = payload_array(bytearray(length), "uint8", [length])
    assert (array.shape, array.flags.writeable) == ((length,), False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_is_a_view_of_the_bytes(dtype: str | None) -> None:
    payload = bytes(range(64))
    array = payload_array(payload, dtype, [2, 16 // DTYPES[dtype].itemsize], start=16, end=48)
    assert array.dtype == DTYPES[dtype]
    assert array.tobytes() == payload[16:48]
    assert np.shares_memory(array, np.frombuffer(payload, np.uint8))


@pytest.mark.parametrize(
    ("dtype", "shape"), [("uint8", [3]), ("uint16", [4]), ("uint8", [-1, -4]), ("complex64", [1]), ("float32", [2])]
)
def test_bytes_that_do_not_fit_are_an_error(dtype: str, shape: list[int]) -> None:
    with pytest.raises(JournalDamaged, match="does not fit its dtype"):
        payload_array(bytes(4), dtype, shape)


def test_one_number_without_a_dimension_is_an_array_too() -> None:
    assert payload_array(bytes(4), "float32", []).shape == ()
