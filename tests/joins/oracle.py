# SPDX-License-Identifier: Apache-2.0
"""The rows of a worked join, from the whole history and the text of the rules: slow, and without any state machine.

A sequence or timestamp join does not depend on when frames arrive, as long as each input's own order holds; so every
output is looked at with all frames there. A latest join is played in the order of ``at_ms``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from framegate.joinbarrier.config.sections import InputSection
from framegate.shmpool.commands.schedule import Step

from tests.joins.scenario import Row, Scenario, Unmatched

NOT_READY, NO_FRAME = "not ready", "no frame"
EXTERNAL_TICKS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a join must have made."""

    rows: list[Row]
    unmatched: list[Unmatched]


def outcome(scenario: Scenario) -> Outcome:
    """Rows and leftovers."""
    if scenario.config.join.policy == "latest":
        return _latest(scenario)
    frames = {name: [step for step in steps if step.seq is not None] for name, steps in scenario.schedules().items()}
    by_seq = scenario.config.join.policy == "sequence"
    outputs = _numbers(scenario, frames) if by_seq else _times(scenario)
    rows: list[Row] = []
    lost: dict[tuple[str, int], str] = {}
    for out in outputs:
        picks = [_pick(scenario, each, frames[each.name], out) for each in scenario.config.input]
        if NOT_READY in picks:
            continue
        if NO_FRAME not in picks:
            rows.append(Row(out, tuple(picks)))
            continue
        for each, pick in zip(scenario.config.input, picks, strict=True):
            if isinstance(pick, int) and _is_bound(scenario, each):
                lost[each.name, pick] = "no_partner"
            elif isinstance(pick, int) and each.window_ns:
                lost.setdefault((each.name, pick), "no_match")
    return Outcome(rows, sorted(_leftovers(scenario, frames, rows, lost, outputs)))


def _numbers(scenario: Scenario, frames: dict[str, list[Step]]) -> range:
    """From the first output that every rule can satisfy, given each input's first frame, to where none is ready."""
    lows, last = [0], 0
    for each in scenario.config.input:
        first, newest = frames[each.name][0].seq or 0, frames[each.name][-1].seq or 0
        window, offset = each.window, each.offset or 0
        lows.append(max(window - 1, first) if window else first - offset)
        lows.append(0 if window else -offset)
        last = max(last, newest if window else newest - offset)
    return range(max(lows), last + 1)


def _times(scenario: Scenario) -> list[int]:
    drive = scenario.config.drive
    schedules = scenario.schedules()
    if drive.kind == "input":
        return [step.timestamp_ns for step in schedules[drive.input] if step.timestamp_ns is not None]
    if drive.kind == "watermark":
        return list(_watermarks(scenario, schedules))
    base_ns, period_ns = 1_700_000_000_000_000_000, 40_000_000
    return [base_ns + tick * period_ns for tick in range(1, EXTERNAL_TICKS)]


def _watermarks(scenario: Scenario, schedules: dict[str, list[Step]]) -> Iterator[int]:
    """The smallest of the inputs' watermarks, each time that it grows."""
    last: dict[str, int] = {}
    smallest = -1
    for name, step in _merged(schedules):
        if step.watermark_ms is not None:
            last[name] = step.watermark_ms
        if len(last) == len(scenario.config.input) and min(last.values()) > smallest:
            smallest = min(last.values())
            yield smallest * 1_000_000


def _merged(schedules: dict[str, list[Step]]) -> list[tuple[str, Step]]:
    return sorted(((name, step) for name, steps in schedules.items() for step in steps), key=lambda each: each[1].at_ms)


