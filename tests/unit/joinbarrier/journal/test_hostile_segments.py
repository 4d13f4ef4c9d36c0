# SPDX-License-Identifier: Apache-2.0
"""Bytes that no writer wrote: a reader answers with rows, or with a numbered error, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from framegate.joinbarrier.journal.batch import BatchNumbers
from framegate.joinbarrier.journal.layout import segment_names
from framegate.joinbarrier.journal.message import Ending, Message, read_message
from framegate.schema.errors import FramegateError, JournalDamaged
from hypothesis import given, settings
from hypothesis import strategies as st

import framegate as fg
from tests.unit.joinbarrier.journal.journal_world import left, writer


def outcome(folder: Path) -> list[int] | str:
    try:
        return [row["row"] for row in fg.journal(folder).rows() if row["left"] is None or row["left"].size]
    except FramegateError as error:
        return error.message


@pytest.fixture
def small(folder: Path) -> Path:
    made = writer(folder, segment_bytes=1 << 14, state_capacity=16)
    made.append({"left": left(0), "right": "stale"})
    made.seal({"a": 1})
    made.finish_segment()
    return folder / "segments" / str(segment_names(folder, "rows")[0])


@pytest.mark.parametrize(("mask", "step"), [(0xFF, 2), (0x01, 5)])
def test_a_changed_byte_gives_rows_or_a_numbered_error(small: Path, mask: int, step: int) -> None:
    whole = small.read_bytes()
    answers = set[str]()
    for position in range(0, len(whole), step):
        small.write_bytes(whole[:position] + bytes([whole[position] ^ mask]) + whole[position + 1 :])
        found = outcome(small.parents[1])
        if isinstance(found, str):
            answers.add(found.partition(":")[0])
        else:
            assert len(found) <= 1
    assert len(answers) > 5


def test_a_cut_gives_rows_or_a_numbered_error(small: Path) -> None:
    whole = small.read_bytes()
    for length in range(0, len(whole), 11):
        small.write_bytes(whole[:length])
        assert outcome(small.parents[1]) != [0] or length > len(whole) // 2


def test_an_open_segment_cut_anywhere_ends_before_the_cut_or_is_damage(small: Path) -> None:
    whole = small.read_bytes()
    small.unlink()
    for length in range(0, len(whole), 11):
        small.with_suffix(".open").write_bytes(whole[:length])
        assert outcome(small.parents[1]) != [0] or length > len(whole) // 2


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 8))
def test_bytes_at_random_are_a_message_an_end_or_damage(data: bytes, prefix: int) -> None:
    data = (b"\xff\xff\xff\xff\x10\x00\x00\x00"[:prefix] + data)[:200]
    try:
        found = read_message(memoryview(data), 0, len(data))
    except JournalDamaged:
        return
    assert isinstance(found, (Ending, Message))
    if isinstance(found, Message):
        assert 0 <= found.body <= found.end <= len(data)


@settings(deadline=None)
@given(st.data())
def test_a_batch_with_changed_metadata_never_points_outside_of_itself(data: st.DataObject) -> None:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"x": pa.array(["a", "bc", None]), "y": pa.array([1, 2, 3])})
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch, custom_metadata={"k": "value"})
    whole = bytearray(sink.getvalue())
    schema = read_message(memoryview(whole), 0, len(whole))
    assert isinstance(schema, Message)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(schema.end, len(whole) - 9))
        whole[position] = data.draw(st.integers(0, 255))
    try:
        found = read_message(memoryview(whole), schema.end, len(whole))
        if isinstance(found, Message):
            for offset, length in found.buffers():
                assert not length or found.body <= offset <= offset + length <= found.end <= len(whole)
    except JournalDamaged:
        return


@pytest.mark.parametrize("key", ["framegate.batch", "framegate.state"])
def test_a_batch_without_its_own_metadata_is_damage(small: Path, key: str) -> None:
    small.write_bytes(small.read_bytes().replace(key.encode(), b"x" * len(key)))
    assert outcome(small.parents[1]) == "the batch lacks its own metadata"


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"first_row":-1}', b"\xff"])
def test_numbers_that_are_none_are_damage(text: bytes) -> None:
    with pytest.raises(JournalDamaged):
        BatchNumbers.parse(text)


@pytest.mark.parametrize("value", ["true", "1.0", "-1", '"1"', str(2**64), "null"])
def test_a_number_of_the_wrong_kind_is_damage(value: str) -> None:
    fields = [f'"{name}":{value if name == "rows" else 0}' for name in BatchNumbers.__slots__]
    with pytest.raises(JournalDamaged):
        BatchNumbers.parse(("{" + ",".join(fields) + "}").encode())
