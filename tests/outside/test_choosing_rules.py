# SPDX-License-Identifier: Apache-2.0
"""docs/choosing-rules.md says what is so: every picture and every row of its tables is played, and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.outside.bed import Bed

PAGE: Final = (Path(__file__).parents[2] / "docs/choosing-rules.md").read_text()
PROGRAM: Final = """
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import framegate as fg

MS = 1_000_000
QUIET_S = 1.0
AT_ONCE = 4


def played(gate: fg.Gate, number: int, case: dict[str, Any]) -> dict[str, Any]:
    names = {name: f"{name}_{number}" for name in ("left", "right")}
    column = names["right"]
    given = case["rule"] if case["table"] is None else case["table"]
    got: list[fg.Row] = []
    with gate.join(names["left"], inputs={column: given}, **case["options"]).on_row(got.append) as joined:
        sources = {name: begun(gate, names[name]) for name in names}
        play(gate, names, sources, case["events"])
        await_rows(joined)
    for source in sources.values():
        source.close()
    return {
        "rows": [[cell.seq if cell.is_present else cell.status for cell in row.inputs.values()] for row in got],
        "unmatched": {name: dict(joined.unmatched()[names[name]]) for name in names},
    }


def begun(gate: fg.Gate, name: str) -> fg.Producer:
    source = gate.producer(name, shape=(1,), dtype="int64")
    source.wait_consumers(1)
    return source


def play(gate: fg.Gate, names: dict[str, str], sources: dict[str, fg.Producer], events: list[list[Any]]) -> None:
    begin = time.monotonic_ns()
    for name, what, *when in events:
        if name == "wait":
            time.sleep(what / 1e3)
        elif what == "end":
            sources[name].end()
        elif what == "gone":
            sources[name].close()
        elif what == "anew":
            sources[name].close()
            sources[name] = begun(gate, names[name])
        else:
            at = None if when[0] is None else begin + when[0] * MS
            sources[name].publish(np.array([what]), timestamp_ns=at, seq=what)


def await_rows(joined: fg.Joined) -> None:
    # Until the join is over, or has made no row for a while.
    rows, since = -1, time.monotonic()
    while "running" in repr(joined) and time.monotonic() - since < QUIET_S:
        time.sleep(0.01)
        if len(joined) != rows:
            rows, since = len(joined), time.monotonic()


with fg.local() as everything, ThreadPoolExecutor(AT_ONCE) as pool:
    cases = json.loads(sys.argv[1])
    for found in pool.map(played, [everything] * len(cases), range(len(cases)), cases):
        print(json.dumps(found), flush=True)
"""
"""A program that plays joins of two inputs, as a list of JSON objects says, and prints what became of the frames.

A case has ``rule`` (words) or ``table`` (keys of the input), ``options``, and ``events``: ``[name, seq, time_ms]`` is a
frame, ``[name, "end"]``, ``[name, "gone"]`` and ``[name, "anew"]`` are what a program does, ``["wait", ms]`` a pause.
"""
MS: Final = 1_000_000
COLUMN_MS: Final = 5
PERIOD_MS: Final = 20
JITTER_MS: Final = (0, 7, -6, 3, -8)
RULES: Final = {
    "In step": "",
    "Offset": "offset -2",
    "Window": "window 3",
    "Nearest": "nearest 12ms",
    "Newest": "newest 30ms",
    "Latest": "latest",
}
NEAREST: Final = {"tolerance_ns": 12 * MS, "pick": "nearest"}
Event = list[Any]


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(text: str, head: str) -> list[list[str]]:
    lines = text.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


# --- what is played ---


def frames(name: str, count: int = 20, period: int = PERIOD_MS, late: int = 0) -> list[tuple[int, Event]]:
    """Frames in the order in which they come."""
    return [(n * period + late, [name, n, n * period]) for n in range(count)]


def right(situation: str) -> list[tuple[int, Event]]:
    match situation:
        case "late":
            return frames("right", late=100)
        case "fast":
            return frames("right", 40, PERIOD_MS // 2)
        case "slow":
            return frames("right", 10, 2 * PERIOD_MS)
        case "losing frames":
            return [each for each in frames("right") if each[1][1] not in (5, 6, 12)]
        case "dead" | "ended":
            return frames("right", 10)
        case "restarted":
            after = [(at, ["right", n - 10, time]) for at, (_, n, time) in frames("right")[10:]]
            return [*frames("right", 10), (10 * PERIOD_MS - 1, ["right", "anew"]), *after]
    found = [(at, [name, n, time + moved(situation, n)]) for at, (name, n, time) in frames("right")]
    if situation == "without a time at frame 7":
        found[7][1][2] = None
    return found


def moved(situation: str, n: int) -> int:
    """By how much the time of a frame is off."""
    if situation == "jittering":
        return JITTER_MS[n % len(JITTER_MS)]
    return -50 if situation == "going back at frame 7" and n == 7 else 0


def script(situation: str, *, is_paced: bool = False) -> list[Event]:
    """All events. Rules that wait give the same rows at any speed."""
    events = [event for _, event in sorted([*right(situation), *frames("left")], key=lambda each: each[0])]
    if is_paced:
        events = [step for event in events for step in (["wait", 5], event)]
    return [*events, ["left", "end"], ["right", "gone" if situation == "dead" else "end"]]


def case(rule: str, events: list[Event], keys: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return {"rule": rule, "table": keys, "options": options, "events": events}


def played(bed: Bed, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    program = bed.python(PROGRAM, json.dumps(cases))
    assert program.ended() == 0, program
    return [each for each in program.objects() if "rows" in each]


# --- what the page says ---


def agrees(cell: str, unmatched: dict[str, dict[str, int]], where: str) -> None:
    """A cell names each cause with its input, and how often where that does not depend on who is faster."""
    said: dict[str, dict[str, str]] = {"left": {}, "right": {}}
    name = ""
    for new, count, cause in re.findall(r"(?:(left|right): )?(\d+ )?`(\w+)`", cell):
        name = new or name
        said[name][cause] = count
    for name, causes in unmatched.items():
        exact = {cause: int(count) for cause, count in said[name].items() if count}
        uncounted = {cause for cause, count in said[name].items() if not count}
        found = {cause: count for cause, count in causes.items() if cause not in uncounted}
        assert found == exact, f"{where}: {unmatched}"


def pictures() -> Iterator[tuple[str, list[str]]]:
    for block in re.findall(r"^```\n((?:gate|right).*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        head, *lines = block.splitlines()
        words = re.search(r'right="([^"]*)"', head)
        yield (words[1] if words else ""), lines


def marks(line: str) -> dict[int, str]:
    """What stands at which column, behind the line's name."""
    return {found.start(): found[0] for found in re.finditer(r"\S+", line) if found.start() >= 9}


