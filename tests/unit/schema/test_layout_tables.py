# SPDX-License-Identifier: Apache-2.0
"""Block lengths, offsets, types, null values and enums of the generated codecs against a table written by hand.

The table is docs/wire.md's, in its own notation: `name type@offset`, `null=` for optional fields, `Enum:type` for
enums, then groups and variable data in order. A change of the XML that moves a byte fails here.
"""

from __future__ import annotations

from typing import Final

import pytest
from framegate.schema import Message, control, driver, merge, wire
from framegate.schema.layout import Block, Data, Field, Group

U16: Final = 65535
U32: Final = 4294967295
U64: Final = 18446744073709551615

TABLE: Final = {
    (900, 1, "ShmPoolAnnounce", 35): (
        "stream_id uint32@0; producer_id uint32@4; epoch uint64@8; announce_timestamp_ns uint64@16;"
        " announce_clock_domain ClockDomain:uint8@24; layout_version uint32@25; header_nslots uint32@29;"
        " header_slot_bytes uint16@33; group payload_pools; ascii header_region_uri"
    ),
    (900, 1, "ShmPoolAnnounce.PayloadPool", 10): (
        "pool_id uint16@0; pool_nslots uint32@2; stride_bytes uint32@6; ascii region_uri"
    ),
    (900, 2, "ConsumerHello", 39): (
        "stream_id uint32@0; consumer_id uint32@4; supports_shm Bool:uint8@8; supports_progress Bool:uint8@9;"
        " mode Mode:uint8@10; max_rate_hz uint32@11; expected_layout_version uint32@15;"
        f" progress_interval_us uint32@19 null={U32}; progress_bytes_delta uint32@23 null={U32};"
        f" progress_major_delta_units uint32@27 null={U32}; descriptor_stream_id uint32@31;"
        " control_stream_id uint32@35; ascii descriptor_channel; ascii control_channel"
    ),
    (900, 3, "ConsumerConfig", 18): (
        "stream_id uint32@0; consumer_id uint32@4; use_shm Bool:uint8@8; mode Mode:uint8@9;"
        " descriptor_stream_id uint32@10; control_stream_id uint32@14; ascii payload_fallback_uri;"
        " ascii descriptor_channel; ascii control_channel"
    ),
    (900, 4, "FrameDescriptor", 40): (
        f"stream_id uint32@0; epoch uint64@4; seq uint64@12; timestamp_ns uint64@20 null={U64};"
        f" meta_version uint32@28 null={U32}; trace_id uint64@32 null=0"
    ),
    (900, 5, "QosConsumer", 41): (
        "stream_id uint32@0; consumer_id uint32@4; epoch uint64@8; last_seq_seen uint64@16;"
        " drops_gap uint64@24; drops_late uint64@32; mode Mode:uint8@40"
    ),
    (900, 6, "QosProducer", 28): (
        "stream_id uint32@0; producer_id uint32@4; epoch uint64@8; current_seq uint64@16;"
        f" watermark uint32@24 null={U32}"
    ),
    (900, 7, "DataSourceAnnounce", 20): (
        "stream_id uint32@0; producer_id uint32@4; epoch uint64@8; meta_version uint32@16; ascii name; ascii summary"
    ),
    (900, 8, "DataSourceMeta", 16): (
        "stream_id uint32@0; meta_version uint32@4; timestamp_ns uint64@8; group attributes"
    ),
    (900, 8, "DataSourceMeta.Attribute", 0): "ascii key; ascii format; bytes value",
    (900, 9, "ControlResponse", 12): "correlation_id int64@0; code ResponseCode:int32@8; ascii error_message",
    (900, 10, "MetaBlobAnnounce", 28): (
        "stream_id uint32@0; meta_version uint32@4; blob_type uint32@8; total_len uint64@12; checksum uint64@20"
    ),
    (900, 11, "FrameProgress", 29): (
        "stream_id uint32@0; epoch uint64@4; seq uint64@12; payload_bytes_filled uint64@20;"
        " state FrameProgressState:uint8@28"
    ),
    (900, 12, "MetaBlobChunk", 16): "stream_id uint32@0; meta_version uint32@4; chunk_offset uint64@8; bytes bytes",
    (900, 13, "MetaBlobComplete", 16): "stream_id uint32@0; meta_version uint32@4; checksum uint64@8",
    (900, 50, "ShmRegionSuperblock", 64): (
        "magic uint64@0; layout_version uint32@8; epoch uint64@12; stream_id uint32@20;"
        " region_type RegionType:int16@24; pool_id uint16@26; nslots uint32@28; slot_bytes uint32@32;"
        " stride_bytes uint32@36; pid uint64@40; start_timestamp_ns uint64@48;"
        " activity_timestamp_ns uint64@56"
    ),
    (900, 51, "SlotHeader", 60): (
        "seq_commit uint64@0; values_len_bytes uint32@8; payload_slot uint32@12; pool_id uint16@16;"
        " payload_offset uint32@18; timestamp_ns uint64@22; meta_version uint32@30; pad uint8[26]@34;"
        " bytes header_bytes"
    ),
    (900, 52, "TensorHeader", 184): (
        "dtype Dtype:int16@0; major_order MajorOrder:int16@2; ndims uint8@4; pad_align uint8@5;"
        " progress_unit ProgressUnit:uint8@6; progress_stride_bytes uint32@7; dims int32[8]@11;"
        " strides int32[8]@43; pad uint8[109]@75"
    ),
    (901, 1, "ShmAttachRequest", 27): (
        "correlation_id int64@0; stream_id uint32@8; client_id uint32@12; role Role:uint8@16;"
        " expected_layout_version uint32@17; publish_mode PublishMode:uint8@21 null=255;"
        f" require_hugepages HugepagesPolicy:uint8@22; desired_node_id uint32@23 null={U32}"
    ),
    (901, 2, "ShmAttachResponse", 54): (
        f"correlation_id int64@0; code ResponseCode:int32@8; lease_id uint64@12 null={U64};"
        f" lease_expiry_timestamp_ns uint64@20 null={U64}; stream_id uint32@28 null={U32};"
        f" epoch uint64@32 null={U64}; layout_version uint32@40 null={U32};"
        f" header_nslots uint32@44 null={U32}; header_slot_bytes uint16@48 null={U16};"
        f" node_id uint32@50 null={U32}; group payload_pools; ascii header_region_uri; ascii error_message"
    ),
    (901, 2, "ShmAttachResponse.PayloadPool", 10): (
        "pool_id uint16@0; pool_nslots uint32@2; stride_bytes uint32@6; ascii region_uri"
    ),
    (901, 3, "ShmDetachRequest", 25): (
        "correlation_id int64@0; lease_id uint64@8; stream_id uint32@16; client_id uint32@20; role Role:uint8@24"
    ),
    (901, 4, "ShmDetachResponse", 12): "correlation_id int64@0; code ResponseCode:int32@8; ascii error_message",
    (901, 5, "ShmLeaseKeepalive", 25): (
        "lease_id uint64@0; stream_id uint32@8; client_id uint32@12; role Role:uint8@16; client_timestamp_ns uint64@17"
    ),
    (901, 6, "ShmDriverShutdown", 9): "timestamp_ns uint64@0; reason ShutdownReason:uint8@8; ascii error_message",
    (901, 7, "ShmLeaseRevoked", 26): (
        "timestamp_ns uint64@0; lease_id uint64@8; stream_id uint32@16; client_id uint32@20;"
        " role Role:uint8@24; reason LeaseRevokeReason:uint8@25; ascii error_message"
    ),
    (901, 8, "ShmDriverShutdownRequest", 9): (
        "correlation_id int64@0; reason ShutdownReason:uint8@8; ascii token; ascii error_message"
    ),
    (903, 1, "SequenceMergeMapAnnounce", 20): (
        f"out_stream_id uint32@0; epoch uint64@4; stale_timeout_ns uint64@12 null={U64}; group rules"
    ),
    (903, 1, "SequenceMergeMapAnnounce.Rule", 13): (
        "input_stream_id uint32@0; rule_type MergeRuleType:uint8@4; offset int32@5 null=-2147483648;"
        f" window_size uint32@9 null={U32}"
    ),
    (903, 2, "SequenceMergeMapRequest", 12): "out_stream_id uint32@0; epoch uint64@4",
    (903, 3, "TimestampMergeMapAnnounce", 29): (
        f"out_stream_id uint32@0; epoch uint64@4; stale_timeout_ns uint64@12 null={U64};"
        f" clock_domain ClockDomain:uint8@20; lateness_ns uint64@21 null={U64}; group rules"
    ),
    (903, 3, "TimestampMergeMapAnnounce.Rule", 22): (
        "input_stream_id uint32@0; rule_type MergeTimeRuleType:uint8@4;"
        " timestamp_source TimestampSource:uint8@5; offset_ns int64@6 null=-9223372036854775808;"
        f" window_ns uint64@14 null={U64}"
    ),
    (903, 4, "TimestampMergeMapRequest", 12): "out_stream_id uint32@0; epoch uint64@4",
    (920, 1, "CheckpointBarrier", 44): (
        "checkpoint_id uint64@0; epoch uint64@8; flags uint64@16; stream_id uint32@24;"
        f" source_epoch uint64@28; after_seq uint64@36 null={U64}"
    ),
    (920, 2, "Watermark", 20): "timestamp_ms int64@0; stream_id uint32@8; source_epoch uint64@12",
    (920, 3, "ControlSignal", 30): (
        "category SignalCategory:uint8@0; kind SignalKind:uint8@1; barrier_id uint64@2;"
        f" stream_id uint32@10 null={U32}; source_epoch uint64@14; after_seq uint64@22 null={U64};"
        " ascii pipeline"
    ),
    (920, 4, "InjectBarrier", 24): "checkpoint_id uint64@0; epoch uint64@8; flags uint64@16; ascii pipeline",
    (920, 5, "BarrierAck", 33): (
        "checkpoint_id uint64@0; epoch uint64@8; status AckStatus:uint8@16; duration_ns uint64@17;"
        " bytes uint64@25; ascii pipeline; ascii operator_id; ascii reason"
    ),
    (920, 6, "CheckpointComplete", 16): "checkpoint_id uint64@0; epoch uint64@8; ascii pipeline",
    (920, 7, "CheckpointAborted", 17): (
        "checkpoint_id uint64@0; epoch uint64@8; cause AbortCause:uint8@16; ascii pipeline; ascii reason"
    ),
    (920, 8, "OperatorHello", 17): (
        "instance_id uint64@0; last_checkpoint_id uint64@8; state OperatorState:uint8@16; ascii pipeline;"
        " ascii operator_id"
    ),
    (920, 9, "PipelineAnnounce", 44): (
        "last_checkpoint_id uint64@0; current_checkpoint_id uint64@8; epoch uint64@16; flags uint64@24;"
        " alignment_timeout_ms uint32@32; late_barrier_timeout_ms uint32@36; operator_timeout_ms uint32@40;"
        " ascii pipeline; ascii store"
    ),
    (920, 10, "TriggerCheckpoint", 16): "correlation_id uint64@0; flags uint64@8; ascii pipeline",
    (920, 11, "TriggerProgress", 41): (
        "correlation_id uint64@0; checkpoint_id uint64@8; epoch uint64@16; state TriggerState:uint8@24;"
        " duration_ns uint64@25; bytes uint64@33; ascii pipeline; ascii reason"
    ),
    (920, 12, "TriggerSignal", 10): (
        "correlation_id uint64@0; category SignalCategory:uint8@8; kind SignalKind:uint8@9; ascii pipeline"
    ),
    (920, 13, "IngressHello", 12): "instance_id uint64@0; stream_id uint32@8; ascii pipeline; ascii operator_id",
    (920, 14, "HoldIngress", 20): "checkpoint_id uint64@0; epoch uint64@8; stream_id uint32@16; ascii pipeline",
    (920, 15, "IngressPlace", 36): (
        f"checkpoint_id uint64@0; epoch uint64@8; stream_id uint32@16; source_epoch uint64@20 null={U64};"
        f" after_seq uint64@28 null={U64}; ascii pipeline; ascii operator_id"
    ),
    (920, 16, "IngressCut", 44): (
        "checkpoint_id uint64@0; epoch uint64@8; flags uint64@16; stream_id uint32@24;"
        f" source_epoch uint64@28 null={U64}; after_seq uint64@36 null={U64}; ascii pipeline"
    ),
    (920, 17, "StreamDeclaration", 17): (
        "stream_id uint32@0; client_id uint32@4; clock_domain ClockDomain:uint8@8 null=255;"
        f" frame_bytes uint32@9 null={U32}; nslots uint32@13 null={U32}"
    ),
}

