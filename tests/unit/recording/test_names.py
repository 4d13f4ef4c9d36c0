# SPDX-License-Identifier: Apache-2.0
"""The native recorder knows every message that travels, by the same name and at the same places as the codecs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from framegate.schema import Message
from framegate.schema.codec import HEADER
from framegate.schema.layout import Field

from framegate._native import recording_topic

STREAM, TIME = 0x01020304, 0x0102030405060708
TRAVELS_NOT = {"ShmRegionSuperblock", "TensorHeader"}
STREAM_FIELDS = ("stream_id", "out_stream_id")
TIME_FIELDS = ("timestamp_ns", "announce_timestamp_ns", "client_timestamp_ns")
MODULES = ("wire", "driver", "merge", "control")
MESSAGES = [
    kind
    for name in MODULES
    for kind in import_module(f"framegate.schema.{name}").MESSAGES.values()
    if kind.__name__ not in TRAVELS_NOT
]


def _field(kind: Any, names: tuple[str, ...]) -> Field | None:
    fields = [each for each in kind.LAYOUT if isinstance(each, Field)]
    return next((each for each in fields if each.name in names), None)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_name_stream_and_time_stand_where_the_codec_has_them(kind: type[Message]) -> None:
    block = bytearray(kind.BLOCK_LENGTH)
    stream, time = _field(kind, STREAM_FIELDS), _field(kind, TIME_FIELDS)
    if stream is not None:
        block[stream.offset : stream.offset + 4] = STREAM.to_bytes(4, "little")
    if time is not None:
        block[time.offset : time.offset + 8] = TIME.to_bytes(8, "little")
    header = HEADER.pack(len(block), kind.TEMPLATE_ID, kind.SCHEMA_ID, kind.SCHEMA_VERSION)
    found = recording_topic(header + bytes(block))
    assert found == (kind.__name__, STREAM if stream else None, TIME if time else None)


def test_nulls_are_no_streams_and_no_times() -> None:
    signal = import_module("framegate.schema.control").ControlSignal
    header = HEADER.pack(signal.BLOCK_LENGTH, signal.TEMPLATE_ID, signal.SCHEMA_ID, 1)
    assert recording_topic(header + b"\xff" * signal.BLOCK_LENGTH) == ("ControlSignal", None, None)


@pytest.mark.parametrize("data", [b"", b"1234567", HEADER.pack(4, 9999, 900, 1), HEADER.pack(4, 1, 4711, 1)])
def test_what_is_not_known_has_no_name(data: bytes) -> None:
    assert recording_topic(data) is None
