# SPDX-License-Identifier: Apache-2.0
"""Whether a journal that was restored again and again is what was promised (P7, P8)."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.verify import verify

from tests.recovery.scenario import Scenario
from tests.system.journal_table import Row, read_leftovers, read_rows

Frames: TypeAlias = Mapping[str, Mapping[int, int]]
"""Of each input its sequences, and of each of them the CRC of its payload."""
_BY_KILLS: frozenset[str] = frozenset({"agent_down", "overwritten", "epoch", "regressed"})
"""Causes that nothing but a kill brings about here."""


@dataclass(slots=True)
class Verdict:
    """What is not as promised, counted and told; nothing for a good journal."""

    rows: int = 0
    expected: int | None = None
    """Rows of the run without kills; None where the policy promises no number."""
    missing: int = 0
    """Rows that the run without kills has."""
    doubled: int = 0
    """Outputs, or frames of a union, that are there again; frames with two causes."""
    wrong: int = 0
    """Rows and frames with other content, out of order, or that never were."""
    gaps_caused: int = 0
    """Frames that a kill cost, by their cause. None where rows are promised to be equal."""
    gaps_uncaused: int = 0
    """Frames of which nothing is known."""
    problems: list[str] = field(default_factory=list)

    def note(self, what: str, count: int, told: str) -> None:
        """Count something, and tell it."""
        if count:
            setattr(self, what, getattr(self, what) + count)
            self.problems.append(f"{count} {what}: {told}")

    def add(self, other: Verdict) -> None:
        """Of another journal as well."""
        for name in ("rows", "missing", "doubled", "wrong", "gaps_caused", "gaps_uncaused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.expected is not None:
            self.expected = (self.expected or 0) + other.expected
        self.problems += other.problems


def judge(
    scenario: Scenario, journal: Path, reference: Path, frames: Frames, *, is_exact: bool | None = None
) -> Verdict:
    """``reference``: of a run without kills. ``is_exact``: whether they must be equal; None: as the policy promises."""
    found = Verdict()
    verified = verify(Journal(journal))
    if not verified.is_consistent:
        found.note("wrong", 1, f"verify: {verified.problem}")
        return found
    rows = read_rows(journal, payloads=True)
    found.rows = len(rows)
    if [row.row for row in rows] != list(range(len(rows))):
        found.note("wrong", 1, "rows are not dense from 0")
    if scenario.is_exact if is_exact is None else is_exact:
        _compare(found, reference, journal)
    is_union = scenario.policy == "union"
    if is_union:
        _note_repeated(found, rows)
    _note_order(found, rows, is_strict=is_union)
    _note_contents(found, rows, frames)
    _account(found, journal, rows, frames)
    if is_union:
        found.expected = sum(map(len, frames.values())) - found.gaps_caused
    return found


def _compare(found: Verdict, reference: Path, journal: Path) -> None:
    first, second = Journal(reference), Journal(journal)
    seen = diff(first, second)
    found.expected = first.next_row - first.first_row
    again = [key for key in seen.gained if key[2]]
    others = [key for key in seen.gained if not key[2]]
    changed = [(each.key, each.columns) for each in seen.changed[:3]]
    found.note("missing", len(seen.lost), f"rows, of {seen.same} alike: {seen.lost[:3]}")
    found.note("doubled", len(again), f"rows {again[:3]}")
    found.note("wrong", len(others), f"rows that the run without kills has not: {others[:3]}")
    found.note("wrong", seen.changed_rows, f"rows {changed}")


def _note_repeated(found: Verdict, rows: Iterable[Row]) -> None:
    counts = Counter((name, cell.seq) for row in rows for name, cell in row.inputs.items() if cell.seq is not None)
    twice = [frame for frame, count in counts.items() if count > 1]
    found.note("doubled", len(twice), f"frames are in two rows: {twice[:5]}")


def _note_order(found: Verdict, rows: list[Row], *, is_strict: bool) -> None:
    for name in rows[0].inputs if rows else ():
        seqs = [seq for row in rows if (seq := row.inputs[name].seq) is not None]
        back = [(a, b) for a, b in pairwise(seqs) if b < a or (is_strict and b == a)]
        found.note("wrong", len(back), f"input {name} goes back: {back[:5]}")
    outputs = [(row.out_epoch, row.out_seq) for row in rows]
    not_grown = [(a, b) for a, b in pairwise(outputs) if b <= a]
    found.note("wrong", len(not_grown), f"outputs do not only grow: {not_grown[:5]}")


def _note_contents(found: Verdict, rows: Iterable[Row], frames: Frames) -> None:
    cells = [(name, cell) for row in rows for name, cell in row.inputs.items() if cell.seq is not None]
    other = [
        (name, cell.seq) for name, cell in cells if zlib.crc32(cell.payload) != frames[name].get(cell.seq or 0, None)
    ]
    found.note("wrong", len(other), f"payloads are not their frames': {other[:5]}")


def _account(found: Verdict, journal: Path, rows: Iterable[Row], frames: Frames) -> None:
    """A frame is in a row, or a cause is known; never both, and a cause is written down once."""
    rows = list(rows)
    joined = {name: {seq for row in rows if (seq := row.inputs[name].seq) is not None} for name in frames}
    causes: dict[str, Counter[int]] = {name: Counter() for name in frames}
    for entry in read_leftovers(journal):
        span = range(entry.seq, entry.seq_last + 1)
        causes[entry.input].update(span)
        if entry.cause in _BY_KILLS:
            found.gaps_caused += sum(seq in frames[entry.input] for seq in span)
    for name, sent in frames.items():
        unknown = [seq for seq in sent if seq not in joined[name] and seq not in causes[name]]
        both = [seq for seq in causes[name] if seq in joined[name]]
        twice = [seq for seq, count in causes[name].items() if count > 1]
        never = sorted(joined[name] - set(sent))
        found.note("gaps_uncaused", len(unknown), f"nothing is known of frames of {name}: {unknown[:5]}")
        found.note("doubled", len(both), f"frames of {name} are joined and not joined: {both[:5]}")
        found.note("doubled", len(twice), f"frames of {name} have two causes: {twice[:5]}")
        found.note("wrong", len(never), f"frames of {name} never were: {never[:5]}")
