# SPDX-License-Identifier: Apache-2.0
"""Statistics as tables for people, which a terminal of 80 columns has room for."""

from __future__ import annotations

from typing import Any

from framegate.schema.console.quantities import NONE, byte_size, count, duration, rate
from framegate.schema.console.terminal import print_table
from framegate.shmpool.client.stream_names import stream_called
from framegate.tools.inspect.printing import clean

_STREAM_COLUMNS = ("stream", "frames", "rate", "gaps", "missing", "smallest", "largest")
_TIME_COLUMNS = ("stream", "interval p50", "interval p99", "jitter p50", "jitter p99", "time")
_SKEW_COLUMNS = (
    "streams",
    "nearest p50",
    "nearest p99",
    "same seq p50",
    "same seq p99",
    "seq offset",
    "arrival p99",
)


def print_tables(report: dict[str, Any]) -> None:
    """Of streams, of their times, and of their pairs."""
    streams = report["streams"]
    if streams:
        print_table(_STREAM_COLUMNS, [_stream(stream, each) for stream, each in streams.items()])
        print()
        print_table(_TIME_COLUMNS, [_times(stream, each) for stream, each in streams.items()])
    else:
        print("no frames of streams")
    skew = [_pair(pair, streams) for pair in report["skew"]]
    if skew:
        print()
        print_table(_SKEW_COLUMNS, skew)
    if report["unread"]:
        print(clean(f"{count(report['unread'])} messages cannot be read, the first: {report['first_problem']}"))


def _stream(stream: int, each: dict[str, Any]) -> list[str]:
    sizes = each["payload_bytes"] if each["payloads"] else {"least": None, "most": None}
    return [
        stream_called(stream, each["name"]),
        count(each["frames"]),
        rate(each["rate_hz"]),
        count(each["gaps"]),
        count(each["missing"]),
        byte_size(sizes["least"]),
        byte_size(sizes["most"]),
    ]


def _times(stream: int, each: dict[str, Any]) -> list[str]:
    return [
        stream_called(stream, each["name"]),
        *_spread(each["interval_ns"]),
        *_spread(each["jitter_ns"]),
        each["time"],
    ]


def _pair(pair: dict[str, Any], streams: dict[int, dict[str, Any]]) -> list[str]:
    return [
        " ".join(streams[stream]["name"] or str(stream) for stream in pair["streams"]),
        *_spread(pair["nearest_ns"]),
        *_spread(pair["same_seq_ns"]),
        f"{pair['seq_offset']} ({pair['seq_offset_share']:.0%})",
        duration(pair["arrival_ns"]["p99"], digits=3),
    ]


def _spread(spread: dict[str, int] | None) -> tuple[str, str]:
    return (NONE, NONE) if spread is None else (duration(spread["p50"], digits=3), duration(spread["p99"], digits=3))