RESPONSE_CODES: Final = "OK=0, UNSUPPORTED=1, INVALID_PARAMS=2, REJECTED=3, INTERNAL_ERROR=4"
ENUMS: Final = {
    wire.Bool: "FALSE=0, TRUE=1",
    wire.Mode: "STREAM=1, RATE_LIMITED=2",
    wire.FrameProgressState: "UNKNOWN=0, STARTED=1, PROGRESS=2, COMPLETE=3",
    wire.ProgressUnit: "NONE=0, ROWS=1, COLUMNS=2",
    wire.ResponseCode: RESPONSE_CODES,
    wire.ClockDomain: "MONOTONIC=1, REALTIME_SYNCED=2",
    wire.RegionType: "HEADER_RING=1, PAYLOAD_POOL=2",
    wire.Dtype: "UNKNOWN=0, UINT8=1, INT8=2, UINT16=3, INT16=4, UINT32=5, INT32=6, UINT64=7, INT64=8, FLOAT32=9,"
    " FLOAT64=10, BOOLEAN=11, BYTES=13, BIT=14",
    wire.MajorOrder: "UNKNOWN=0, ROW=1, COLUMN=2",
    driver.HugepagesPolicy: "UNSPECIFIED=0, STANDARD=1, HUGEPAGES=2",
    driver.ResponseCode: RESPONSE_CODES,
    driver.Role: "PRODUCER=1, CONSUMER=2",
    driver.PublishMode: "REQUIRE_EXISTING=1, EXISTING_OR_CREATE=2",
    driver.LeaseRevokeReason: "DETACHED=1, EXPIRED=2, REVOKED=3",
    driver.ShutdownReason: "NORMAL=0, ADMIN=1, ERROR=2",
    merge.ClockDomain: "MONOTONIC=1, REALTIME_SYNCED=2",
    control.ClockDomain: "MONOTONIC=1, REALTIME_SYNCED=2",
    merge.TimestampSource: "FRAME_DESCRIPTOR=1, SLOT_HEADER=2",
    merge.MergeRuleType: "OFFSET=0, WINDOW=1",
    merge.MergeTimeRuleType: "OFFSET_NS=0, WINDOW_NS=1",
    control.SignalCategory: "INSTANT=0, BARRIER=1",
    control.SignalKind: "STREAM_GRACEFUL_END=0, SYNC_TEST=1",
    control.AckStatus: "SNAPSHOT_TAKEN=0, COMPLETE=1, FAILED=2",
    control.AbortCause: "TIMEOUT=0, MEMORY_LIMIT=1, INPUT_LIMIT=2, INFLIGHT_LIMIT=3, HIGHER_BARRIER=4, INPUT_LOST=5,"
    " INPUT_EPOCH_CHANGED=6, LATE_BARRIER_TIMEOUT=7, SERIALISATION_FAILED=8, CHANNEL_READ_FAILED=9,"
    " INJECTION_FAILED=10, OPERATOR_FAILED=11, STORE_FAILED=12, COORDINATOR=13",
    control.OperatorState: "PRESENT=0, LEAVING=1",
    control.TriggerState: "WAITING=0, STARTED=1, COMPLETE=2, ABORTED=3, REFUSED=4",
}
MODULES: Final = {900: wire, 901: driver, 903: merge, 920: control}


