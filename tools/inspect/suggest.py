# SPDX-License-Identifier: Apache-2.0
"""A join.toml to begin with, made from what was measured."""

from __future__ import annotations

from typing import Any, Final

from framegate.tools.inspect.printing import clean

_SHARE_OF_ONE_OFFSET: Final = 0.95
"""Above this, two streams are numbered in step."""
_RATES_ALIKE: Final = 1.05
_MARGIN: Final = 1.5
_LEAST_NS: Final = 1_000_000
_OUT_OFFSET: Final = 10_000
_U32_MAX: Final = (1 << 32) - 2


def suggest(report: dict[str, Any]) -> str:
    """The text of the file, with the reason for every number in it. No keys where there is nothing to join."""
    streams: dict[int, dict[str, Any]] = report["streams"]
    if not streams:
        unread = report["unread"]
        why = clean(report["first_problem"])
        return f"# There is nothing to join: {unread} messages cannot be read, the first: {why}\n" if unread else ""
    names = {stream: f"stream_{stream}" for stream in streams}
    pairs = {tuple(pair["streams"]): pair for pair in report["skew"]}
    anchor = min(streams, key=lambda stream: (streams[stream]["rate_hz"] or 0.0, stream))
    lines = _by_sequence(streams, pairs, names) or _by_time(streams, pairs, names, anchor)
    return "".join(f"{line}\n" for line in lines)


def _head(streams: dict[int, dict[str, Any]], policy: str, reason: str) -> list[str]:
    out = min(max(streams) + _OUT_OFFSET, _U32_MAX)
    return [
        "# Made by `framegate inspect --suggest` from what was recorded; look at the reasons beside the numbers.",
        "[join]",
        f"out_stream = {out}",
        f'policy = "{policy}"  # {reason}',
        'journal = "out/joined"',
    ]


def _pair_of(pairs: dict[Any, dict[str, Any]], a: int, b: int) -> tuple[dict[str, Any] | None, int]:
    """What is known of two streams, and the sign that it has seen from the first."""
    if (a, b) in pairs:
        return pairs[a, b], 1
    return pairs.get((b, a)), -1


def _by_sequence(
    streams: dict[int, dict[str, Any]], pairs: dict[Any, dict[str, Any]], names: dict[int, str]
) -> list[str] | None:
    """Where all are numbered in step and equally fast."""
    first = min(streams)
    rates = [each["rate_hz"] or 0.0 for each in streams.values()]
    if len(streams) < 2 or min(rates) <= 0 or max(rates) > min(rates) * _RATES_ALIKE:
        return None
    offsets = {first: (0, 1.0)}
    for stream in streams:
        if stream != first:
            pair, sign = _pair_of(pairs, first, stream)
            if pair is None or pair["seq_offset_share"] < _SHARE_OF_ONE_OFFSET:
                return None
            offsets[stream] = (sign * pair["seq_offset"], pair["seq_offset_share"])
    lines = _head(streams, "sequence", "equal rates, and numbered in step")
    lines.append('drive = "counter"')
    for stream, (offset, share) in offsets.items():
        reason = "the others are numbered from it" if stream == first else f"nearest in time for {share:.1%} of frames"
        lines += ["", "[[input]]", f'name = "{names[stream]}"', f"stream = {stream}", f"offset = {offset}  # {reason}"]
    return lines


def _by_time(
    streams: dict[int, dict[str, Any]], pairs: dict[Any, dict[str, Any]], names: dict[int, str], anchor: int
) -> list[str]:
    """Rows at the slowest stream's frames, with the newest frame of each other from a window before."""
    lines = _head(streams, "timestamp", "other rates, or not numbered in step")
    lines.append(f'drive = "input:{names[anchor]}"  # the slowest stream')
    apart = [_pair_of(pairs, anchor, stream)[0] for stream in streams if stream != anchor]
    late = max((pair["arrival_ns"]["p99"] for pair in apart if pair is not None), default=0)
    lines += ["", "[mergemap]", 'clock_domain = "monotonic"', f"lateness_ns = {_rounded(late)}  # arrivals apart, p99"]
    for stream, about in streams.items():
        lines += ["", "[[input]]", f'name = "{names[stream]}"', f"stream = {stream}"]
        if stream == anchor:
            lines.append("offset_ns = 0")
        else:
            pair, _ = _pair_of(pairs, anchor, stream)
            interval = about["interval_ns"]["p99"] if about["interval_ns"] else 0
            skew = pair["nearest_ns"]["p99"] if pair is not None else 0
            window = _rounded(max(interval, 0) + skew)
            lines.append(f"window_ns = {window}  # interval p99 {interval}, skew p99 {skew}")
        lines.append(f'timestamp_source = "{_source(about["time"])}"')
    return lines


def _rounded(ns: float) -> int:
    """With a margin, to a number that people can read.

    >>> _rounded(0), _rounded(3_456_789)
    (1000000, 6000000)
    """
    wanted = max(int(ns * _MARGIN), _LEAST_NS)
    step: int = 10 ** (len(str(wanted)) - 1)
    return -(-wanted // step) * step


def _source(time: str) -> str:
    # What has no time of its own is stamped by the producer's slot header, if by anything.
    return "frame_descriptor" if time == "frame_descriptor" else "slot_header"
