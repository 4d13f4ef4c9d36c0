# SPDX-License-Identifier: Apache-2.0
"""``framegate consume``: print or count the frames of one stream, and check them."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from framegate.schema.console.quantities import byte_size, count
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, FAILED, TooFewFrames, WrongUsage
from framegate.shmpool.client.options import ClientOptions
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.pattern import PatternName, Payloads, flat_bytes, payloads
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.idle import WaitName
from framegate.shmpool.stop_signal import StopSignal

from framegate._native import Frame

_SLICE_S: Final = 0.05
_PROGRESS_NS: Final = 1_000_000_000
_PATTERNS_MAX: Final = 16
_Patterns: TypeAlias = dict[tuple[tuple[int, ...], str], Payloads | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeOptions(ClientOptions):
    """The options of the command line; None for one that was not given."""

    stream: int
    count: int | None = None
    verify: bool = False
    pattern: PatternName = "counter"
    lag: int = 0
    descriptor_stream: int | None = None
    idle: WaitName = "bell"


@dataclass(slots=True)
class _Tally:
    frames: int = 0
    bytes: int = 0
    overwritten: int = 0
    verify_errors: int = 0


def run(options: ConsumeOptions) -> int:
    """Consume until the stream's end, the count, or a signal. Returns the exit code."""
    tally = _Tally()
    with (
        StopSignal() as stop,
        options.connect() as client,
        client.consumer(options.stream, descriptor_stream=options.descriptor_stream, idle=options.idle) as consumer,
    ):
        stop.listen()
        if options.json:
            emit({"event": "ready", "pid": os.getpid(), "stream": options.stream, "epoch": consumer.epoch})
        began_ns = monotonic_ns()
        _consume(options, consumer, stop, tally)
        summary = _summary(options, consumer, tally, (monotonic_ns() - began_ns) / 1e9)
        was_stopped = stop.is_set
    _say_summary(options, summary)
    if not was_stopped:
        require_count(options, tally.frames)
    return FAILED if tally.verify_errors else DONE


def require_count(options: ConsumeOptions, have: int) -> None:
    """Raise ``TooFewFrames`` if fewer frames came than were asked for."""
    if options.count is not None and have < options.count:
        said = "the stream ended before so many frames had come"
        raise TooFewFrames(said, stream=options.stream, want=options.count, have=have)


def _consume(options: ConsumeOptions, consumer: Consumer, stop: StopSignal, tally: _Tally) -> None:
    patterns: _Patterns = {}
    shown_at_ns = 0
    while not stop.is_set and (options.count is None or tally.frames < options.count):
        frames = consumer.poll(timeout_s=_SLICE_S)
        if not frames and consumer.has_finished():
            return
        for frame in frames:
            _take(options, consumer, frame, patterns, tally)
            if tally.frames == options.count:
                return
        if options.json and frames:
            # Flushed once for each batch, because a program may be waiting for these lines.
            sys.stdout.flush()
        if not options.json and sys.stderr.isatty() and monotonic_ns() >= shown_at_ns:
            shown_at_ns = monotonic_ns() + _PROGRESS_NS
            print(f"\rstream {consumer.stream_text}: {count(tally.frames)} frames ", end="", file=sys.stderr)


def _take(options: ConsumeOptions, consumer: Consumer, frame: Frame, patterns: _Patterns, tally: _Tally) -> None:
    if options.verify and not _is_right(options, frame, patterns):
        # A payload that was overwritten while it was checked is late, not wrong.
        if not frame.is_valid():
            tally.overwritten += 1
            return
        tally.verify_errors += 1
        print(f"stream {consumer.stream_text}: frame {frame.seq} has the wrong payload", file=sys.stderr)
    tally.frames += 1
    tally.bytes += frame.nbytes
    if options.json:
        print(json.dumps(_described(frame)))


def _is_right(options: ConsumeOptions, frame: Frame, patterns: _Patterns) -> bool:
    # The counter pattern is a sequence of bytes, whatever the dtype is.
    key = (frame.shape, frame.dtype) if options.pattern == "moving" else ((frame.nbytes,), "uint8")
    if key not in patterns:
        if len(patterns) >= _PATTERNS_MAX:
            patterns.clear()
        patterns[key] = _payloads(options, *key)
    pattern = patterns[key]
    return pattern is not None and pattern.holds(flat_bytes(frame.array), frame.seq)


def _payloads(options: ConsumeOptions, shape: tuple[int, ...], dtype: str) -> Payloads | None:
    """The payloads to expect; None if the pattern makes no frames of this shape and dtype."""
    try:
        return payloads(options.pattern, stream=options.stream, shape=shape, dtype=dtype, lag=options.lag)
    except WrongUsage:
        return None


def _described(frame: Frame) -> dict[str, Any]:
    return {
        "stream": frame.stream_id,
        "seq": frame.seq,
        "epoch": frame.epoch,
        "timestamp_ns": frame.timestamp_ns,
        "dtype": frame.dtype,
        "shape": list(frame.shape),
        "bytes": frame.nbytes,
    }


def _summary(options: ConsumeOptions, consumer: Consumer, tally: _Tally, seconds: float) -> dict[str, Any]:
    counters = consumer.counters()
    return {
        "event": "summary",
        "stream": options.stream,
        "frames": tally.frames,
        "bytes": tally.bytes,
        "gap_drops": counters.get("gap_drops", 0),
        "late_drops": counters.get("late_drops", 0) + tally.overwritten,
        "verify_errors": tally.verify_errors,
        "seconds": round(seconds, 6),
    }


def _say_summary(options: ConsumeOptions, summary: dict[str, Any]) -> None:
    if options.json:
        emit(summary)
        return
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(
        f"{count(summary['frames'])} frames, {byte_size(summary['bytes'])}, {count(summary['gap_drops'])} never came, "
        f"{count(summary['late_drops'])} came and were overwritten, {count(summary['verify_errors'])} were wrong"
    )
