# SPDX-License-Identifier: Apache-2.0
"""What two journals hold that is not the same: rows gained, lost and changed, known by their outputs.

Left out is what a second run of the same inputs cannot have alike: ``row``, ``journal_epoch``, ``joined_at`` and
``checkpoint_id``. Which life of its producer a frame comes from is compared by the order of the lives: their numbers
are the driver's.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.row import JoinedInput, Row

LEFT_OUT: Final = frozenset({"row", "journal_epoch", "joined_at", "checkpoint_id"})
DETAILED_MAX: Final = 100
"""Changed rows whose columns are named; the others are counted."""

By = Literal["out_seq", "out_time"]
Key: TypeAlias = tuple[int | None, int | None, int]
"""Output epoch, output sequence or time, and which of several with the same two."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that both have, with different content."""

    key: Key
    row_a: int
    row_b: int
    columns: tuple[str, ...]
    """``left.seq`` and the like."""


@dataclass(slots=True)
class Difference:
    """``lost`` is only in the first journal, ``gained`` only in the second."""

    same: int = 0
    lost: list[Key] = field(default_factory=list)
    gained: list[Key] = field(default_factory=list)
    changed_rows: int = 0
    changed: list[ChangedRow] = field(default_factory=list)
    """The first of them, in detail."""
    not_compared: int = 0
    """Rows before the first that both have, where the other journal has let go of its oldest ones."""

    @property
    def is_empty(self) -> bool:
        """Whether both hold the same."""
        return not (self.lost or self.gained or self.changed_rows)


def diff(first: Journal, second: Journal, *, by: By = "out_seq") -> Difference:
    """Compare two journals; memory is some hundred bytes a row, whatever the payloads."""
    found = Difference()
    lives_then, lives = _Lives(first), _Lives(second)
    known = {key: (row["row"], _digest(row, lives_then)) for key, row in _keyed(first, by)}
    first_of_both: int | None = None
    for key, row in _keyed(second, by):
        before = known.pop(key, None)
        if before is not None and first_of_both is None and first.first_row:
            found.not_compared, found.gained = len(found.gained), []
        if before is not None:
            first_of_both = before[0] if first_of_both is None else min(first_of_both, before[0])
        if before is None:
            found.gained.append(key)
        elif before[1] == _digest(row, lives):
            found.same += 1
        else:
            found.changed_rows += 1
            if len(found.changed) < DETAILED_MAX:
                (old,) = first.rows(start=before[0], stop=before[0] + 1)
                columns = tuple(_changed_columns(_content(old, lives_then), _content(row, lives)))
                found.changed.append(ChangedRow(key, before[0], row["row"], columns))
    let_go = first_of_both if second.first_row and first_of_both is not None else 0
    found.lost = [key for key, (row, _) in known.items() if row >= let_go]
    found.not_compared += len(known) - len(found.lost)
    return found


def _keyed(journal: Journal, by: By) -> Iterator[tuple[Key, Row]]:
    column = "out_seq" if by == "out_seq" else "out_time_ns"
    seen = Counter[tuple[int | None, int | None]]()
    for row in journal.rows():
        key = row["out_epoch"], row[column]
        yield (*key, seen[key]), row
        seen[key] += 1


class _Lives:
    """The epochs of each input of a journal, by their order. Numbers are the driver's, and rise from life to life."""

    def __init__(self, journal: Journal) -> None:
        found: dict[str, set[int]] = {each.name: set() for each in journal.info.inputs}
        for batch in journal.batches():
            for name, epochs in found.items():
                epochs.update(batch.record_batch.column(name).field("epoch").unique().to_pylist())
        self._places = {
            name: {epoch: place for place, epoch in enumerate(sorted(epochs - {None}))}
            for name, epochs in found.items()
        }

    def place(self, name: str, epoch: int | None) -> int | None:
        """Which of the input's epochs it is, counted from 0."""
        return None if epoch is None else self._places[name].get(epoch, epoch)


def _content(row: Row, lives: _Lives) -> Iterator[tuple[str, Any]]:
    """Every value that counts, by its column; payloads as arrays."""
    for name in row:
        cell = row.inputs.get(name)
        if cell is not None:
            yield f"{name}.epoch", lives.place(name, cell.epoch)
            parts = (part for part in JoinedInput.__slots__ if part != "epoch")
            yield from ((f"{name}.{part}", getattr(cell, part)) for part in parts)
        elif name not in LEFT_OUT:
            yield name, row[name]


def _digest(row: Row, lives: _Lives) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, value in _content(row, lives):
        if isinstance(value, np.ndarray):
            digest.update(name.encode())
            digest.update(memoryview(value).cast("B") if value.size else b"")
        else:
            digest.update(f"{name}={value!r};".encode())
    return digest.digest()


def _changed_columns(old: Iterator[tuple[str, Any]], new: Iterator[tuple[str, Any]]) -> Iterator[str]:
    before, after = dict(old), dict(new)
    for name in {**before, **after}:
        have, want = before.get(name), after.get(name)
        if isinstance(have, np.ndarray) and isinstance(want, np.ndarray):
            # Bytes, not values: a NaN equals itself here.
            is_same = have.tobytes() == want.tobytes()
        else:
            is_same = type(have) is type(want) and have == want
        if not is_same:
            yield name.replace(".array", ".payload")
