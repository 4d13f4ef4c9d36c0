# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate journal ls``, ``show``, ``tail``, ``verify``, ``diff`` and ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from framegate.schema.console.command_options import JsonOption

_Directory: TypeAlias = Annotated[Path, typer.Argument(metavar="DIR", help="The journal's directory.")]


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    journal = typer.Typer(help="Look into a journal: rows, segments, readers; check, compare and export it.")
    journal.command("ls")(_ls)
    journal.command("show")(_show)
    journal.command("tail")(_tail)
    journal.command("verify")(_verify)
    journal.command("diff")(_diff)
    journal.command("export")(_export)
    app.add_typer(journal, name="journal")


def _ls(directory: _Directory, as_json: JsonOption = False) -> int:
    """Print what a journal is, its segments and its readers."""
    from framegate.joinbarrier.journal.listing import ls

    return ls(directory, as_json=as_json)


def _show(
    directory: _Directory,
    rows: Annotated[
        str, typer.Option("--rows", metavar="A:B", help="Rows from A to before B; either may be left out.")
    ] = ":",
    as_json: JsonOption = False,
) -> int:
    """Print rows, payloads by their size."""
    from framegate.joinbarrier.journal.printing import show

    return show(directory, rows, as_json=as_json)


def _tail(
    directory: _Directory,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with new rows until the join ends, or until told to end.")
    ] = False,
    lines: Annotated[int, typer.Option("-n", metavar="N", min=0, help="How many of the last rows.")] = 10,
    as_json: JsonOption = False,
) -> int:
    """Print the last rows, and those that follow."""
    from framegate.joinbarrier.journal.printing import tail

    return tail(directory, lines, follow=follow, as_json=as_json)


def _verify(directory: _Directory, as_json: JsonOption = False) -> int:
    """Check every check sum, row number and cursor. Exit code 1 with the first that is wrong."""
    from framegate.joinbarrier.journal.checking import run_verify

    return run_verify(directory, as_json=as_json)


def _diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A journal.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    by_time: Annotated[
        bool, typer.Option("--by-time", help="Rows are the same by their output time, not their output sequence.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Print which rows B gained, lost and changed against A. Exit code 1 when there are any."""
    from framegate.joinbarrier.journal.checking import run_diff

    return run_diff(first, second, by_time=by_time, as_json=as_json)


def _export(
    directory: _Directory,
    target: Annotated[Path, typer.Argument(metavar="OUT.parquet", help="The file; replaced when it is there.")],
    flatten: Annotated[bool, typer.Option("--flatten", help="Columns left.seq and so on instead of structs.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Write all rows into one Parquet file."""
    from framegate.joinbarrier.journal.checking import run_export

    return run_export(directory, target, flatten=flatten, as_json=as_json)
