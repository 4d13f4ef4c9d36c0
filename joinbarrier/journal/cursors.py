# SPDX-License-Identifier: Apache-2.0
"""Checks the cursors in sealed states: within one output epoch, none of them goes back. Pure.

Only this much of a state is read; the rest belongs to the join stage::

    {"out_epoch": 1, "out_seq": 12, "inputs": [[epoch, decided up to, joined up to, has ended], ...]}      -1 is none
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from framegate.schema.errors import JournalDamaged

_Cursor: TypeAlias = tuple[int, ...]


class CursorCheck:
    """Checks every state, given in order.

    >>> check = CursorCheck()
    >>> check.on_state({"out_epoch": 1, "inputs": [[5, 9, 9, 0]]}, first_row=0)
    >>> check.on_state({"out_epoch": 1, "inputs": [[5, 8, 8, 0]]}, first_row=3)
    Traceback (most recent call last):
    ...
    framegate.schema.errors.JournalDamaged: ...
    """

    def __init__(self) -> None:
        self._out_epoch: int | None = None
        self._cursors: dict[str, _Cursor] = {}

    def on_state(self, state: Mapping[str, Any], first_row: int) -> None:
        """Check the state after the batch that begins at ``first_row``. Raises JournalDamaged."""
        out_epoch = state.get("out_epoch")
        if type(out_epoch) is int:
            if self._out_epoch is not None and out_epoch < self._out_epoch:
                raise JournalDamaged("the output epoch went back", first_row=first_row, have=out_epoch)
            if out_epoch != self._out_epoch:
                self._out_epoch, self._cursors = out_epoch, {}
        for name, cursor in _cursors(state):
            before = self._cursors.get(name, cursor)
            if cursor < before:
                raise JournalDamaged(
                    "a cursor went back", first_row=first_row, cursor=name, before=list(before), have=list(cursor)
                )
            self._cursors[name] = cursor


def _cursors(state: Mapping[str, Any]) -> Iterator[tuple[str, _Cursor]]:
    """The output's sequence, and each input's epoch with the newest decided sequence."""
    out_seq, inputs = state.get("out_seq"), state.get("inputs")
    if type(out_seq) is int:
        yield "out_seq", (out_seq,)
    for index, entry in enumerate(inputs if isinstance(inputs, list) else ()):
        cursor = tuple(entry[:2]) if isinstance(entry, list) else ()
        if len(cursor) == 2 and all(type(number) is int for number in cursor):
            yield f"input {index}", cursor
