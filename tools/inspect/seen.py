# SPDX-License-Identifier: Apache-2.0
"""One thing that was seen, whatever it was found in: what it is, what it says, or why that cannot be told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from framegate.recording.recorded import LOSS_TOPIC, Recorded
from framegate.schema import Message
from framegate.schema.codec import HEADER
from framegate.schema.errors import MessageError, UnknownTemplate, UnsupportedVersion, WrongSchema
from framegate.schema.wire import SlotHeader, TensorHeader

_BYTES_SHOWN: Final = 32
_TEXT_SHOWN: Final = 512
_DEPTH_MAX: Final = 8
_NULL_TIME: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """For a line, or an object."""

    kind: str
    """The message's name, ``payload``, ``loss``, ``foreign``, ``unknown`` or ``malformed``."""
    template: int | None = None
    topic: str = ""
    stream: int | None = None
    name: str = ""
    """Of the stream, where it has one."""
    seq: int | None = None
    epoch: int | None = None
    timestamp_ns: int | None = None
    log_time_ns: int | None = None
    bytes: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""

    def as_object(self) -> dict[str, Any]:
        """What ``--json`` prints: what is not known is left out."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {"event": "message", **{name: value for name, value in found.items() if value not in (None, "", {})}}


def seen_of(recorded: Recorded) -> Seen:
    """A message of a recording."""
    topic = recorded.topic
    common: dict[str, Any] = {
        "topic": topic.name,
        "stream": topic.stream,
        "log_time_ns": recorded.log_time_ns,
        "bytes": len(recorded.data),
    }
    if recorded.is_payload:
        return Seen(kind="payload", seq=recorded.sequence, timestamp_ns=recorded.publish_time_ns, **common)
    if topic.name == LOSS_TOPIC:
        return _loss(recorded, common)
    if topic.encoding == "sbe":
        return seen_message(recorded.data, **common)
    found = {"encoding": topic.encoding, "schema": topic.schema}
    return Seen(kind="foreign", fields=found, **common)


def seen_dumped(recorded: Recorded) -> Seen:
    """A message of a raw dump, which says no more than it does itself."""
    stream = recorded.topic.stream
    if recorded.is_payload:
        return Seen(kind="payload", stream=stream, seq=recorded.sequence, bytes=len(recorded.data))
    return seen_message(recorded.data, stream=stream)


def _loss(recorded: Recorded, common: dict[str, Any]) -> Seen:
    try:
        said = json.loads(recorded.data)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        return Seen(kind="malformed", problem="what is said of a loss is no JSON object", **common)
    stream = said.get("stream")
    common["stream"] = stream if isinstance(stream, int) else None
    return Seen(kind="loss", fields=plain(said), **common)


def seen_message(data: bytes | memoryview, **common: Any) -> Seen:
    """An SBE message, or what is known of one that cannot be read."""
    from framegate.schema import decode_any

    common.setdefault("bytes", len(data))
    try:
        message = decode_any(data)
    except (WrongSchema, UnknownTemplate, UnsupportedVersion) as failure:
        return Seen(kind="unknown", fields=_header_of(data), problem=str(failure).splitlines()[0], **common)
    except MessageError as failure:
        return Seen(kind="malformed", fields=_header_of(data), problem=str(failure).splitlines()[0], **common)
    return seen_fields(message, **common)


def seen_fields(message: Message, **common: Any) -> Seen:
    """A message that was read."""
    fields = plain(message)
    stream = common.pop("stream", None)
    if stream is None:
        stream = fields.get("stream_id", fields.get("out_stream_id"))
    timestamp = fields.get("timestamp_ns")
    if isinstance(message, SlotHeader):
        seq = message.seq_commit >> 1
        timestamp = None if timestamp == _NULL_TIME else timestamp
        fields = _slot_fields(message, fields)
    else:
        seq = fields.get("seq")
    return Seen(
        kind=type(message).__name__,
        template=type(message).TEMPLATE_ID,
        stream=stream,
        seq=seq,
        epoch=fields.get("epoch", fields.get("source_epoch")),
        timestamp_ns=timestamp,
        fields=fields,
        **common,
    )


def _slot_fields(slot: SlotHeader, fields: dict[str, Any]) -> dict[str, Any]:
    """What the slot says of its tensor instead of the bytes that say it, where they can be read."""
    fields = {name: value for name, value in fields.items() if name != "pad"}
    try:
        tensor = TensorHeader.decode(slot.header_bytes)
    except MessageError:
        return fields
    del fields["header_bytes"]
    shape = list(tensor.dims[: min(tensor.ndims, len(tensor.dims))])
    return {**fields, "dtype": tensor.dtype.name, "major_order": tensor.major_order.name, "shape": shape}


def _header_of(data: bytes | memoryview) -> dict[str, Any]:
    if len(data) < HEADER.size:
        return {"hex": bytes(data).hex()}
    block, template, schema, version = HEADER.unpack_from(data)
    return {"schema": schema, "template": template, "version": version, "block_length": block}


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it: enums by name, bytes as hexadecimal digits, all of it bounded."""
    if depth > _DEPTH_MAX:
        return "..."
    if isinstance(value, IntEnum):
        return value.name
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= _TEXT_SHOWN else f"{value[:_TEXT_SHOWN]}..."
    if isinstance(value, bytes | bytearray | memoryview):
        shown = bytes(value[:_BYTES_SHOWN]).hex()
        return shown if len(value) <= _BYTES_SHOWN else f"{shown}... ({len(value)} bytes)"
    if dataclasses.is_dataclass(value):
        return {each.name: plain(getattr(value, each.name), depth + 1) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, depth + 1) for inner in value]
    return str(value)
