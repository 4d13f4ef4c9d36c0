# SPDX-License-Identifier: Apache-2.0
"""Cut and flipped messages: Python and Rust give a value or a typed error, and both the same one."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from framegate.schema import Message, decode_any, message_class
from framegate.schema.driver import ShmAttachRequest, ShmDriverShutdown
from framegate.schema.errors import (
    InvalidValue,
    LengthLimit,
    MessageError,
    Truncated,
    UnknownTemplate,
    WrongBlockLength,
    WrongSchema,
)
from framegate.schema.merge import MergeRuleType, SequenceMergeMapAnnounce
from framegate.schema.wire import DataSourceMeta, FrameDescriptor, MetaBlobChunk, ShmPoolAnnounce

from tests.codec_probe import CodecProbe, Outcome, any_outcome, python_outcome
from tests.vectors.golden import VECTORS, Vector

each_vector = pytest.mark.parametrize("vector", VECTORS, ids=str)
FRAME = bytes.fromhex(
    "28000400840301001027000007000000000000000500000000000000ffffffffffffffff030000000000000000000000"
)
MAP = SequenceMergeMapAnnounce(
    out_stream_id=11000,
    epoch=9,
    rules=(SequenceMergeMapAnnounce.Rule(input_stream_id=10000, rule_type=MergeRuleType.OFFSET, offset=-2),),
).encode()


def _judged(vector: Vector, data: bytes, probe: CodecProbe) -> Outcome:
    python = python_outcome(vector.kind, data, is_body=vector.is_body)
    rust = probe.decode_body(vector.kind, data) if vector.is_body else probe.decode(data)
    assert rust == python, data.hex()
    return python


def _judged_alike(kind: type[Message], data: bytes, probe: CodecProbe) -> int:
    python = python_outcome(kind, data)
    assert probe.decode(data) == python
    assert isinstance(python, int), python
    return python


@each_vector
def test_message_cut_at_any_length_is_truncated(vector: Vector, codec_probe: CodecProbe) -> None:
    for length in range(len(vector.data)):
        assert _judged(vector, vector.data[:length], codec_probe) == Truncated.code, length


def _flipped(data: bytes) -> Iterator[bytes]:
    for index in range(len(data)):
        for mask in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            yield data[:index] + bytes([data[index] ^ mask]) + data[index + 1 :]


@each_vector
def test_any_flipped_byte_gives_the_same_value_or_error_in_both_languages(
    vector: Vector, codec_probe: CodecProbe
) -> None:
    for data in _flipped(vector.data):
        if vector.is_body:
            _judged(vector, data, codec_probe)
            continue
        # A flip in the header may make it another message, so both find the class by what the header says now.
        outcome = any_outcome(data)
        assert codec_probe.decode(data) == outcome, data.hex()
        if data[2:6] != vector.data[2:6]:
            assert python_outcome(vector.kind, data) in (WrongSchema.code, UnknownTemplate.code)
        else:
            assert python_outcome(vector.kind, data) == outcome


@each_vector
def test_bytes_behind_the_message_are_not_looked_at(vector: Vector, codec_probe: CodecProbe) -> None:
    whole = _judged(vector, vector.data, codec_probe)
    assert _judged(vector, vector.data + b"\xff" * 7, codec_probe) == whole


def test_another_schema_is_found_before_anything_else_is_wrong() -> None:
    # Template, version and block length are wrong as well, and the body is missing.
    with pytest.raises(WrongSchema) as caught:
        FrameDescriptor.decode(struct.pack("<HHHH", 1, 99, 901, 9))
    assert caught.value.facts == {"wanted": 900, "found": 901}


def test_another_template_is_found_before_version_and_length() -> None:
    with pytest.raises(UnknownTemplate) as caught:
        FrameDescriptor.decode(struct.pack("<HHHH", 1, 99, 900, 9))
    assert caught.value.facts == {"schema": 900, "wanted": 4, "found": 99}


def test_block_length_is_found_before_the_missing_body() -> None:
    with pytest.raises(WrongBlockLength) as caught:
        FrameDescriptor.decode(struct.pack("<HHHH", 39, 4, 900, 1))
    assert caught.value.facts == {"wanted_bytes": 40, "found_bytes": 39, "version": 1}


def test_cut_message_with_an_unknown_enum_is_truncated_first(codec_probe: CodecProbe) -> None:
    broken = bytearray(MAP)
    broken[8 + 20 + 4 + 4] = 7
    assert _judged_alike(SequenceMergeMapAnnounce, bytes(broken), codec_probe) == InvalidValue.code
    assert _judged_alike(SequenceMergeMapAnnounce, bytes(broken[:-1]), codec_probe) == Truncated.code


def test_unknown_enum_names_message_and_field() -> None:
    broken = bytearray(MAP)
    broken[8 + 20 + 4 + 4] = 7
    with pytest.raises(InvalidValue) as caught:
        SequenceMergeMapAnnounce.decode(broken)
    assert caught.value.facts == {"message": "SequenceMergeMapAnnounce.Rule", "field": "rule_type", "found": "7"}


def test_text_that_is_not_ascii_names_message_and_field(codec_probe: CodecProbe) -> None:
    data = struct.pack("<HHHHQBI", 9, 6, 901, 1, 0, 0, 2) + b"a\xe9"
    assert _judged_alike(ShmDriverShutdown, data, codec_probe) == InvalidValue.code
    with pytest.raises(InvalidValue) as caught:
        ShmDriverShutdown.decode(data)
    assert caught.value.facts == {"message": "ShmDriverShutdown", "field": "error_message", "found": "b'a\\xe9'"}


def test_unknown_value_of_an_optional_enum_is_not_taken_for_null(codec_probe: CodecProbe) -> None:
    data = bytearray.fromhex("1b000100850301004d00000000000000102700002a00000001000000000300ffffffff")
    assert _judged_alike(ShmAttachRequest, bytes(data), codec_probe) == InvalidValue.code
    data[8 + 21] = 255
    assert ShmAttachRequest.decode(data).publish_mode is None


@pytest.mark.parametrize("count", [1, 2, 1000, 65534, 65535])
def test_group_that_claims_more_entries_than_there_are_is_truncated(count: int, codec_probe: CodecProbe) -> None:
    lying = MAP[:28] + struct.pack("<HH", 13, count) + MAP[32:-1]
    assert _judged_alike(SequenceMergeMapAnnounce, lying, codec_probe) == Truncated.code


def test_group_of_entries_without_fixed_fields_ends_with_the_buffer(codec_probe: CodecProbe) -> None:
    lying = struct.pack("<HHHHIIQHH", 16, 8, 900, 1, 1, 1, 1, 0, 65535) + b"\0" * 12 * 3
    assert _judged_alike(DataSourceMeta, lying, codec_probe) == Truncated.code


def test_entries_longer_than_ours_are_stepped_over(codec_probe: CodecProbe) -> None:
    entry = struct.pack("<IBiI", 10000, 0, -2, 0xFFFFFFFF) + b"new field"
    longer = MAP[:28] + struct.pack("<HH", len(entry), 3) + entry * 3
    message = SequenceMergeMapAnnounce.decode(longer)
    assert message.rules == SequenceMergeMapAnnounce.decode(MAP).rules * 3
    assert codec_probe.decode(longer) == python_outcome(SequenceMergeMapAnnounce, longer)


def test_entries_with_text_longer_than_ours_are_stepped_over(codec_probe: CodecProbe) -> None:
    entry = struct.pack("<HII", 1, 8, 64) + b"??" + struct.pack("<I", 1) + b"u"
    head = next(vector.data for vector in VECTORS if vector.name == "V6")[: 8 + 35]
    longer = head + struct.pack("<HH", 12, 2) + entry * 2 + struct.pack("<I", 1) + b"h"
    message = ShmPoolAnnounce.decode(longer)
    assert [pool.region_uri for pool in message.payload_pools] == ["u", "u"]
    assert message.header_region_uri == "h"
    assert codec_probe.decode(longer) == python_outcome(ShmPoolAnnounce, longer)


@pytest.mark.parametrize("count", [0, 1])
def test_entries_shorter_than_ours_have_the_wrong_length(count: int, codec_probe: CodecProbe) -> None:
    shorter = MAP[:28] + struct.pack("<HH", 12, count) + MAP[32:]
    assert _judged_alike(SequenceMergeMapAnnounce, shorter, codec_probe) == WrongBlockLength.code


def test_data_above_the_limit_is_refused_without_allocating(codec_probe: CodecProbe) -> None:
    head = struct.pack("<HHHHIIQ", 16, 12, 900, 1, 1, 1, 0)
    for length in (1073741825, 0xFFFFFFFF):
        assert _judged_alike(MetaBlobChunk, head + struct.pack("<I", length), codec_probe) == LengthLimit.code
    assert _judged_alike(MetaBlobChunk, head + struct.pack("<I", 1073741824), codec_probe) == Truncated.code


def test_nothing_is_allocated_for_lengths_and_counts_that_lie() -> None:
    import tracemalloc

    chunk = struct.pack("<HHHHIIQI", 16, 12, 900, 1, 1, 1, 0, 1073741824)
    group = MAP[:28] + struct.pack("<HH", 65535, 65535) + MAP[32:]
    tracemalloc.start()
    try:
        for kind, data in ((MetaBlobChunk, chunk), (SequenceMergeMapAnnounce, group)):
            with pytest.raises(Truncated):
                kind.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_decode_any_tells_a_foreign_schema_from_an_unknown_template(codec_probe: CodecProbe) -> None:
    for header, error in (
        ((8, 1, 910, 1), WrongSchema),
        ((8, 77, 903, 1), UnknownTemplate),
        ((8, 1, 904, 1), WrongSchema),
    ):
        data = struct.pack("<HHHH", *header)
        with pytest.raises(error):
            decode_any(data)
        assert codec_probe.decode(data) == error.code


def test_decode_any_reads_at_an_offset_and_refuses_what_is_too_short() -> None:
    assert decode_any(b"xx" + FRAME, 2) == FrameDescriptor.decode(FRAME)
    for buffer, offset in ((b"", 0), (FRAME[:7], 0), (FRAME, 41), (FRAME, 1000), (FRAME, 2**70)):
        with pytest.raises(Truncated):
            decode_any(buffer, offset)


def test_message_class_is_found_by_its_numbers() -> None:
    assert message_class(900, 4) is FrameDescriptor


@pytest.mark.parametrize("offset", [-1, -48, 1.0, "0", None])
def test_offset_that_is_no_place_in_the_buffer_is_refused(offset: int) -> None:
    for decode in (FrameDescriptor.decode, FrameDescriptor.decode_body, decode_any):
        with pytest.raises(InvalidValue):
            decode(FRAME, offset)


@pytest.mark.parametrize("buffer", [None, 48, "text", [1, 2, 3], memoryview(FRAME)[::2]])
def test_buffer_that_is_not_contiguous_bytes_is_refused(buffer: bytes) -> None:
    with pytest.raises(MessageError):
        FrameDescriptor.decode(buffer)
