# SPDX-License-Identifier: Apache-2.0
"""Recordings of another program, written by the plain ``mcap`` package, and the rows that a join of them must give."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mcap.writer import CompressionType, Writer

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000

Message = tuple[int, bytes]
"""Log time and payload."""


def ticks(count: int, period_ns: int, *, first_ns: int = START_NS, payload_bytes: int = 16) -> list[Message]:
    """Messages at a steady rate; the first bytes of each are its number."""
    return [(first_ns + k * period_ns, k.to_bytes(8, "little").ljust(payload_bytes, b"\0")) for k in range(count)]


def write_recording(
    path: Path,
    topics: Mapping[str, Sequence[Message]],
    *,
    is_by_topic: bool = False,
    chunk_bytes: int = 64 << 10,
    compression: CompressionType = CompressionType.NONE,
    is_chunked: bool = True,
    is_finished: bool = True,
) -> Path:
    """Write a file: in the order of the log times, or one topic after the other."""
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=chunk_bytes, compression=compression, use_chunking=is_chunked)
        writer.start("", "another program")
        channels = {topic: writer.register_channel(topic, "raw", 0) for topic in topics}
        said = [(topic, at, data) for topic, messages in topics.items() for at, data in messages]
        for number, (topic, at, data) in enumerate(said if is_by_topic else sorted(said, key=lambda each: each[1])):
            writer.add_message(channels[topic], at, data, at, number)
        if is_finished:
            writer.finish()  # type: ignore[no-untyped-call]  # the package forgot this one
    return path


def nearest_before(drive: Iterable[Message], other: Sequence[Message], tolerance_ns: int) -> list[tuple[int, int]]:
    """Row by row the numbers that an as-of join must take, found by looking at every message."""
    found = []
    for k, (at, _) in enumerate(drive):
        before = [n for n, (then, _) in enumerate(other) if then <= at and at - then <= tolerance_ns]
        if before:
            found.append((k, before[-1]))
    return found


def jittered(count: int, period_ns: int, seed: int, *, first_ns: int = START_NS) -> list[Message]:
    """Messages whose distances vary; no two have one time."""
    dice = random.Random(seed)
    at, found = first_ns, []
    for k in range(count):
        at += dice.randrange(period_ns // 2, period_ns * 3 // 2)
        found.append((at, k.to_bytes(8, "little") + bytes(dice.randrange(200))))
    return found
