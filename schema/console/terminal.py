# SPDX-License-Identifier: Apache-2.0
"""Tables for people: drawn and coloured on a terminal, plain columns anywhere else. Columns of numbers stand right."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TextIO

Line = Sequence[str]
_NUMBER: Final = re.compile(r"-|[-+]?\d[\d,.]*(e[-+]?\d+)?%?( \S{1,3})?")
"""A quantity, with its unit, or the mark for none."""
_WIDE: Final = 10_000
"""Columns of a terminal that is never too narrow."""


def print_table(
    columns: Line,
    rows: Sequence[Line],
    *,
    styles: Mapping[str, str] | None = None,
    stream: TextIO | None = None,
) -> None:
    """Print rows under their column names; ``styles`` colours a cell by its text (``{"fail": "bold red"}``)."""
    out = stream or sys.stdout
    if out.isatty():
        _drawn(columns, rows, styles or {}, out)
    else:
        out.write(plain_table(columns, rows))


def plain_table(columns: Line, rows: Sequence[Line]) -> str:
    """The same as text.

    >>> print(plain_table(["name", "frames"], [["left", "7"], ["right", "1,024"]]), end="")
    name   frames
    left        7
    right   1,024
    """
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    right = _numbers(rows)
    return "".join(_padded(line, widths, right) for line in (columns, *rows))


class GrowingTable:
    """A table whose rows come little by little: columns grow with what comes, and are never drawn again."""

    def __init__(self, columns: Line, stream: TextIO | None = None) -> None:
        self._columns: Line | None = columns
        self._widths = list(map(len, columns))
        self._right: Collection[int] = ()
        self._out = stream or sys.stdout

    def print(self, rows: Iterable[Line]) -> None:
        """Print some rows, which are aligned with each other; the first time under the column names."""
        lines = list(rows)
        if not lines:
            return
        self._widths = [max(map(len, cells)) for cells in zip(map("".ljust, self._widths), *lines, strict=True)]
        if self._columns is not None:
            self._right = _numbers(lines)
            lines.insert(0, self._columns)
            self._columns = None
        self._out.write("".join(_padded(line, self._widths, self._right) for line in lines))
        self._out.flush()


def _numbers(rows: Sequence[Line]) -> Collection[int]:
    """The columns that hold nothing but numbers."""
    return {index for index, cells in enumerate(zip(*rows, strict=True)) if all(map(_NUMBER.fullmatch, cells))}


def _padded(line: Line, widths: Sequence[int], right: Collection[int]) -> str:
    cells = (
        cell.rjust(width) if index in right else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join(cells).rstrip() + "\n"


def _drawn(columns: Line, rows: Sequence[Line], styles: Mapping[str, str], out: TextIO) -> None:
    # Imported here: rich costs a tenth of a second that pipes and --json need not pay.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, right = Console(file=out), _numbers(rows)

    def table(headers: Line) -> Table:
        made = Table()
        for index, header in enumerate(headers):
            # A number that is cut is another number.
            is_number = index in right
            made.add_column(header, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
        for row in rows:
            made.add_row(*(Text(cell, style=styles.get(cell, "")) for cell in row))
        return made

    drawn = table(columns)
    if console.measure(drawn, options=console.options.update(max_width=_WIDE)).maximum > console.width:
        drawn = table([name.replace(" ", "\n") for name in columns])
    console.print(drawn)
