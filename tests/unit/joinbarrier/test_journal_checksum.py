# SPDX-License-Identifier: Apache-2.0
"""The check sum of a sealed batch, by an implementation of its own, bit by bit."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from framegate._native import crc32c
from tests.unit.joinbarrier.journal_writing import SealedBatch, append, batches, cell, files, small_writer

_POLYNOMIAL: Final = 0x82F6_3B78


def _slow_crc32c(data: bytes, seed: int = 0) -> int:
    register = seed ^ 0xFFFF_FFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (_POLYNOMIAL if register & 1 else 0)
    return register ^ 0xFFFF_FFFF


def _expected(sealed: SealedBatch) -> int:
    running = 0
    for column in sealed.batch.columns:
        # Arrow lists the buffers of a column's children behind its own, as a record batch does.
        for buffer in column.buffers():
            running = _slow_crc32c(b"" if buffer is None else buffer.to_pybytes(), running)
    numbers = sealed.numbers
    place = struct.pack("<QQQ", numbers["first_row"], numbers["rows"], numbers["generation"])
    return _slow_crc32c(place, _slow_crc32c(sealed.state, running))


@given(st.binary(max_size=2000), st.binary(max_size=20))
def test_the_fast_one_is_as_the_slow_one_whole_and_continued(first: bytes, second: bytes) -> None:
    assert crc32c(first) == _slow_crc32c(first)
    assert crc32c(second, crc32c(first)) == _slow_crc32c(first + second)


def test_the_check_value_of_the_catalogue_comes_out() -> None:
    assert crc32c(b"123456789") == 0xE306_9283


def test_every_batch_carries_the_check_sum_of_its_buffers_its_state_and_its_place(folder: Path) -> None:
    writer = small_writer(folder, ["a", "b"])
    for seq in range(9):
        absent = None if seq == 2 else cell(b"b" * seq, seq, timestamp_ns=seq if seq % 2 else None)
        append(writer, {"a": cell(bytes([seq]) * 700, seq), "b": absent}, out_time_ns=seq if seq > 4 else None)
        writer.unmatched("a", seq=seq, timestamp_ns=seq if seq % 2 else None)
    writer.close(b'{"n":1}')
    sealed = [batch for table in ("segments", "unmatched") for path in files(folder, table) for batch in batches(path)]
    assert len(sealed) > 3
    assert [batch.numbers["crc32c"] for batch in sealed] == [_expected(batch) for batch in sealed]


def test_an_abandoned_payload_is_not_in_the_check_sum(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    append(writer, {"a": cell(b"kept")})
    assert writer.append({"a": cell(b"left")}, abandon=True) == "ready"
    append(writer, {"a": cell(b"also")}, in_place=True)
    writer.seal()
    (sealed,) = batches(files(folder)[0])
    assert [row["a"]["payload"] for row in sealed.batch.to_pylist()] == [b"kept", b"also"]
    assert sealed.numbers["crc32c"] == _expected(sealed)
