# SPDX-License-Identifier: Apache-2.0
"""Tables for people: drawn and coloured on a terminal, plain columns anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
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


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as text.

    >>> print(plain_table(["name", "state"], [["java", "ok"]]), end="")
    name  state
    java  ok
    """
    lines = [columns, *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Mapping[str, str], out: TextIO) -> None:
    # Imported here: rich costs a tenth of a second that pipes and --json need not pay.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(cell, style=styles.get(cell, "")) for cell in row))
    Console(file=out).print(table)
