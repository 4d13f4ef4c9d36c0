# SPDX-License-Identifier: Apache-2.0
"""The accounts of what retention removed: ``retired.json`` beside the files of each table (PROTOCOL 16.8)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framegate.tools.audit.ranges import Ranges
from framegate.tools.audit.tables import AuditError

_MODULUS: Final = 1 << 64
JOINED: Final = "joined"


@dataclass(frozen=True, slots=True)
class Retired:
    """The fate of some frames of one input."""

    input: str
    epoch: int
    epochs: int
    fate: str
    frames: int
    repeats: int
    first: int
    last: int
    sum: int
    squares: int
    ranges: Ranges | None
    """The exact sequences; None if only their number and sums are known."""

    @property
    def is_contradictory(self) -> bool:
        """Whether its ranges do not match its count."""
        return self.ranges is not None and sums([self.ranges]) != (self.frames, self.sum, self.squares)


@dataclass(frozen=True, slots=True)
class Account:
    """The account of one table."""

    before: int
    """The account counts every row below this one."""
    unread_rows: int
    entries: tuple[Retired, ...]


NONE: Final = Account(0, 0, ())


def read_account(journal: Path, table: str, journal_epoch: int) -> Account:
    """The account of a table. It is empty if nothing was removed. Raises AuditError."""
    path = journal / table / "retired.json"
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return NONE
    except (OSError, ValueError) as broken:
        raise AuditError(f"{path} makes no sense: {broken}") from broken
    try:
        if int(found["journal_epoch"]) != journal_epoch:
            return NONE
        entries = tuple(_entry(each) for each in found["entries"])
        return Account(int(found["before"]), int(found.get("unread_rows", 0)), entries)
    except (KeyError, TypeError, ValueError) as broken:
        raise AuditError(f"{path} makes no sense: {broken!r}") from broken


def _entry(found: dict[str, Any]) -> Retired:
    ranges = found.get("ranges")
    return Retired(
        input=str(found["input"]),
        epoch=int(found["epoch"]),
        epochs=int(found.get("epochs", 1)),
        fate=str(found["fate"]),
        frames=int(found["frames"]),
        repeats=int(found.get("repeats", 0)),
        first=int(found["first"]),
        last=int(found["last"]),
        sum=int(found["sum"]) % _MODULUS,
        squares=int(found["squares"]) % _MODULUS,
        ranges=None if ranges is None else Ranges((int(first), int(last)) for first, last in ranges),
    )


def sums(frames: Iterable[Ranges]) -> tuple[int, int, int]:
    """The number, the sum and the sum of squares of sequences, as an account holds them.

    >>> sums([Ranges([(1, 3)]), Ranges([(3, 4)])])
    (5, 13, 39)
    """
    count = total = squares = 0
    for first, last in (pair for each in frames for pair in each.pairs):
        count += last - first + 1
        total += _sum(last) - _sum(first - 1)
        squares += _squares(last) - _squares(first - 1)
    return count, total % _MODULUS, squares % _MODULUS


def _sum(last: int) -> int:
    return last * (last + 1) // 2


def _squares(last: int) -> int:
    return last * (last + 1) * (2 * last + 1) // 6


def is_inexact_for(entry: Retired, epoch: int, epochs: Iterable[int]) -> bool:
    """Whether an entry without ranges may count frames of an epoch: its own, or one that was merged into it."""
    if entry.ranges is not None:
        return False
    lower = sorted(each for each in epochs if each <= entry.epoch)
    return epoch in lower[-entry.epochs :]