def _pick(scenario: Scenario, each: InputSection, frames: list[Step], out: int) -> int | str:
    if scenario.config.join.policy == "sequence":
        wanted = out if each.window else out + (each.offset or 0)
        low = out - each.window + 1 if each.window else wanted
        positions = [(frame.seq, frame.seq) for frame in frames]
        slack = 0
    else:
        wanted = out if each.window_ns else out + (each.offset_ns or 0)
        low = out - each.window_ns if each.window_ns else 0
        positions = [(frame.timestamp_ns, frame.seq) for frame in frames]
        slack = scenario.config.mergemap.lateness_ns
    places = [(place, seq) for place, seq in positions if place is not None and seq is not None]
    if wanted < 0 or low < 0 or max(place for place, _ in places) < wanted - slack:
        return NOT_READY
    found = [seq for place, seq in places if low <= place <= wanted]
    return found[-1] if found else NO_FRAME


def _is_bound(scenario: Scenario, each: InputSection) -> bool:
    """Whether a frame belongs to this one output, so that it is lost with it: others may be picked again."""
    if scenario.config.join.policy == "sequence":
        return each.window is None
    return scenario.config.drive.input == each.name


def _leftovers(
    scenario: Scenario,
    frames: dict[str, list[Step]],
    rows: list[Row],
    lost: dict[tuple[str, int], str],
    outputs: Iterable[int],
) -> Iterator[Unmatched]:
    for index, each in enumerate(scenario.config.input):
        picked = {row.inputs[index] for row in rows}
        newest = max(seq for seq in picked if isinstance(seq, int))
        exact = scenario.config.join.policy == "sequence" and each.window is None
        first = rows[0].out + (each.offset or 0) if exact else 0
        causes = []
        for frame in frames[each.name]:
            seq = frame.seq or 0
            if seq in picked:
                continue
            if cause := lost.get((each.name, seq)):
                causes.append((seq, cause))
            elif seq < first:
                causes.append((seq, "before_first"))
            elif each.window_ns and not _is_in_a_window(each, frame, outputs):
                causes.append((seq, "before_window" if seq < newest else "pending_at_end"))
            else:
                causes.append((seq, "superseded" if seq < newest else "pending_at_end"))
        yield from _ranges(each.name, causes)


def _is_in_a_window(each: InputSection, frame: Step, outputs: Iterable[int]) -> bool:
    return any(0 <= out - (frame.timestamp_ns or 0) <= (each.window_ns or 0) for out in outputs)


def _ranges(name: str, causes: Iterable[tuple[int, str]]) -> Iterator[Unmatched]:
    """Frames without a gap in their numbers that share a cause are one line."""
    numbered = ((seq - count, seq, cause) for count, (seq, cause) in enumerate(causes))
    for (_, cause), run in groupby(numbered, key=lambda each: (each[0], each[2])):
        seqs = [seq for _, seq, _ in run]
        yield Unmatched(name, seqs[0], seqs[-1], cause)


def _latest(scenario: Scenario) -> Outcome:
    config = scenario.config
    newest: dict[str, tuple[int, float]] = {}
    used: set[tuple[str, int]] = set()
    rows: list[Row] = []
    stale_ms = config.mergemap.stale_timeout_ms or float("inf")
    for name, step in _merged(scenario.schedules()):
        newest[name] = step.seq or 0, step.at_ms
        missing = [each for each in config.input if each.name not in newest and not each.optional]
        if missing or (config.drive.kind == "input" and config.drive.input != name):
            continue
        cells: list[int | str] = []
        for each in config.input:
            seq, at_ms = newest.get(each.name, (-1, step.at_ms))
            is_stale = step.at_ms - at_ms > stale_ms
            cells.append("not_joined" if seq < 0 else "stale" if is_stale else seq)
        rows.append(Row(len(rows), tuple(cells)))
        used |= {(each.name, cell) for each, cell in zip(config.input, cells, strict=True) if isinstance(cell, int)}
    unused = [
        Unmatched(name, step.seq, step.seq, "superseded" if step.seq < newest[name][0] else "pending_at_end")
        for name, step in _merged(scenario.schedules())
        if step.seq is not None and (name, step.seq) not in used
    ]
    return Outcome(rows, sorted(unused))
