# SPDX-License-Identifier: Apache-2.0
"""``framegate produce``: publish synthetic or scheduled frames on one stream."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from framegate.schema.console.quantities import byte_size, count, rounded
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, NotAttached, WrongUsage
from framegate.shmpool.client.attach_progress import attach_progress
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.options import ClientOptions
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.commands.pattern import PatternName, Payloads, flat_bytes, payloads
from framegate.shmpool.commands.schedule import Step, read_schedule
from framegate.shmpool.commands.sent_log import SentLog
from framegate.shmpool.producer.audience_wait import wait_for_consumers
from framegate.shmpool.producer.predecessor import attached_behind_predecessor
from framegate.shmpool.producer.producer import DEFAULT_PIPELINE, Producer
from framegate.shmpool.stop_signal import StopSignal

from framegate._native import FrameClaim

ClockName = Literal["monotonic", "realtime"]
_WAIT_SLICE_S: Final = 0.1
_LINGER_S: Final = 0.25
"""How long to wait after the end, so that consumers can read what is in the stream before the epoch goes."""
_PROGRESS_NS: Final = 1_000_000_000
DTYPES: Final = (
    *("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float32", "float64", "bool"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceOptions(ClientOptions):
    """The options of the command line; None for one that was not given."""

    stream: int
    rate: float | None = None
    max_rate: bool = False
    count: int | None = None
    shape: tuple[int, ...] = (480, 640)
    dtype: str = "uint8"
    pattern: PatternName = "counter"
    lag: int = 0
    wait_consumers: int = 0
    end: bool = False
    schedule: Path | None = None
    sent_log: Path | None = None
    descriptor_stream: int | None = None
    pipeline: str = DEFAULT_PIPELINE
    barrier_interval_ms: float | None = None
    clock: ClockName | None = None


@dataclass(slots=True)
class _Run:
    options: ProduceOptions
    producer: Producer
    stop: StopSignal
    log: SentLog | None = None
    frames: int = 0
    refused: int = 0
    """How many frames were due while there was no lease."""
    began_ns: int = field(default_factory=monotonic_ns)
    shown_at_ns: int = 0

    def wait_until(self, at_ns: int) -> bool:
        """Wait until a moment. Returns False if told to stop before."""
        while (left_ns := at_ns - monotonic_ns()) > 0:
            if self.stop.wait(min(left_ns / 1e9, _WAIT_SLICE_S)):
                return False
        return not self.stop.is_set

    def publish(
        self,
        fill: Callable[[FrameClaim], None],
        timestamp_ns: int | None,
        *,
        descriptor_timestamp_ns: int | None = None,
        seq: int | None = None,
    ) -> None:
        """Publish one frame, and note it in the log of sent frames."""
        with self.producer.claim(timestamp_ns, descriptor_timestamp_ns=descriptor_timestamp_ns, seq=seq) as slot:
            fill(slot)
        self.frames += 1
        if self.log is not None:
            self.log.note(self.options.stream, slot.epoch, slot.seq, timestamp_ns)

    def wait_attached(self) -> bool:
        """Wait for the next lease, after one was lost. Returns False if told to stop before."""
        while not self.producer.is_attached:
            if self.stop.wait(_WAIT_SLICE_S):
                return False
        return True

    def show_progress(self) -> None:
        """Print a line a second for people."""
        now_ns = monotonic_ns()
        if self.options.json or not sys.stderr.isatty() or now_ns < self.shown_at_ns:
            return
        self.shown_at_ns = now_ns + _PROGRESS_NS
        rate = self.frames / max((now_ns - self.began_ns) / 1e9, 1e-9)
        stream = self.producer.stream_text
        print(f"\rstream {stream}: {count(self.frames)} frames, {rate:,.0f}/s ", end="", file=sys.stderr)

    def summary(self) -> dict[str, Any]:
        """What was done."""
        seconds = (monotonic_ns() - self.began_ns) / 1e9
        counters = self.producer.counters()
        return {
            "event": "summary",
            "stream": self.options.stream,
            "seconds": round(seconds, 6),
            **counters,
            "refused": self.refused,
        }


def run(options: ProduceOptions) -> int:
    """Produce until done or told to end. Returns the exit code."""
    _check(options)
    pattern = payloads(
        options.pattern, stream=options.stream, shape=options.shape, dtype=options.dtype, lag=options.lag
    )
    steps = read_schedule(options.schedule) if options.schedule else None
    with (
        ExitStack() as files,
        StopSignal() as stop,
        options.connect() as client,
        _attached(client, options, stop) as producer,
    ):
        log = files.enter_context(SentLog(options.sent_log)) if options.sent_log else None
        produced = _Run(options, producer, stop, log)
        stop.listen()
        _say_ready(options, producer)
        if wait_for_consumers([producer], options.wait_consumers, stop):
            produced.began_ns = monotonic_ns()
            _play(produced, steps) if steps is not None else _synthesise(produced, pattern)
        summary = produced.summary()
        if options.end and not stop.is_set and producer.is_attached:
            producer.end()
            stop.wait(_LINGER_S)
        _say_summary(options, summary)
    return DONE


def _check(options: ProduceOptions) -> None:
    """Raise usage errors for mistakes on the command line, before a driver is asked for anything."""
    if options.rate is not None and not math.isfinite(options.rate):
        raise WrongUsage(f"--rate takes frames a second, not {options.rate}; as fast as it goes is --max-rate")
    if options.dtype not in DTYPES:
        raise WrongUsage(f"--dtype {options.dtype!r} is none of {', '.join(DTYPES)}")
    if options.lag and options.pattern != "moving":
        raise WrongUsage(f"--lag is of --pattern moving, not of {options.pattern}")


def _attached(client: Client, options: ProduceOptions, stop: StopSignal) -> Producer:
    def attach() -> Producer:
        return client.producer(
            options.stream,
            shape=options.shape,
            dtype=options.dtype,
            descriptor_stream=options.descriptor_stream,
            pipeline=options.pipeline,
            barrier_interval_s=_seconds(options.barrier_interval_ms),
            clock=options.clock,
            wait_s=0,
        )

    with attach_progress(client, options.stream, as_json=options.json):
        return attached_behind_predecessor(attach, stop.wait)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1e3


def _synthesise(run: _Run, pattern: Payloads) -> None:
    options = run.options
    interval_ns = 0 if options.rate is None else int(1e9 / options.rate)
    stamp_ns = realtime_ns if options.clock == "realtime" else monotonic_ns
    next_ns = monotonic_ns()
    while options.count is None or run.frames < options.count:
        if interval_ns and not run.wait_until(next_ns):
            return
        if run.stop.is_set:
            return
        next_ns += interval_ns
        try:
            run.publish(lambda slot: pattern.fill(flat_bytes(slot.array), slot.seq), stamp_ns())
        except NotAttached:
            if not run.wait_attached():
                return
            missed = _due(next_ns, interval_ns, monotonic_ns())
            run.refused += 1 + missed
            # Go on at the present: frames that a camera could not deliver do not come later in a burst.
            next_ns += missed * interval_ns
            continue
        run.show_progress()


def _due(next_ns: int, interval_ns: int, now_ns: int) -> int:
    """How many frames were due from ``next_ns`` until now.

    >>> _due(100, 10, 125), _due(100, 10, 99), _due(100, 0, 125)
    (3, 0, 0)
    """
    return max(0, (now_ns - next_ns) // interval_ns + 1) if interval_ns else 0


def _play(run: _Run, steps: list[Step]) -> None:
    start_ns = monotonic_ns()
    for step in steps:
        if not run.wait_until(start_ns + int(step.at_ms * 1e6)):
            return
        for send in _sends(run, step):
            if not _persist(run, send):
                return
        run.show_progress()


def _sends(run: _Run, step: Step) -> Iterator[Callable[[], object]]:
    """The calls that send what a row of the schedule contains, in order."""
    producer = run.producer
    if step.seq is not None:
        value = 0 if step.fill is None else step.fill

        def fill(slot: FrameClaim) -> None:
            flat_bytes(slot.array)[:] = value

        yield lambda: run.publish(
            fill, step.timestamp_ns, descriptor_timestamp_ns=step.descriptor_timestamp_ns, seq=step.seq
        )
    watermark_ms, checkpoint_id = step.watermark_ms, step.barrier
    if watermark_ms is not None:
        yield lambda: producer.watermark(watermark_ms)
    if checkpoint_id is not None:
        yield lambda: producer.barrier(checkpoint_id)


def _persist(run: _Run, send: Callable[[], object]) -> bool:
    """Send. Returns False if told to stop while there was no lease."""
    while True:
        try:
            send()
        except NotAttached:
            if not run.wait_attached():
                return False
        else:
            return True


def _say_ready(options: ProduceOptions, producer: Producer) -> None:
    if options.json:
        emit({"event": "ready", "pid": os.getpid(), "stream": options.stream, "epoch": producer.epoch})


def _say_summary(options: ProduceOptions, summary: dict[str, Any]) -> None:
    if options.json:
        emit(summary)
        return
    if sys.stderr.isatty():
        print(file=sys.stderr)
    rate = summary["frames"] / max(summary["seconds"], 1e-9)
    lost, refused = summary["descriptors_lost"], summary["refused"]
    tail = f", {count(lost)} descriptors lost to a subscriber that does not keep up" if lost else ""
    tail += f", {count(refused)} refused while there was no lease" if refused else ""
    size, lasted = byte_size(summary["bytes"]), rounded(int(summary["seconds"] * 1e9))
    print(f"{count(summary['frames'])} frames, {size} in {lasted} ({rate:,.0f}/s){tail}")


def parse_shape(text: str) -> tuple[int, ...]:
    """Parse a shape such as ``480x640``.

    >>> parse_shape("480x640")
    (480, 640)
    """
    parts = text.lower().split("x")
    if not all(re.fullmatch("[0-9]{1,10}", part) for part in parts) or len(parts) > 8:
        raise WrongUsage(f"--shape takes up to 8 numbers joined by x, as in 480x640, not {text!r}")
    return tuple(int(part) for part in parts)
