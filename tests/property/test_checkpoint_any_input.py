# SPDX-License-Identifier: Apache-2.0
"""No input of any kind makes a piece of a checkpoint fail otherwise than with a number, or the two answer differently.

A bounded run of what ``make fuzz`` does for longer: random bytes, and files with some bytes changed. The native pieces
alone, with checks for overflow, are in ``native/checkpoint/tests/any_input.rs``.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from typing import Final

import pytest
from framegate.joinbarrier.checkpoint import inflight
from framegate.spec.checkpoint import inflight as reference_inflight

from tests.fuzz.checkpoint_inputs import MACHINES, READERS, SEEDS, look, read_inflight

IS_LONG: Final = os.environ.get("FRAMEGATE_TEST_LANE") == "long"
INPUTS: Final = 20_000 if IS_LONG else 400
"""Of each kind."""
NAMES: Final = [each.__name__ for each in (*READERS, *MACHINES)]


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    """Thousands of warnings say nothing."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def changed(dice: random.Random, seed: bytes) -> bytes:
    """A file with a few bytes changed, cut out or put in."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        what = dice.randrange(4)
        if what == 0:
            data[at : at + dice.randint(1, 12)] = b""
        elif what == 1:
            data[at:at] = dice.choice([b"9" * 30, b"\\ud800", b"null", b"-", b"[", dice.randbytes(4)])
        else:
            data[at : at + 1] = dice.randbytes(1)
    return bytes(data)


@pytest.mark.parametrize("kind", range(len(NAMES)), ids=NAMES)
@pytest.mark.timeout(600)
def test_whatever_the_bytes_are_a_value_or_a_number_comes_out(kind: int) -> None:
    dice = random.Random(kind)
    for number in range(INPUTS):
        data = dice.randbytes(dice.randrange(160)) if number % 2 else changed(dice, SEEDS[kind][1:])
        try:
            look(bytes([kind]) + data)
        except BaseException as failure:
            # Not Exception alone: a panic of the native half is none.
            raise AssertionError(f"{NAMES[kind]}: {data.hex()}") from failure


def test_what_disagrees_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_inflight, "read_records", lambda data: (0, [data]))
    with pytest.raises(AssertionError):
        look(bytes([READERS.index(read_inflight)]) + b"no in-flight file")


def test_a_panic_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """What a native panic is in Python: no Exception."""

    def panic(_data: bytes) -> None:
        raise Panic

    monkeypatch.setattr(inflight, "read_records", panic)
    with pytest.raises(Panic):
        look(bytes([READERS.index(read_inflight)]) + b"")
