# SPDX-License-Identifier: Apache-2.0
"""Statistics as tables for people."""

from __future__ import annotations

from typing import Any

from framegate.schema.console.terminal import print_table
from framegate.tools.inspect.printing import clean

_STREAM_COLUMNS = (
    "stream",
    "frames",
    "rate Hz",
    "gaps",
    "missing",
    "interval p50/p99 us",
    "jitter p50/p99 us",
    "bytes least/most",
    "time",
)
_SKEW_COLUMNS = ("streams", "nearest p50/p99 us", "same seq p50/p99 us", "seq offset", "of frames", "arrival p99 us")


def print_tables(report: dict[str, Any]) -> None:
    """One of streams, one of their pairs."""
    streams = [
        (
            str(stream),
            str(each["frames"]),
            "-" if each["rate_hz"] is None else f"{each['rate_hz']:.2f}",
            str(each["gaps"]),
            str(each["missing"]),
            _us(each["interval_ns"]),
            _us(each["jitter_ns"]),
            f"{each['payload_bytes']['least']}/{each['payload_bytes']['most']}" if each["payloads"] else "-",
            each["time"],
        )
        for stream, each in report["streams"].items()
    ]
    print_table(_STREAM_COLUMNS, streams)
    skew = [
        (
            f"{pair['streams'][0]} {pair['streams'][1]}",
            _us(pair["nearest_ns"]),
            _us(pair["same_seq_ns"]),
            str(pair["seq_offset"]),
            f"{pair['seq_offset_share']:.1%}",
            f"{pair['arrival_ns']['p99'] / 1000:.1f}",
        )
        for pair in report["skew"]
    ]
    if skew:
        print()
        print_table(_SKEW_COLUMNS, skew)
    if report["unread"]:
        print(clean(f"{report['unread']} messages cannot be read, the first: {report['first_problem']}"))


def _us(spread: dict[str, int] | None) -> str:
    return "-" if spread is None else f"{spread['p50'] / 1000:.1f}/{spread['p99'] / 1000:.1f}"
