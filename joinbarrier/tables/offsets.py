# SPDX-License-Identifier: Apache-2.0
"""Offsets: the next row, and the journal and epoch that it belongs to. Equal offsets are equal texts.

One journal: ``{"epoch": E, "row": R}``. Several: ``{"PATH": {"epoch": E, "row": R}, ...}``, sorted by path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from framegate.schema.errors import WrongOffset, WrongOption


@dataclass(frozen=True, slots=True)
class Position:
    """The next row of one journal, in one of its epochs."""

    epoch: int
    row: int
    begin: int | None = field(default=None, compare=False)
    """The row where the first micro-batch begins, stored in the offset that ends it. PySpark 4.0 and 4.1 need it."""

    def at(self, row: int) -> Position:
        """The position of another row of the same epoch; this very object for the same row."""
        return self if row == self.row else Position(self.epoch, row)


def to_spark(positions: Mapping[str, Position]) -> dict[str, Any]:
    """The offset as Spark writes it into its log.

    >>> to_spark({"out/joined": Position(7, 12)})
    {'epoch': 7, 'row': 12}
    """
    as_json = {path: _as_json(positions[path]) for path in sorted(positions)}
    return next(iter(as_json.values())) if len(as_json) == 1 else as_json


def _as_json(position: Position) -> dict[str, int]:
    found = {"epoch": position.epoch, "row": position.row}
    return found if position.begin is None else {"begin": position.begin, **found}


def from_spark(offset: object, paths: Sequence[str]) -> dict[str, Position]:
    """Read what ``to_spark`` made, for the journals of this query. Raises WrongOffset."""
    found = {paths[0]: offset} if len(paths) == 1 else offset
    if not isinstance(found, dict) or set(found) != set(paths):
        have = ",".join(map(str, found)) if isinstance(found, dict) else type(found).__name__
        raise WrongOffset("the offset is of other journals", want=",".join(sorted(paths)), have=have)
    return {path: _position(path, found[path]) for path in paths}


def _position(path: str, found: object) -> Position:
    if isinstance(found, dict) and set(found) - {"begin"} == {"epoch", "row"}:
        epoch, row, begin = found["epoch"], found["row"], found.get("begin", 0)
        if all(type(number) is int and number >= 0 for number in (epoch, row, begin)):
            return Position(epoch, row, found.get("begin"))
    raise WrongOffset("not an offset", path=path, want='{"epoch":E,"row":R}', have=json.dumps(found))


@dataclass(frozen=True, slots=True)
class Wish:
    """The place at which a user wants a journal to begin or end: ``earliest``, ``latest``, a time, or a row, perhaps of
    a given epoch."""

    row: int | None = None
    epoch: int | None = None
    is_latest: bool = False
    joined_us: int | None = None
    """The first row that was joined at this time or later, in microseconds since 1970."""


EARLIEST = Wish()
LATEST = Wish(is_latest=True)


def wishes(option: str, text: str, paths: Sequence[str]) -> dict[str, Wish]:
    """Read ``startingOffsets`` or ``endingOffsets``: a word, a row, or JSON by journal. Raises WrongOption.

    >>> wishes("startingOffsets", "12", ["a"])["a"].row
    12
    """
    for word, wish in (("earliest", EARLIEST), ("latest", LATEST)):
        if text.lower() == word:
            return dict.fromkeys(paths, wish)
    try:
        found = json.loads(text)
    except ValueError:
        raise _not_a_wish(option, text) from None
    if isinstance(found, dict) and set(found) == set(paths):
        return {path: _wish(option, found[path]) for path in paths}
    if len(paths) > 1:
        raise WrongOption(
            "several journals need a row each, as JSON", option=option, have=text, want=",".join(sorted(paths))
        )
    return {paths[0]: _wish(option, found)}


def _wish(option: str, found: object) -> Wish:
    if found == "earliest":
        return EARLIEST
    if found == "latest":
        return LATEST
    if type(found) is int and found >= 0:
        return Wish(row=found)
    if isinstance(found, dict) and set(found) == {"epoch", "row"}:
        epoch, row = found["epoch"], found["row"]
        if type(epoch) is int and type(row) is int and min(epoch, row) >= 0:
            return Wish(row=row, epoch=epoch)
    raise _not_a_wish(option, json.dumps(found))


def _not_a_wish(option: str, have: str) -> WrongOption:
    want = 'earliest, latest, a row, or {"epoch":E,"row":R}'
    return WrongOption("not an offset", option=option, have=have, want=want)
