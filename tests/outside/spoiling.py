# SPDX-License-Identifier: Apache-2.0
"""Damage done to recordings of other programs, and which of their messages it costs."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from mcap.records import Channel, Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk

from tests.outside.traffic import Written

Key = tuple[str, int]


def chunks_of(path: Path) -> list[tuple[int, set[Key]]]:
    """Where each chunk of an MCAP file begins, and the messages in it by topic and log time."""
    topics: dict[int, str] = {}
    found = []
    data = path.read_bytes()
    with path.open("rb") as stream:
        reader = StreamReader(stream, emit_chunks=True)
        at = 0
        try:
            for record in reader.records:
                if not isinstance(record, Chunk):
                    continue
                inner = breakup_chunk(record)
                topics.update({each.id: each.topic for each in inner if isinstance(each, Channel)})
                keys = {(topics[each.channel_id], each.log_time) for each in inner if isinstance(each, Message)}
                at = data.index(record.data, at)
                found.append((at, keys))
        except Exception:
            return found
    return found


def without_chunk(path: Path, messages: Iterable[Written], index: int) -> list[Written]:
    """Overwrite some bytes of a chunk; the messages that remain."""
    at, lost = chunks_of(path)[index]
    data = bytearray(path.read_bytes())
    data[at + 100 : at + 200] = bytes(byte ^ 0xFF for byte in data[at + 100 : at + 200])
    path.write_bytes(data)
    return [each for each in messages if (each.topic, each.log_ns) not in lost]


def cut_off(path: Path, messages: Iterable[Written]) -> list[Written]:
    """Cut a third of a file off; the messages in the chunks that are whole."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    kept: set[Key] = set().union(*(keys for _, keys in chunks_of(path)))
    return [each for each in messages if (each.topic, each.log_ns) in kept]


def without_rest_of_bag(path: Path, messages: Iterable[Written], number: int) -> list[Written]:
    """Spoil the record of one message of a ROS 1 bag that is not packed; the messages before it."""
    ordered = sorted(messages, key=lambda each: each.log_ns)
    sec, nanosec = divmod(ordered[number].log_ns, 1_000_000_000)
    data = bytearray(path.read_bytes())
    at = data.index(b"time=" + struct.pack("<II", sec, nanosec))
    data[at : at + 5] = b"TIME?"
    path.write_bytes(data)
    return ordered[:number]
