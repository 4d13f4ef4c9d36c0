# SPDX-License-Identifier: Apache-2.0
"""Statistics as tables for people."""

from __future__ import annotations

from typing import Any

from framegate.schema.console.quantities import NONE, byte_size, count, rounded
from framegate.schema.console.terminal import print_table
from framegate.shmpool.client.stream_names import stream_text
from framegate.tools.inspect.printing import clean

_STREAM_COLUMNS = (
    "stream",
    "frames",
    "rate",
    "gaps",
    "missing",
    "interval p50",
    "interval p99",
    "jitter p50",
    "jitter p99",
    "smallest",
    "largest",
    "time",
)
_SKEW_COLUMNS = (
    "streams",
    "nearest p50",
    "nearest p99",
    "same seq p50",
    "same seq p99",
    "seq offset",
    "of frames",
    "arrival p99",
)


def print_tables(report: dict[str, Any]) -> None:
    """One of streams, one of their pairs."""
    if report["streams"]:
        print_table(_STREAM_COLUMNS, [_stream(stream, each) for stream, each in report["streams"].items()])
    else:
        print("no frames of streams")
    skew = [_pair(pair) for pair in report["skew"]]
    if skew:
        print()
        print_table(_SKEW_COLUMNS, skew)
    if report["unread"]:
        print(clean(f"{count(report['unread'])} messages cannot be read, the first: {report['first_problem']}"))


def _stream(stream: int, each: dict[str, Any]) -> list[str]:
    sizes = each["payload_bytes"] if each["payloads"] else {"least": None, "most": None}
    return [
        stream_text(stream, {} if each["name"] is None else {stream: each["name"]}),
        count(each["frames"]),
        NONE if each["rate_hz"] is None else f"{each['rate_hz']:,.2f} Hz",
        count(each["gaps"]),
        count(each["missing"]),
        *_spread(each["interval_ns"]),
        *_spread(each["jitter_ns"]),
        byte_size(sizes["least"]),
        byte_size(sizes["most"]),
        each["time"],
    ]


def _pair(pair: dict[str, Any]) -> list[str]:
    return [
        f"{pair['streams'][0]} {pair['streams'][1]}",
        *_spread(pair["nearest_ns"]),
        *_spread(pair["same_seq_ns"]),
        str(pair["seq_offset"]),
        f"{pair['seq_offset_share']:.1%}",
        rounded(pair["arrival_ns"]["p99"]),
    ]


def _spread(spread: dict[str, int] | None) -> tuple[str, str]:
    return (NONE, NONE) if spread is None else (rounded(spread["p50"]), rounded(spread["p99"]))
