# SPDX-License-Identifier: Apache-2.0
"""Recordings as files, made by the Python writer of MCAP, which shares nothing with ours."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from framegate.schema import Message
from framegate.schema.wire import FrameDescriptor, SlotHeader
from framegate.tools.inspect.seen import Seen
from mcap.writer import CompressionType, Writer

LEFT, RIGHT = 10_001, 10_002
EPOCH = 77
START_NS = 1_700_000_000_000_000_000


def descriptor(seq: int, *, stream: int = LEFT, timestamp_ns: int | None = None, epoch: int = EPOCH) -> FrameDescriptor:
    return FrameDescriptor(
        stream_id=stream,
        epoch=epoch,
        seq=seq,
        timestamp_ns=1_000 * seq if timestamp_ns is None else timestamp_ns,
        meta_version=None,
        trace_id=None,
    )


def slot_header(seq: int, length: int, timestamp_ns: int) -> SlotHeader:
    return SlotHeader(
        seq_commit=seq << 1 | 1,
        values_len_bytes=length,
        payload_slot=seq % 8,
        pool_id=1,
        payload_offset=0,
        timestamp_ns=timestamp_ns,
        meta_version=0,
        pad=bytes(26),
        header_bytes=bytes(192),
    )


@dataclass
class Made:
    """What is put into a file, and the file."""

    compression: CompressionType = CompressionType.NONE
    chunk_size: int = 2000
    is_ours: bool = True
    is_checked: bool = True
    """Whether chunks have check sums; without, what is spoilt within them is looked at."""
    is_chunked: bool = True
    is_one_time_a_frame: bool = False
    """Whether a frame's messages have one log time, as in a recording."""
    complete: bool = True
    step_ns: int = 1_000
    """From the log time of one message to the next."""
    about: dict[str, str] = field(default_factory=dict)
    """More of what the file says of itself."""
    streams: dict[int, dict[str, Any]] = field(default_factory=dict)

    def file(self, messages: Iterable[tuple[str, Message | bytes]], *, finish: bool = True) -> bytes:
        """An MCAP file of (topic, message), ``step_ns`` apart."""
        stream = io.BytesIO()
        writer = Writer(
            stream,
            chunk_size=self.chunk_size,
            compression=self.compression,
            use_chunking=self.is_chunked,
            enable_crcs=self.is_checked,
        )
        writer.start("framegate", "test")
        if self.is_ours:
            writer.add_metadata("framegate/recording", {"version": "1", "streams": f"{LEFT},{RIGHT}", **self.about})
        channels: dict[str, int] = {}
        seq, at = 0, START_NS
        for index, (topic, message) in enumerate(messages):
            if topic not in channels:
                is_sbe = not isinstance(message, bytes) or topic.endswith(("/FrameDescriptor", "/SlotHeader"))
                encoding = "sbe" if is_sbe else "raw"
                schema = writer.register_schema(topic.rpartition("/")[2], "sbe-xml", b"<xml/>")
                channels[topic] = writer.register_channel(topic, encoding, schema)
            data = message if isinstance(message, bytes) else message.encode()
            if not (self.is_one_time_a_frame and topic.endswith(("/SlotHeader", "/payload"))):
                at = START_NS + self.step_ns * index
            seq = getattr(message, "seq", seq)
            writer.add_message(channels[topic], at, data, at, seq & 0xFFFFFFFF)
        if finish:
            if self.is_ours:
                said = {f"stream/{number}": json.dumps(about) for number, about in self.streams.items()}
                writer.add_metadata("framegate/loss", {"complete": str(self.complete).lower(), **said})
            writer.finish()  # type: ignore[no-untyped-call]  # the package forgot this one
        return stream.getvalue()


def frames(count: int, *, stream: int = LEFT) -> list[tuple[str, Message | bytes]]:
    """Descriptors, slot headers and payloads as a recorder writes them."""
    found: list[tuple[str, Message | bytes]] = []
    for seq in range(count):
        found.append((f"stream/{stream}/FrameDescriptor", descriptor(seq, stream=stream)))
        found.append((f"stream/{stream}/SlotHeader", slot_header(seq, 64, 1_000 * seq)))
        found.append((f"stream/{stream}/payload", bytes([seq % 256]) * 64))
    return found


def frame_seen(stream: int, seq: int, timestamp_ns: int, arrival_ns: int | None = None) -> Seen:
    """A descriptor as statistics take it."""
    return Seen(
        kind="FrameDescriptor",
        stream=stream,
        seq=seq,
        epoch=EPOCH,
        timestamp_ns=timestamp_ns,
        log_time_ns=timestamp_ns + 1_000 if arrival_ns is None else arrival_ns,
    )
