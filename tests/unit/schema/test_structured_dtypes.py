# SPDX-License-Identifier: Apache-2.0
"""The numpy dtype of a fixed block reads the same values as decode(), many at a time."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from framegate.schema import Message
from framegate.schema.control import CheckpointBarrier
from framegate.schema.layout import Block, Field
from framegate.schema.wire import FrameDescriptor, SlotHeader, TensorHeader

from tests.vectors.golden import VECTORS, Vector


def _dtype(kind: type[Message]) -> np.dtype[np.void] | None:
    made = getattr(kind, "numpy_dtype" if kind is TensorHeader else "dtype", None)
    dtype: np.dtype[np.void] | None = made() if made else None
    return dtype


WITH_DTYPE = [vector for vector in VECTORS if _dtype(vector.kind) is not None]


def _sentinel(field: Field, value: Any) -> object:
    if value is None:
        return field.null
    if isinstance(value, bytes):
        return list(value)
    return list(value) if isinstance(value, tuple) else value


def test_exactly_the_fixed_size_messages_and_slot_header_have_a_dtype() -> None:
    fixed = {vector.kind for vector in VECTORS if all(isinstance(part, Field) for part in vector.kind.LAYOUT)}
    assert {vector.kind for vector in WITH_DTYPE} == fixed | {SlotHeader}


@pytest.mark.parametrize("vector", WITH_DTYPE, ids=str)
def test_dtype_reads_what_decode_reads(vector: Vector) -> None:
    dtype = _dtype(vector.kind)
    assert dtype is not None
    assert dtype.itemsize == vector.kind.BLOCK_LENGTH
    body = vector.data if vector.is_body else vector.data[8:]
    row = np.frombuffer(body, dtype, count=1)[0]
    fields = [part for part in vector.kind.LAYOUT if isinstance(part, Field)]
    assert dtype.names == tuple(field.name for field in fields)
    for field in fields:
        assert row[field.name].tolist() == _sentinel(field, getattr(vector.message, field.name)), field.name


def test_thousand_descriptors_are_read_in_one_call() -> None:
    frames = [FrameDescriptor(stream_id=1, epoch=7, seq=seq) for seq in range(1000)]
    array = np.frombuffer(b"".join(frame.encode_body() for frame in frames), FrameDescriptor.dtype())
    assert array["seq"].tolist() == list(range(1000))
    assert (array["timestamp_ns"] == np.uint64(2**64 - 1)).all()


def test_array_of_the_dtype_is_bytes_that_decode() -> None:
    array = np.zeros(1, CheckpointBarrier.dtype())
    array["checkpoint_id"] = 17
    barrier = CheckpointBarrier.decode_body(array.tobytes())
    assert (barrier.checkpoint_id, barrier.after_seq) == (17, 0)
    block: type[Block] = CheckpointBarrier
    assert array.nbytes == block.BLOCK_LENGTH


def test_importing_and_using_the_codecs_does_not_import_numpy() -> None:
    program = (
        "import sys, framegate.schema as s, framegate.schema.wire as w\n"
        "s.decode_any(w.FrameDescriptor(stream_id=1, epoch=2, seq=3).encode())\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
