# SPDX-License-Identifier: Apache-2.0
"""``framegate journal unmatched``: prints the frames that are in no row, as counts by input and cause or as ranges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.journal.causes import EXPLAINED, Cause, surplus
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.removed import removed
from framegate.schema.console.quantities import count, local_time, stamp
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import GrowingTable, print_table
from framegate.schema.errors import DONE

_TOGETHER = 4096


def show_unmatched(directory: Path, *, ranges: bool, as_json: bool) -> int:
    """Print the counts, or each range of frames; return the exit code."""
    journal = Journal(directory)
    if ranges:
        _ranges(journal, as_json=as_json)
    else:
        _counts(journal, as_json=as_json)
    return DONE


def _counts(journal: Journal, *, as_json: bool) -> None:
    counted = list(_counted(journal))
    left_over = _surplus(journal, counted)
    if as_json:
        for each in counted:
            emit({"event": "unmatched", **each})
        emit({"event": "summary", "frames": sum(each["frames"] for each in counted), "surplus": left_over})
        return
    if counted:
        lines = [_line(each, is_surplus=left_over[each["input"]] > 0) for each in counted]
        print_table(("input", "cause", "frames", "removed", "what happened"), lines)
    _sum_up(counted, left_over)


def _line(each: dict[str, Any], *, is_surplus: bool) -> list[str]:
    cause = each["cause"]
    is_known = cause in Cause.__members__.values()
    text = EXPLAINED[Cause(cause)] if is_known else "this version does not know the cause"
    more = surplus({cause: 1}, is_joined=is_surplus)
    what = f"surplus: {text}" if more else text
    return [each["input"], cause, count(each["frames"]), count(each["removed_frames"]), what]


def _sum_up(counted: list[dict[str, Any]], left_over: dict[str, int]) -> None:
    frames = {name: sum(each["frames"] for each in counted if each["input"] == name) for name in left_over}
    missing = {name: frames[name] - left_over[name] for name in frames}
    said = ", ".join(f"{name} {count(missing[name])}" for name in missing if missing[name]) or "none"
    more = ", ".join(f"{name} {count(left_over[name])}" for name in left_over if left_over[name])
    print(f"not joined: {said}{f'; surplus: {more}' if more else ''}")
    if any(each["removed_frames"] for each in counted):
        print("removed: frames whose entries retention has dropped, which unmatched/retired.json counts")


def _counted(journal: Journal) -> Iterator[dict[str, Any]]:
    """Frames by input and cause, including those that retention has removed."""
    there = journal.unmatched_counts()
    gone = removed(journal.path, "unmatched", journal.journal_epoch).frames
    for name in [each.name for each in journal.info.inputs]:
        causes, dropped = there.get(name, {}), dict(gone.get(name, {}))
        for cause in sorted({*causes, *dropped}):
            away = dropped.get(cause, 0)
            yield {
                "input": name,
                "cause": cause,
                "frames": causes.get(cause, 0) + away,
                "removed_frames": away,
            }


def _surplus(journal: Journal, counted: list[dict[str, Any]]) -> dict[str, int]:
    inputs = [each.name for each in journal.info.inputs]
    joined = _joined(journal, inputs) if counted else set()
    return {
        name: surplus(
            {each["cause"]: each["frames"] for each in counted if each["input"] == name}, is_joined=name in joined
        )
        for name in inputs
    }


def _joined(journal: Journal, inputs: list[str]) -> set[str]:
    """The inputs that have a frame in some row."""
    gone = removed(journal.path, "rows", journal.journal_epoch)
    found = {name for name in inputs if gone.frames_of(name)}
    for batch in journal.batches(on_loss="skip"):
        if len(found) == len(inputs):
            break
        for name in set(inputs) - found:
            status = batch.record_batch.column(name).field("status")
            if pc.any(pc.equal(status, "present")).as_py():
                found.add(name)
    return found


def _ranges(journal: Journal, *, as_json: bool) -> None:
    entries: pa.Table = journal.unmatched()
    table = GrowingTable(("input", "epoch", "frames", "time", "output", "noted at", "cause"))
    for batch in entries.to_batches(max_chunksize=_TOGETHER):
        found = batch.to_pylist()
        if as_json:
            for each in found:
                emit({"event": "unmatched_range", **each})
        else:
            table.print(_range_line(each, journal.info.realtime_minus_monotonic_ns) for each in found)
    if as_json:
        emit({"event": "summary", "ranges": entries.num_rows})


def _range_line(each: dict[str, Any], behind_ns: int) -> list[str]:
    first, last = each["seq"], each["seq_last"]
    frames = "-" if first is None else f"#{first}" if last in (None, first) else f"#{first} to #{last}"
    output = "-" if each["out_seq"] is None else str(each["out_seq"])
    epoch = "-" if each["epoch"] is None else str(each["epoch"])
    noted_ns = each["at_ns"]
    time = stamp(each["timestamp_ns"], near_ns=noted_ns, behind_ns=behind_ns)
    return [each["input"], epoch, frames, time, output, local_time(noted_ns), each["cause"]]
