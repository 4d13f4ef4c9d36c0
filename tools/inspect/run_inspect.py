# SPDX-License-Identifier: Apache-2.0
"""``framegate inspect``: show what is there, and say whether it is all of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

from framegate.recording.source import Source
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE, RecordingIncomplete, WrongUsage
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.inspect.content import Content, is_live
from framegate.tools.inspect.filters import Filter
from framegate.tools.inspect.live import live
from framegate.tools.inspect.options import InspectOptions
from framegate.tools.inspect.printing import clean, line
from framegate.tools.inspect.seen import Seen
from framegate.tools.inspect.statistics import Statistics
from framegate.tools.inspect.suggest import suggest


def run(options: InspectOptions) -> int:
    """Inspect; the exit code. Raises ``RecordingIncomplete`` where that was asked for."""
    if options.suggest and options.json:
        raise WrongUsage("--suggest prints a join.toml: leave --json out")
    statistics = Statistics() if options.stats or options.suggest else None
    with StopSignal() as stop:
        if is_live(options.source):
            shown = _show(options, live(options, stop), stop, statistics)
            recording = None
        else:
            with Content.open(options.source) as content:
                shown = _show(options, content, stop, statistics)
                recording = content.recording
    if statistics is not None:
        _say_statistics(options, statistics)
    return _end(options, shown, recording)


def _show(
    options: InspectOptions, source: Iterable[Seen | None], stop: StopSignal, statistics: Statistics | None
) -> int:
    wanted = Filter(options)
    shown = 0
    for seen in source:
        if stop.is_set:
            break
        if seen is None:
            # Nothing comes: whoever reads these lines has them all.
            sys.stdout.flush()
            continue
        if not wanted.admits(seen):
            continue
        shown += 1
        if statistics is not None:
            statistics.take(seen)
        elif options.json:
            print(json.dumps(seen.as_object(), ensure_ascii=True))
        else:
            print(line(seen))
        if options.limit and shown >= options.limit:
            break
    return shown


def _end(options: InspectOptions, shown: int, recording: Source | None) -> int:
    """Whether a recording has everything; said of what was read of it."""
    if recording is None:
        if options.json:
            emit({"event": "summary", "messages": shown})
        return DONE
    # What was not read to its end says nothing of its losses.
    is_read = recording.damage is not None or recording.loss is not None or not options.limit
    is_complete = recording.is_complete if is_read else None
    if options.json:
        emit(
            {
                "event": "summary",
                "messages": shown,
                "complete": is_complete,
                "damage": recording.damage,
                "damaged_chunks": recording.damaged_chunks,
                "library": recording.library,
                "recording": recording.about,
                "loss": recording.loss,
            }
        )
    elif is_complete is False and not options.suggest:
        for text in _why(recording):
            print(clean(f"INCOMPLETE: {text}"))
    if options.strict and is_complete is False:
        raise RecordingIncomplete("; ".join(_why(recording)), path=options.source)
    return DONE


def _why(recording: Source) -> list[str]:
    found = []
    if recording.damage is not None:
        found.append(recording.damage)
    if recording.damaged_chunks:
        found.append(f"{recording.damaged_chunks} chunks are damaged")
    for stream, said in (recording.loss or {}).get("streams", {}).items():
        found += [f"stream {stream}: {text}" for text in _losses(said)]
    lost_messages = (recording.loss or {}).get("lost_messages", "0")
    if lost_messages not in ("0", ""):
        found.append(f"{lost_messages} other messages found no room")
    return found or ["the recording was not ended in good order"]


def _losses(said: dict[str, Any]) -> list[str]:
    found = []
    epochs = said.get("epochs")
    for epoch in epochs if isinstance(epochs, list) else []:
        for part in ("frames", "payloads"):
            lost = epoch.get(f"lost_{part}") if isinstance(epoch, dict) else None
            for cause, count in (lost if isinstance(lost, dict) else {}).items():
                if cause != "not_announced":
                    found.append(f"{count} {part} {cause}")
    return found


def _say_statistics(options: InspectOptions, statistics: Statistics) -> None:
    report = statistics.report()
    if options.suggest:
        print(suggest(report), end="")
    elif options.json:
        emit({"event": "statistics", **report})
    else:
        _print_tables(report)


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


def _print_tables(report: dict[str, Any]) -> None:
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


def _us(spread: dict[str, int] | None) -> str:
    return "-" if spread is None else f"{spread['p50'] / 1000:.1f}/{spread['p99'] / 1000:.1f}"
