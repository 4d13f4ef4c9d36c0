# SPDX-License-Identifier: Apache-2.0
"""A join.toml to begin with, made from what was measured. It joins no less than the defaults would.

Rows wait for every input (``lateness_ns`` is left at 0): how late frames arrive says how long rows wait, and a lateness
would let them go without the frames that they wait for.
"""

from __future__ import annotations

from typing import Any, Final

from framegate.joinbarrier.config.sections import JOURNAL_COLUMNS
from framegate.schema.console.quantities import rounded

_SHARE_OF_ONE_OFFSET: Final = 0.95
"""Above this, two streams are numbered in step, whatever else is known."""
_RATES_ALIKE: Final = 1.05
_STEADY_SHARE: Final = 0.25
"""Of a period: frames of one number that drift apart by less than that are those of cameras in lockstep."""
_MARGIN: Final = 1.5
_LEAST_NS: Final = 1_000_000
_OUT_OFFSET: Final = 10_000
_U32_MAX: Final = (1 << 32) - 2


def suggest(report: dict[str, Any]) -> str:
    """The text of the file, with the reason for every number in it; empty where there is nothing to join."""
    streams: dict[int, dict[str, Any]] = report["streams"]
    if not streams:
        return ""
    names = {stream: _name(stream, about) for stream, about in streams.items()}
    pairs = {tuple(pair["streams"]): pair for pair in report["skew"]}
    anchor = min(streams, key=lambda stream: (streams[stream]["rate_hz"] or 0.0, stream))
    lines = _by_sequence(streams, pairs, names) or _by_time(streams, pairs, names, anchor)
    return "".join(f"{line}\n" for line in lines)


def _name(stream: int, about: dict[str, Any]) -> str:
    """Of an input: its stream's, where that is no column of every journal."""
    name = about["name"]
    return f"stream_{stream}" if name is None or name in JOURNAL_COLUMNS else str(name)


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
    if len(streams) < 2 or not _are_alike(min(rates), max(rates)):
        return None
    reasons = {first: "the others are numbered from it"}
    offsets = {first: 0}
    for stream, about in streams.items():
        if stream != first:
            pair, sign = _pair_of(pairs, first, stream)
            reason = None if pair is None else _in_step(pair, streams[first], about)
            if pair is None or reason is None:
                return None
            offsets[stream], reasons[stream] = sign * pair["seq_offset"], reason
    lines = _head(streams, "sequence", "equal rates, and numbered in step")
    lines.append('drive = "counter"')
    for stream, offset in offsets.items():
        lines += ["", "[[input]]", f'name = "{names[stream]}"', f"stream = {stream}"]
        lines.append(f"offset = {offset}  # {reasons[stream]}")
    return lines


def _are_alike(slow: float, fast: float) -> bool:
    return slow > 0 and fast <= slow * _RATES_ALIKE


def _in_step(pair: dict[str, Any], first: dict[str, Any], second: dict[str, Any]) -> str | None:
    """Why two streams of one rate are numbered in step; None: they are not."""
    if pair["seq_offset_share"] >= _SHARE_OF_ONE_OFFSET:
        return f"nearest in time for {pair['seq_offset_share']:.1%} of frames"
    # Jitter makes another frame the nearest now and then; cameras in lockstep still keep their distance.
    period_ns = min(_period_ns(first), _period_ns(second))
    apart, is_whole = pair["in_step_ns"], max(first["epochs"], second["epochs"]) == 1
    if apart is None or not is_whole or apart["p99"] >= period_ns or pair["drift_ns"] >= period_ns * _STEADY_SHARE:
        return None
    return f"in step: {rounded(apart['p99'])} apart at p99, and they do not drift"


def _period_ns(about: dict[str, Any]) -> int:
    """Of frames one after the other."""
    rate: float = about["rate_hz"] or 0.0
    return int(1e9 / rate) if rate > 0 else 0


def _by_time(
    streams: dict[int, dict[str, Any]], pairs: dict[Any, dict[str, Any]], names: dict[int, str], anchor: int
) -> list[str]:
    """Rows at the slowest stream's frames: the nearest frame of those as fast, the newest from a window of others."""
    lines = _head(streams, "timestamp", "other rates, or not numbered in step")
    lines.append(f'drive = "input:{names[anchor]}"  # the slowest stream')
    clock = "realtime_synced" if streams[anchor]["clock"] == "realtime" else "monotonic"
    lines += ["", "[mergemap]", f'clock_domain = "{clock}"']
    for stream, about in streams.items():
        lines += ["", "[[input]]", f'name = "{names[stream]}"', f"stream = {stream}"]
        pair, _ = _pair_of(pairs, anchor, stream)
        if stream == anchor:
            lines.append("offset_ns = 0")
        elif _are_alike(streams[anchor]["rate_hz"] or 0.0, about["rate_hz"] or 0.0):
            lines += _nearest(about)
        else:
            lines.append(_window(about, pair))
        if pair is not None:
            lines.append(f"# its frames arrive {rounded(pair['arrival_ns']['p99'])} apart from the driving ones (p99)")
        lines.append(f'timestamp_source = "{_source(about["time"])}"')
    return lines


def _nearest(about: dict[str, Any]) -> list[str]:
    tolerance_ns = max(_period_ns(about) // 2 - 1, 1)
    return [
        "offset_ns = 0",
        'pick = "nearest"',
        "reuse = false",
        f"tolerance_ns = {tolerance_ns}  # below half a period: a frame has one partner at most",
    ]


def _window(about: dict[str, Any], pair: dict[str, Any] | None) -> str:
    interval = about["interval_ns"]["p99"] if about["interval_ns"] else 0
    skew = pair["nearest_ns"]["p99"] if pair is not None else 0
    return (
        f"window_ns = {_rounded(max(interval, 0) + skew)}  # interval p99 {rounded(interval)}, skew p99 {rounded(skew)}"
    )


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
