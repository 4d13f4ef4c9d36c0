# SPDX-License-Identifier: Apache-2.0
"""The fates of frames according to a journal: the rows that hold a frame, or the cause why none does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from framegate.tools.audit.ranges import Range, Ranges
from framegate.tools.audit.retired import Account, Retired, read_account
from framegate.tools.audit.tables import Batch, Description, batches, describe
from framegate.tools.audit.watch import Watch, unseen

PRESENT: Final = "present"
UNHEARD: Final = "agent_down"
"""The causes of frames of which the agent knows only the sequences."""


@dataclass(slots=True)
class Epoch:
    """The fates of one input's frames in one epoch."""

    joined: Ranges = field(default_factory=Ranges)
    unmatched: dict[str, Ranges] = field(default_factory=dict)
    twice: dict[str, Ranges] = field(default_factory=dict)
    """Frames with two fates that exclude each other, by the description of the conflict."""
    files: set[tuple[str, int]] = field(default_factory=set)
    """The files that contain frames of it that were heard. Each file was written by one run of the agent."""

    @property
    def known(self) -> Ranges:
        return Ranges(pair for each in (self.joined, *self.unmatched.values()) for pair in each.pairs)


@dataclass(frozen=True, slots=True)
class Cursor:
    """What the last state says of one input."""

    epoch: int | None
    decided: int
    """All frames up to this one have a fate; -1 if none has."""
    has_ended: bool


@dataclass(slots=True)
class Fates:
    """Everything that a journal says about frames, by input."""

    description: Description
    epochs: dict[str, dict[int, Epoch]]
    cursors: dict[str, Cursor]
    inexact: dict[str, list[Retired]]
    """The accounts that have no ranges."""
    contradictory: list[Retired]
    """The accounts whose ranges do not match their count: a frame was counted twice, or left out."""
    notes: list[str]


def read_fates(journal: Path, watch: Watch = unseen) -> Fates:
    """Read a journal. Raises AuditError."""
    description = describe(journal)
    rows = read_account(journal, "segments", description.journal_epoch)
    unmatched = read_account(journal, "unmatched", description.journal_epoch)
    gathered: dict[str, dict[int, _Gathered]] = {name: defaultdict(_Gathered) for name in description.inputs}
    cursors = dict.fromkeys(description.inputs, Cursor(None, -1, has_ended=False))
    last_seal, first_row = 0, None
    read = 0
    with watch(f"read {journal.name}", lambda: read, description.rows, unit="rows"):
        for batch in batches(journal, "segments", description.journal_epoch):
            first_row = batch.first_row if first_row is None else first_row
            last_seal = batch.seal
            cursors = _cursors(batch.state, description) or cursors
            for name in description.inputs:
                _take_cells(batch, name, rows.before, description, gathered[name])
            read += batch.columns.num_rows
    for batch in batches(journal, "unmatched", description.journal_epoch):
        # Unmatched frames that were sealed for rows that never were do not count: a writer that opens the journal
        # cuts them.
        if batch.seal <= last_seal:
            _take_unmatched(batch, unmatched.before, gathered)
    inexact = _take_retired((rows, unmatched), gathered)
    return Fates(
        description=description,
        epochs={name: {epoch: each.done() for epoch, each in found.items()} for name, found in gathered.items()},
        cursors=cursors,
        inexact=inexact,
        contradictory=[each for account in (rows, unmatched) for each in account.entries if each.is_contradictory],
        notes=_notes(rows, unmatched, first_row),
    )


@dataclass(slots=True)
class _Gathered:
    """What was found of one epoch so far."""

    joined: list[Range] = field(default_factory=list)
    unmatched: dict[str, list[Range]] = field(default_factory=lambda: defaultdict(list))
    once: dict[int, list[Range]] = field(default_factory=lambda: defaultdict(list))
    """For each version of the map, the frames in cells that two rows must not share."""
    files: set[tuple[str, int]] = field(default_factory=set)

    def done(self) -> Epoch:
        found = Epoch(
            joined=Ranges(self.joined),
            unmatched={cause: Ranges(pairs) for cause, pairs in self.unmatched.items()},
            files=self.files,
        )
        if again := Ranges(pair for pairs in self.once.values() for pair in _again(pairs).pairs):
            found.twice["joined by two rows"] = again
        for cause, pairs in self.unmatched.items():
            if again := _again(pairs):
                found.twice[f"{cause} twice"] = again
        return found


