# SPDX-License-Identifier: Apache-2.0
"""Values that a field cannot hold are refused by name, before a byte is written."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any, cast

import numpy as np
import pytest
from framegate.schema import Message
from framegate.schema.control import BarrierAck, CheckpointBarrier, Watermark
from framegate.schema.errors import BufferTooSmall, InvalidValue
from framegate.schema.merge import MergeRuleType, SequenceMergeMapAnnounce, TimestampMergeMapAnnounce
from framegate.schema.wire import (
    Bool,
    ConsumerHello,
    DataSourceMeta,
    Dtype,
    FrameDescriptor,
    MajorOrder,
    MetaBlobChunk,
    Mode,
    ProgressUnit,
    SlotHeader,
    TensorHeader,
)

from tests.codec_probe import CodecProbe

FRAME = FrameDescriptor(stream_id=1, epoch=2, seq=3)
RULE = SequenceMergeMapAnnounce.Rule(input_stream_id=1, rule_type=MergeRuleType.OFFSET, offset=0)
MAP = SequenceMergeMapAnnounce(out_stream_id=1, epoch=2, rules=(RULE,))
HELLO = ConsumerHello(
    stream_id=1,
    consumer_id=2,
    supports_shm=Bool.TRUE,
    supports_progress=Bool.FALSE,
    mode=Mode.STREAM,
    max_rate_hz=0,
    expected_layout_version=0,
    descriptor_stream_id=0,
    control_stream_id=0,
)
CHUNK = MetaBlobChunk(stream_id=1, meta_version=2, chunk_offset=0)
TENSOR = TensorHeader(
    dtype=Dtype.UINT8,
    major_order=MajorOrder.ROW,
    ndims=1,
    progress_unit=ProgressUnit.NONE,
    progress_stride_bytes=0,
    dims=(4,) + (0,) * 7,
    strides=(1,) + (0,) * 7,
)
SLOT = SlotHeader(
    seq_commit=1, values_len_bytes=4, payload_slot=0, pool_id=1, payload_offset=0, timestamp_ns=0, meta_version=0
)
META = DataSourceMeta(stream_id=1, meta_version=2, timestamp_ns=3)
OTHER_RULE = TimestampMergeMapAnnounce.Rule(input_stream_id=1, rule_type=cast(Any, 0), timestamp_source=cast(Any, 1))

REFUSED = [
    (FRAME, "stream_id", -1),
    (FRAME, "stream_id", 2**32),
    (FRAME, "stream_id", 1.0),
    (FRAME, "stream_id", "1"),
    (FRAME, "stream_id", None),
    (FRAME, "stream_id", np.float64(1)),
    (FRAME, "stream_id", np.int64(-1)),
    (FRAME, "seq", 2**64),
    (FRAME, "timestamp_ns", 2**64 - 1),
    (FRAME, "timestamp_ns", 2**64),
    (FRAME, "timestamp_ns", np.uint64(2**64 - 1)),
    (FRAME, "meta_version", 2**32 - 1),
    (FRAME, "meta_version", np.array([1, 2])),
    (HELLO, "mode", 0),
    (HELLO, "mode", 3),
    (HELLO, "mode", None),
    (HELLO, "mode", 1.0),
    (HELLO, "mode", []),
    (HELLO, "mode", "STREAM"),
    (HELLO, "descriptor_channel", "caf\u00e9"),
    (HELLO, "descriptor_channel", b"bytes"),
    (HELLO, "descriptor_channel", None),
    (HELLO, "descriptor_channel", "\ud800"),
    (CHUNK, "bytes", 5),
    (CHUNK, "bytes", "text"),
    (CHUNK, "bytes", None),
    (TENSOR, "dims", (1,) * 7),
    (TENSOR, "dims", (1,) * 9),
    (TENSOR, "dims", (2**31,) * 8),
    (TENSOR, "dims", None),
    (TENSOR, "dims", 8),
    (TENSOR, "dims", "12345678"),
    (TENSOR, "dtype", 12),
    (SLOT, "pad", b"\0" * 25),
    (SLOT, "pad", b"\0" * 27),
    (SLOT, "pad", 26),
    (SLOT, "header_bytes", [1, 2]),
    (MAP, "rules", None),
    (MAP, "rules", RULE),
    (MAP, "rules", (OTHER_RULE,)),
    (MAP, "rules", (None,)),
    (MAP, "rules", iter([RULE])),
    (MAP, "rules", [RULE] * 65535),
    (META, "attributes", ("key",)),
    (Watermark(timestamp_ms=0, stream_id=1, source_epoch=1), "timestamp_ms", 2**63),
    (CheckpointBarrier(checkpoint_id=1, epoch=1, flags=0, stream_id=1, source_epoch=1), "after_seq", 2**64 - 1),
]


def _ids(value: object) -> str | None:
    return type(value).__name__ if not isinstance(value, str) else None


@pytest.mark.parametrize(("message", "field", "value"), REFUSED, ids=_ids)
def test_value_that_the_field_cannot_hold_is_refused_by_name(message: Any, field: str, value: object) -> None:
    broken = replace(message, **{field: value})
    for encode in (broken.encode, broken.encode_body, lambda: broken.encode_into(bytearray(1000))):
        with pytest.raises(InvalidValue) as caught:
            encode()
        assert caught.value.facts["message"] == type(message).__name__
        assert caught.value.facts["field"] == field


@pytest.mark.parametrize(
    ("field", "value"),
    [("rule_type", 2), ("offset", -(2**31)), ("offset", 2**31), ("window_size", 2**32 - 1), ("input_stream_id", None)],
)
def test_trouble_inside_an_entry_names_the_entry(field: str, value: object) -> None:
    entry = replace(RULE, **cast(Any, {field: value}))
    with pytest.raises(InvalidValue) as caught:
        replace(MAP, rules=(RULE, entry)).encode()
    assert caught.value.facts["message"] == "SequenceMergeMapAnnounce.Rule"
    assert caught.value.facts["field"] == field


def test_one_array_too_short_is_not_made_up_for_by_the_next_one_too_long() -> None:
    with pytest.raises(InvalidValue) as caught:
        replace(TENSOR, dims=(1,) * 7, strides=(1,) * 9).encode()
    assert caught.value.facts["field"] == "dims"


def test_length_of_a_broken_message_is_refused_too() -> None:
    for broken in (replace(MAP, rules=cast(Any, None)), replace(HELLO, control_channel=cast(Any, 1))):
        with pytest.raises(InvalidValue):
            broken.encoded_length()


def test_rust_refuses_null_sentinels_and_foreign_text_as_well(codec_probe: CodecProbe) -> None:
    frame: dict[str, Any] = {"stream_id": 1, "epoch": 2, "seq": 3, "timestamp_ns": 2**64 - 1, "meta_version": None}
    assert codec_probe.encode("FrameDescriptor", {**frame, "trace_id": None}) == InvalidValue.code
    complete = {"checkpoint_id": 1, "epoch": 1, "pipeline": "caf\u00e9"}
    assert codec_probe.encode("CheckpointComplete", complete) == InvalidValue.code
    rule = {"input_stream_id": 1, "rule_type": 0, "offset": -(2**31), "window_size": None}
    announce = {"out_stream_id": 1, "epoch": 1, "stale_timeout_ns": None, "rules": [rule]}
    assert codec_probe.encode("SequenceMergeMapAnnounce", announce) == InvalidValue.code
    rules = [{**rule, "offset": 0}]
    full = codec_probe.encode("SequenceMergeMapAnnounce", {**announce, "rules": rules * 65534})
    assert isinstance(full, bytes)
    assert SequenceMergeMapAnnounce.decode(full).encode() == full
    assert codec_probe.encode("SequenceMergeMapAnnounce", {**announce, "rules": rules * 65535}) == InvalidValue.code


def test_trace_id_zero_is_the_same_as_none() -> None:
    assert replace(FRAME, trace_id=0).encode() == FRAME.encode()
    assert FrameDescriptor.decode(replace(FRAME, trace_id=0).encode()).trace_id is None


def test_required_fields_take_their_whole_range() -> None:
    # Only optional fields have a null value; all ones is a number like any other elsewhere.
    frame = FrameDescriptor(stream_id=2**32 - 1, epoch=2**64 - 1, seq=2**64 - 1)
    assert FrameDescriptor.decode(frame.encode()) == frame


def test_numpy_integers_and_plain_enum_numbers_are_values() -> None:
    frame = FrameDescriptor(
        stream_id=cast(Any, np.uint32(1)), epoch=cast(Any, np.int64(2)), seq=cast(Any, np.uint64(3))
    )
    assert frame.encode() == FRAME.encode()
    assert (
        replace(HELLO, mode=cast(Any, np.int8(1))).encode()
        == replace(HELLO, mode=cast(Any, 1)).encode()
        == HELLO.encode()
    )
    tensor = replace(
        TENSOR, dims=cast(Any, np.array(TENSOR.dims, dtype=np.int64)), strides=cast(Any, list(TENSOR.strides))
    )
    assert tensor.encode() == TENSOR.encode()


def test_any_bytes_like_object_is_data() -> None:
    wanted = replace(CHUNK, bytes=b"\x01\x02\x03\x04").encode()
    for data in (bytearray(b"\1\2\3\4"), memoryview(b"\1\2\3\4"), np.array([1, 2, 3, 4], np.uint8)):
        assert replace(CHUNK, bytes=cast(Any, data)).encode() == wanted
    assert replace(CHUNK, bytes=cast(Any, memoryview(b"\1_\2_\3_\4_")[::2])).encode() == wanted


def test_groups_may_be_lists_and_come_back_as_tuples() -> None:
    encoded = replace(MAP, rules=cast(Any, [RULE, RULE])).encode()
    assert SequenceMergeMapAnnounce.decode(encoded).rules == (RULE, RULE)


@pytest.mark.parametrize("message", [FRAME, MAP, HELLO, TENSOR], ids=_ids)
def test_message_is_written_in_place_and_nothing_beside_it(message: Message) -> None:
    length = message.encoded_length()
    for buffer in (bytearray(b"\xaa" * (length + 8)), np.full(length + 8, 0xAA, np.uint8)):
        assert message.encode_into(cast(Any, buffer), 3) == length
        assert bytes(buffer) == b"\xaa" * 3 + message.encode() + b"\xaa" * 5
        assert type(message).decode(cast(Any, buffer), 3) == message


@pytest.mark.parametrize("message", [FRAME, MAP, HELLO, TENSOR], ids=_ids)
def test_buffer_too_small_is_left_as_it_was(message: Message) -> None:
    length = message.encoded_length()
    for size, offset in ((length - 1, 0), (length, 1), (0, 0), (length, length + 9)):
        buffer = bytearray(b"\xaa" * size)
        with pytest.raises(BufferTooSmall) as caught:
            message.encode_into(buffer, offset)
        assert buffer == b"\xaa" * size
        assert caught.value.facts == {"wanted_bytes": length, "have_bytes": max(0, size - offset)}


@pytest.mark.parametrize("buffer", [bytes(100), memoryview(bytes(100)), "text", None, 100])
def test_buffer_that_cannot_be_written_is_refused(buffer: Any) -> None:
    with pytest.raises(InvalidValue):
        FRAME.encode_into(buffer)


def test_negative_offset_is_refused() -> None:
    with pytest.raises(InvalidValue):
        FRAME.encode_into(bytearray(100), -48)


def test_messages_are_frozen_hashable_and_take_keywords_only() -> None:
    with pytest.raises(FrozenInstanceError):
        cast(Any, FRAME).seq = 4
    with pytest.raises(TypeError):
        cast(Any, FrameDescriptor)(1, 2, 3)
    assert len({FRAME, replace(FRAME), MAP, replace(MAP)}) == 2


def test_fields_called_bytes_are_ordinary_fields() -> None:
    ack = BarrierAck(checkpoint_id=1, epoch=1, status=cast(Any, 1), duration_ns=1, bytes=7)
    assert BarrierAck.decode(ack.encode()).bytes == 7