def _blocks() -> dict[tuple[int, int, str, int], type[Block]]:
    found: dict[tuple[int, int, str, int], type[Block]] = {}
    for schema, module in MODULES.items():
        for template, kind in module.MESSAGES.items():
            entries = [part.entry for part in kind.LAYOUT if isinstance(part, Group)]
            for block in (kind, *entries):
                found[schema, template, block.__qualname__, block.BLOCK_LENGTH] = block
    return found


def _row(part: Field | Group | Data) -> str:
    if isinstance(part, Group):
        return f"group {part.name}"
    if isinstance(part, Data):
        assert part.limit == 1073741824
        return f"{'ascii' if part.is_text else 'bytes'} {part.name}"
    kind = f"{part.enum.__name__}:" if part.enum else ""
    size = f"[{part.count}]" if part.count > 1 else ""
    null = f" null={part.null}" if part.is_optional else ""
    return f"{part.name} {kind}{part.primitive}{size}@{part.offset}{null}"


def test_the_table_and_the_codecs_have_the_same_messages_and_entries() -> None:
    assert set(_blocks()) == set(TABLE)


@pytest.mark.parametrize("key", TABLE, ids=lambda key: f"{key[0]}-{key[2]}")
def test_fields_lie_where_the_table_says(key: tuple[int, int, str, int]) -> None:
    assert "; ".join(map(_row, _blocks()[key].LAYOUT)) == TABLE[key]