def _again(pairs: list[Range]) -> Ranges:
    """The parts that occur in two of these ranges."""
    found: list[Range] = []
    reached = -1
    for first, last in sorted(pairs):
        if first <= reached:
            found.append((first, min(last, reached)))
        reached = max(reached, last)
    return Ranges(found)


def _take_cells(batch: Batch, name: str, before: int, description: Description, gathered: dict[int, _Gathered]) -> None:
    columns = batch.columns
    if name not in columns.schema.names or columns.num_rows == 0:
        return
    cells = columns.column(name)
    wanted = pc.and_(
        pc.equal(cells.field("status"), PRESENT), pc.greater_equal(columns.column("row"), pa.scalar(before, pa.int64()))
    )
    table = pa.table(
        {
            "epoch": cells.field("epoch"),
            "seq": cells.field("seq"),
            "map": columns.column("map_version"),
        }
    ).filter(wanted)
    is_union = description.policy == "union"
    for epoch, seq, version in zip(*(table.column(number).to_pylist() for number in range(3)), strict=True):
        found = gathered[epoch]
        found.files.add(("rows", batch.file))
        _extend(found.joined, seq, seq)
        if is_union or name in description.is_offset.get(version, ()):
            _extend(found.once[version], seq, seq)


def _take_unmatched(batch: Batch, before: int, gathered: dict[str, dict[int, _Gathered]]) -> None:
    names = ("input", "epoch", "seq", "seq_last", "cause")
    columns = (batch.columns.column(name).to_pylist() for name in names)
    for row, (name, epoch, seq, seq_last, cause) in enumerate(zip(*columns, strict=True), batch.first_row):
        if row < before or name not in gathered or epoch is None or seq is None:
            continue
        last = seq if seq_last is None else seq_last
        found = gathered[name][epoch]
        _extend(found.unmatched[cause], seq, last)
        if cause != UNHEARD:
            found.files.add(("unmatched", batch.file))


def _take_retired(accounts: tuple[Account, ...], gathered: dict[str, dict[int, _Gathered]]) -> dict[str, list[Retired]]:
    inexact: dict[str, list[Retired]] = defaultdict(list)
    for entry in (each for account in accounts for each in account.entries):
        if entry.input not in gathered:
            continue
        if entry.ranges is None:
            inexact[entry.input].append(entry)
            continue
        found = gathered[entry.input][entry.epoch]
        into = found.joined if entry.fate == "joined" else found.unmatched[entry.fate]
        into.extend(entry.ranges.pairs)
    return inexact


def _extend(pairs: list[Range], first: int, last: int) -> None:
    """Add a range to a list. If it follows the last one, that one grows instead."""
    if pairs and pairs[-1][1] + 1 == first:
        pairs[-1] = (pairs[-1][0], last)
    else:
        pairs.append((first, last))


def _cursors(state: dict[str, Any], description: Description) -> dict[str, Cursor] | None:
    inputs = state.get("inputs")
    if not isinstance(inputs, list) or len(inputs) != len(description.inputs):
        return None
    return {name: _cursor(found) for name, found in zip(description.inputs, inputs, strict=True)}


def _cursor(found: Any) -> Cursor:
    epoch, decided, *_, has_ended = found[:4]
    return Cursor(None if epoch < 0 else int(epoch), int(decided), bool(has_ended))


def _notes(rows: Account, unmatched: Account, first_row: int | None) -> list[str]:
    found = []
    for name, account in (("rows", rows), ("unmatched frames", unmatched)):
        if account.unread_rows:
            found.append(f"{account.unread_rows} {name} could not be read when retention removed them")
    if first_row is not None and first_row > rows.before:
        found.append(f"rows {rows.before} to {first_row - 1} were removed, and no account says what they held")
    return found