def test_the_pictures_are_what_the_rules_do(own_bed: Bed) -> None:
    cases, wanted = [], []
    for rule, lines in pictures():
        left, other, rows = (marks(line) for line in lines)
        # Of two at the same time right comes first.
        events = [(2 * at, ["left", int(n), at * COLUMN_MS]) for at, n in left.items()]
        events += [(2 * at - 1, ["right", int(n), at * COLUMN_MS]) for at, n in other.items()]
        steps = [event for _, event in sorted(events, key=lambda each: each[0])]
        if rule == "latest":
            steps = [step for event in steps for step in (["wait", 100], event)]
        cases.append(case(rule, [*steps, ["left", "end"], ["right", "end"]]))
        wanted.append([[int(left[at]), int(taken)] for at, taken in rows.items() if taken != "."])
    found = [each["rows"] for each in played(own_bed, cases)]
    assert len(found) == 8
    assert found == wanted


@pytest.mark.parametrize("title", RULES)
def test_the_table_of_a_rule_says_what_becomes_of_every_input(own_bed: Bed, title: str) -> None:
    lines = table(section(title), "`right` is | rows | frames in no row | what helps")
    assert len(lines) >= 7
    for rule in (RULES[title], RULES[title] + ", once") if title == "Nearest" else (RULES[title],):
        cases = [case(rule, script(line[0], is_paced=title == "Latest")) for line in lines]
        for line, result in zip(lines, played(own_bed, cases), strict=True):
            assert len(result["rows"]) == int(line[1]), f"{rule} {line[0]}: {result}"
            agrees(line[2], result["unmatched"], f"{rule} {line[0]}")


def test_the_knobs_do_what_their_table_says(own_bed: Bed) -> None:
    lines = table(section("The knobs"), "with | and `right` is | rows | without `right` | frames in no row")
    cases = []
    for with_, situation, *_ in lines:
        is_nearest = with_.startswith("nearest")
        keys: dict[str, Any] = dict(NEAREST) if is_nearest else {}
        options: dict[str, Any] = {} if with_.startswith("in step") else {"policy": "timestamp"}
        for key, value in re.findall(r"`(\w+)(?: = ([^`]+))?`", with_):
            target = options if key in ("stale_timeout_ms", "max_skew_ns") else keys
            target[key] = json.loads(value) if value else True
        cases.append(case("", script(situation), keys, **options))
    for line, result in zip(lines, played(own_bed, cases), strict=True):
        assert len(result["rows"]) == int(line[2]), f"{line}: {result}"
        statuses = [cell for _, cell in result["rows"] if isinstance(cell, str)]
        said = re.fullmatch(r"(\d+)( or more)?(?: `(\w+)`)?", line[3])
        assert said is not None, line
        assert set(statuses) == ({said[3]} if said[3] else set()), line
        assert len(statuses) >= int(said[1]) if said[2] else len(statuses) == int(said[1]), f"{line}: {result}"
        agrees(line[4], result["unmatched"], str(line))