@pytest.mark.parametrize("key", TABLE, ids=lambda key: f"{key[0]}-{key[2]}")
def test_fields_fill_the_block_without_a_gap(key: tuple[int, int, str, int]) -> None:
    end = 0
    for part in _blocks()[key].LAYOUT:
        if isinstance(part, Field):
            assert part.offset == end
            end += part.size
    assert end == key[3]


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: f"{enum.__module__}.{enum.__name__}")
def test_enum_values_are_those_of_the_table(enum: type[wire.Bool]) -> None:
    assert ", ".join(f"{member.name}={int(member)}" for member in enum) == ENUMS[enum]


def test_no_enum_is_missing_from_the_table() -> None:
    used = {part.enum for block in _blocks().values() for part in block.LAYOUT if isinstance(part, Field) and part.enum}
    assert used == set(ENUMS)


@pytest.mark.parametrize("schema", MODULES)
def test_schema_version_is_one_and_stands_in_every_class(schema: int) -> None:
    kinds: dict[int, type[Message]] = MODULES[schema].MESSAGES
    assert schema == MODULES[schema].SCHEMA_ID
    assert MODULES[schema].SCHEMA_VERSION == 1
    assert {(kind.SCHEMA_ID, kind.SCHEMA_VERSION) for kind in kinds.values()} == {(schema, 1)}
    assert {kind.TEMPLATE_ID for kind in kinds.values()} == set(kinds)


def test_tensor_header_has_eight_dimensions_and_names_it_off_the_wire() -> None:
    assert wire.TensorHeader.max_dims == 8
