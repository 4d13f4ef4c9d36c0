# SPDX-License-Identifier: Apache-2.0
"""Whether a journal that was restored again and again is what was promised (P7, P8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.verify import verify

from tests.recovery.scenario import Scenario
from tests.system.journal_table import Row, read_leftovers, read_rows


def problems(
    scenario: Scenario, journal: Path, reference: Path, frames: Mapping[str, list[int]], *, is_exact: bool | None = None
) -> Iterator[str]:
    """Everything that is not as promised; nothing for a good journal.

    ``reference``: of a run without kills. ``is_exact``: whether the two must be equal; None: as the policy promises.
    """
    verified = verify(Journal(journal))
    if not verified.is_consistent:
        yield f"verify: {verified.problem}"
        return
    rows = read_rows(journal)
    if [row.row for row in rows] != list(range(len(rows))):
        yield "rows are not dense from 0"
    if scenario.is_exact if is_exact is None else is_exact:
        yield from _differences(reference, journal)
    if scenario.policy == "union":
        yield from _repeated(rows)
    yield from _out_of_order(rows, is_strict=scenario.policy == "union")
    yield from _unaccounted(journal, rows, frames)


def _differences(reference: Path, journal: Path) -> Iterator[str]:
    found = diff(Journal(reference), Journal(journal))
    if not found.is_empty:
        changed = [(each.key, each.columns) for each in found.changed[:3]]
        counts = f"{len(found.lost)} rows lost, {len(found.gained)} gained, {found.changed_rows} changed"
        yield f"{counts}, {found.same} alike; {found.lost[:3]} {found.gained[:3]} {changed}"


def _repeated(rows: list[Row]) -> Iterator[str]:
    counts = Counter((name, cell.seq) for row in rows for name, cell in row.inputs.items() if cell.seq is not None)
    twice = [frame for frame, count in counts.items() if count > 1]
    if twice:
        yield f"{len(twice)} frames are in two rows: {twice[:5]}"


def _out_of_order(rows: list[Row], *, is_strict: bool) -> Iterator[str]:
    for name in rows[0].inputs if rows else ():
        seqs = [seq for row in rows if (seq := row.inputs[name].seq) is not None]
        wrong = [(a, b) for a, b in pairwise(seqs) if b < a or (is_strict and b == a)]
        if wrong:
            yield f"input {name} goes back: {wrong[:5]}"
    outputs = [(row.out_epoch, row.out_seq) for row in rows]
    if any(b <= a for a, b in pairwise(outputs)):
        yield "outputs do not only grow"


def _unaccounted(journal: Path, rows: list[Row], frames: Mapping[str, list[int]]) -> Iterator[str]:
    """A frame is in a row, or a cause is known; never both, and a cause is written down once."""
    joined = {name: {seq for row in rows if (seq := row.inputs[name].seq) is not None} for name in frames}
    causes: dict[str, Counter[int]] = {name: Counter() for name in frames}
    for entry in read_leftovers(journal):
        causes[entry.input].update(range(entry.seq, entry.seq_last + 1))
    for name, sent in frames.items():
        missing = [seq for seq in sent if seq not in joined[name] and seq not in causes[name]]
        if missing:
            yield f"nothing is known of {len(missing)} frames of {name}: {missing[:5]}"
        both = [seq for seq in causes[name] if seq in joined[name]]
        if both:
            yield f"{len(both)} frames of {name} are joined and not joined: {both[:5]}"
        twice = [seq for seq, count in causes[name].items() if count > 1]
        if twice:
            yield f"{len(twice)} frames of {name} have two causes: {twice[:5]}"
        if unknown := (joined[name] - set(sent)):
            yield f"frames of {name} that never were: {sorted(unknown)[:5]}"
