# SPDX-License-Identifier: Apache-2.0
"""Golden bytes decode to the written values and the values encode to the golden bytes, in Python and in Rust."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from framegate.schema import decode_any
from framegate.schema.control import MESSAGES as CONTROL
from framegate.schema.driver import MESSAGES as DRIVER
from framegate.schema.merge import MESSAGES as MERGE
from framegate.schema.wire import MESSAGES as WIRE
from framegate.schema.wire import SlotHeader, TensorHeader

from tests.codec_probe import CodecProbe, as_values
from tests.vectors.golden import VECTORS, Vector

PROTOCOL: Final = Path(__file__).resolve().parents[2] / "docs/wire.md"
each_vector = pytest.mark.parametrize("vector", VECTORS, ids=str)


def test_every_message_of_every_schema_has_a_vector() -> None:
    known = {kind for messages in (WIRE, DRIVER, MERGE, CONTROL) for kind in messages.values()}
    assert {vector.kind for vector in VECTORS} == known


def test_vectors_of_the_protocol_are_among_them() -> None:
    printed = re.findall(r"^\| ([VC]\d\w?) \|.*`([0-9a-f]{40,})` \|$", PROTOCOL.read_text(), re.MULTILINE)
    ours = {vector.name: vector.data.hex() for vector in VECTORS}
    assert len(printed) == 20
    # The protocol prints only the first 147 bytes of V3, the rest of the slot is zero.
    assert {name: ours[name].removesuffix("00" * 109 if name == "V3" else "") for name, _ in printed} == dict(printed)


@each_vector
def test_python_decodes_the_golden_bytes(vector: Vector) -> None:
    decode = vector.kind.decode_body if vector.is_body else vector.kind.decode
    assert decode(vector.data) == vector.message


@each_vector
def test_python_encodes_the_golden_bytes(vector: Vector) -> None:
    encoded = vector.message.encode_body() if vector.is_body else vector.message.encode()
    assert encoded.hex() == vector.data.hex()
    assert vector.message.encoded_length() == len(vector.data) + (8 if vector.is_body else 0)


@each_vector
def test_rust_decodes_the_golden_bytes(vector: Vector, codec_probe: CodecProbe) -> None:
    answer = codec_probe.decode_body(vector.kind, vector.data) if vector.is_body else codec_probe.decode(vector.data)
    assert answer == (vector.kind.__name__, as_values(vector.message))


@each_vector
def test_rust_encodes_the_golden_bytes(vector: Vector, codec_probe: CodecProbe) -> None:
    ask = codec_probe.encode_body if vector.is_body else codec_probe.encode
    assert ask(vector.kind.__name__, as_values(vector.message)) == vector.data


@each_vector
def test_decode_any_finds_the_class_by_the_header(vector: Vector) -> None:
    assert decode_any(vector.message.encode()) == vector.message


@each_vector
def test_message_is_found_behind_an_offset_in_any_kind_of_buffer(vector: Vector) -> None:
    padded = b"\xaa" * 3 + vector.message.encode() + b"\xaa" * 5
    for buffer in (padded, bytearray(padded), memoryview(padded)):
        assert vector.kind.decode(buffer, 3) == vector.message


def test_tensor_header_is_read_from_inside_the_slot() -> None:
    slot = next(vector for vector in VECTORS if vector.name == "V3")
    inside = next(vector for vector in VECTORS if vector.name == "V3t")
    assert isinstance(slot.message, SlotHeader)
    assert len(slot.data) == 256
    assert TensorHeader.decode(slot.message.header_bytes) == inside.message
    assert TensorHeader.decode(slot.data, 64) == inside.message
