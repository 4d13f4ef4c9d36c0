# SPDX-License-Identifier: Apache-2.0
"""``framegate record``: runs a recorder until its time, its frames or its streams are over, or it is told to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from framegate.recording.reader import Recording
from framegate.schema.console.progress import progress
from framegate.schema.console.quantities import byte_size, count, rounded
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, NoRoom, RecordingExists, RecordingFailed
from framegate.shmpool.client.stream_names import stream_text
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal, interruptible
from framegate.tools.record.options import RecordOptions
from framegate.tools.record.record_agent import RecordAgent

from framegate._native import recording_recover

_PROGRESS_NS: Final = 1_000_000_000
_NO_ROOM: Final = (
    "Free room there, or record to another file system; --compression zstd takes less. The file holds everything that "
    "was written before: `framegate inspect FILE` says what it lacks."
)


def run(options: RecordOptions) -> int:
    """Record. Returns the exit code. Raises ``NoRoom`` or ``RecordingFailed`` after the summary."""
    if options.out.exists():
        raise RecordingExists("the file is there already", path=options.out)
    with StopSignal() as stop, options.connect() as client:
        stop.listen()
        agent = RecordAgent(client, options)
        agent.attach(stop)
        try:
            if options.json:
                emit(_ready(options))
            shown_at_ns = monotonic_ns()
            while not stop.is_set and agent.work():
                shown_at_ns = _show_progress(options, agent, shown_at_ns)
        finally:
            summary = agent.close()
    names = client.names.by_number()
    for each in summary["streams"]:
        each["name"] = names.get(each["stream"])
    _say_summary(options, summary, names)
    if summary["no_room"]:
        raise NoRoom("the recording ended early", hint=_NO_ROOM, path=options.out)
    if summary["failure"] is not None:
        raise RecordingFailed(summary["failure"], path=options.out)
    return DONE


def recover(source: Path, target: Path | None, *, as_json: bool) -> int:
    """Make a complete recording from what is intact in another one. Returns the exit code."""
    target = target or source.with_name(f"{source.stem}.recovered.mcap")
    with Recording.open(source) as recording:
        name, size = source.name, recording.size
        with progress(f"look into {name}", lambda: recording.at, size, as_json=as_json):
            places = recording.places
        with progress(f"recover {name}", lambda: _size(target), recording.content_bytes, as_json=as_json):
            found = _copied(recording, source, target)
        with progress(f"check {name}", lambda: recording.at, size, as_json=as_json):
            for place in places:
                for _ in recording.messages_of(place):
                    pass
        lost = recording.lost
    if as_json:
        said = [asdict(each) for each in lost]
        emit({"event": "summary", "file": str(target), "source": str(source), **found, "lost": said})
        return DONE
    print(
        f"{target}: {count(found['messages'])} messages in {count(found['chunks'])} chunks; "
        f"{count(found['damaged_chunks'])} chunks were damaged, {byte_size(found['cut_bytes'])} at the end belong to "
        "nothing whole"
    )
    for each in lost:
        print(f"  {each}")
    return DONE


def _copied(recording: Recording, source: Path, target: Path) -> dict[str, Any]:
    """Copy what is intact. If Ctrl-C ends the copy, nothing is left of it."""
    cut = recording.lost[-1] if recording.damage is not None else None
    places = [(place.at, place.end) for place in recording.places]
    was_there = target.exists()
    copying = interruptible(
        lambda: recording_recover(
            source,
            target,
            places,
            gaps=recording.damaged_chunks,
            cut_bytes=None if cut is None else cut.end - cut.at,
        )
    )
    try:
        return copying.result()
    except KeyboardInterrupt:
        if not was_there:
            target.unlink(missing_ok=True)
        raise


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _ready(options: RecordOptions) -> dict[str, Any]:
    return {
        "event": "ready",
        "pid": os.getpid(),
        "file": str(options.out),
        "streams": list(options.streams),
        "payload": options.payload,
    }


def _show_progress(options: RecordOptions, agent: RecordAgent, shown_at_ns: int) -> int:
    now_ns = monotonic_ns()
    if options.json or not sys.stderr.isatty() or now_ns < shown_at_ns:
        return shown_at_ns
    totals = agent.totals()
    lost = totals["lost_frames"] + totals["lost_payloads"]
    print(
        f"\r{count(totals['frames'])} frames, {byte_size(totals['bytes'])}, {count(lost)} lost ",
        end="",
        file=sys.stderr,
    )
    return now_ns + _PROGRESS_NS


def _say_summary(options: RecordOptions, summary: dict[str, Any], names: Mapping[int, str]) -> None:
    if options.json:
        emit(summary)
        return
    if sys.stderr.isatty():
        print(file=sys.stderr)
    state = "complete" if summary["complete"] else "INCOMPLETE"
    print(
        f"{options.out}: {count(summary['frames'])} frames, {count(summary['payloads'])} payloads, "
        f"{count(summary['messages'])} other messages, {byte_size(summary['file_bytes'])} in "
        f"{rounded(int(summary['seconds'] * 1e9))}; {state}"
    )
    for stream in summary["streams"]:
        text = stream_text(stream["stream"], names)
        for epoch in stream["epochs"]:
            for part in ("frames", "payloads"):
                for cause, lost in epoch[f"lost_{part}"].items():
                    print(f"  stream {text}, epoch {epoch['epoch']}: {count(lost)} {part} {cause}")
