# SPDX-License-Identifier: Apache-2.0
"""Compares two journals: rows gained, lost and changed, identified by their outputs.

``row``, ``journal_epoch``, ``joined_at`` and ``checkpoint_id`` are left out, because a second run of the same inputs
cannot repeat them. The epochs of a producer are compared by their order, because the driver chooses their numbers.
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
"""Most changed rows whose columns are named; further ones are only counted."""

By = Literal["out_seq", "out_time"]
Key: TypeAlias = tuple[int | None, int | None, int]
"""Output epoch, output sequence or time, and the number among rows that share both."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row that both journals have, with different content."""

    key: Key
    row_a: int
    row_b: int
    columns: tuple[str, ...]
    """The names of the changed columns, such as ``left.seq``."""


@dataclass(slots=True)
class Difference:
    """The difference of two journals: ``lost`` keys are only in the first, ``gained`` keys only in the second."""

    same: int = 0
    lost: list[Key] = field(default_factory=list)
    gained: list[Key] = field(default_factory=list)
    changed_rows: int = 0
    changed: list[ChangedRow] = field(default_factory=list)
    """The first changed rows, in detail."""
    not_compared: int = 0
    """Rows before the first common one, if the other journal has dropped its oldest rows."""

    rows_read: int = 0
    """Of both."""

    @property
    def is_empty(self) -> bool:
        """Whether both journals hold the same rows."""
        return not (self.lost or self.gained or self.changed_rows)


def diff(first: Journal, second: Journal, *, by: By = "out_seq", found: Difference | None = None) -> Difference:
    """Compare two journals. Memory is some hundred bytes for each row, whatever the payloads.

    A ``found`` that is given counts the rows meanwhile.
    """
    found = found or Difference()
    first_order, order = _EpochOrder(first), _EpochOrder(second)
    known = {key: (row["row"], _digest(row, first_order)) for key, row in _keyed(first, by, found)}
    first_of_both: int | None = None
    for key, row in _keyed(second, by, found):
        before = known.pop(key, None)
        if before is not None and first_of_both is None and first.first_row:
            found.not_compared, found.gained = len(found.gained), []
        if before is not None:
            first_of_both = before[0] if first_of_both is None else min(first_of_both, before[0])
        if before is None:
            found.gained.append(key)
        elif before[1] == _digest(row, order):
            found.same += 1
        else:
            found.changed_rows += 1
            if len(found.changed) < DETAILED_MAX:
                (old,) = first.rows(start=before[0], stop=before[0] + 1)
                columns = tuple(_changed_columns(_content(old, first_order), _content(row, order)))
                found.changed.append(ChangedRow(key, before[0], row["row"], columns))
    let_go = first_of_both if second.first_row and first_of_both is not None else 0
    found.lost = [key for key, (row, _) in known.items() if row >= let_go]
    found.not_compared += len(known) - len(found.lost)
    return found


def _keyed(journal: Journal, by: By, found: Difference) -> Iterator[tuple[Key, Row]]:
    column = "out_seq" if by == "out_seq" else "out_time_ns"
    seen = Counter[tuple[int | None, int | None]]()
    for row in journal.rows():
        key = row["out_epoch"], row[column]
        found.rows_read += 1
        yield (*key, seen[key]), row
        seen[key] += 1


class _EpochOrder:
    """The order of each input's epochs in a journal. The driver chooses epoch numbers, which rise."""

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
        """The position of an epoch among the input's epochs, counted from 0."""
        return None if epoch is None else self._places[name].get(epoch, epoch)


def _content(row: Row, order: _EpochOrder) -> Iterator[tuple[str, Any]]:
    """Every compared value of a row, by its column; payloads as arrays."""
    for name in row:
        cell = row.inputs.get(name)
        if cell is not None:
            yield f"{name}.epoch", order.place(name, cell.epoch)
            parts = (part for part in JoinedInput.__slots__ if part != "epoch")
            yield from ((f"{name}.{part}", getattr(cell, part)) for part in parts)
        elif name not in LEFT_OUT:
            yield name, row[name]


def _digest(row: Row, order: _EpochOrder) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, value in _content(row, order):
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
            # Compare bytes, not values, so that a NaN equals itself.
            is_same = have.tobytes() == want.tobytes()
        else:
            is_same = type(have) is type(want) and have == want
        if not is_same:
            yield name.replace(".array", ".payload")
