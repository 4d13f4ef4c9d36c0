# SPDX-License-Identifier: Apache-2.0
"""The commands of ``framegate journal``: ls, show, tail, unmatched, verify, diff, export and serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from framegate.schema.console.command_options import JsonOption

_Directory: TypeAlias = Annotated[Path, typer.Argument(metavar="JOURNAL", help="The journal's directory.")]


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    journal = typer.Typer(help="Look into a journal: rows, segments, readers; check, compare and export it.")
    journal.command("ls")(_ls)
    journal.command("show")(_show)
    journal.command("tail")(_tail)
    journal.command("unmatched")(_unmatched)
    journal.command("verify")(_verify)
    journal.command("diff")(_diff)
    journal.command("export")(_export)
    journal.command("serve")(_serve)
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


def _unmatched(
    directory: _Directory,
    ranges: Annotated[bool, typer.Option("--ranges", help="Each range of frames instead of their counts.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Count the frames that are in no row, by input and cause, and say what each cause means."""
    from framegate.joinbarrier.journal.unmatched_listing import show_unmatched

    return show_unmatched(directory, ranges=ranges, as_json=as_json)


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


def _serve(
    directories: Annotated[list[Path], typer.Argument(metavar="JOURNAL...", help="The journals' directories.")],
    listen: Annotated[
        str, typer.Option("--listen", metavar="URI", help="grpc://HOST:PORT or grpc+tls://HOST:PORT; port 0 is any.")
    ] = "grpc://127.0.0.1:0",
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="The bearer token (default: FRAMEGATE_FLIGHT_TOKEN)."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="The server's certificate chain (PEM).")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's private key (PEM).")
    ] = None,
    streams: Annotated[
        int, typer.Option("--streams", metavar="N", min=1, max=4096, help="So many streams at once.")
    ] = 64,
    stall: Annotated[
        float,
        typer.Option("--stall", metavar="S", min=0.05, max=86_400, help="End who reads nothing for so many seconds."),
    ] = 60.0,
    is_child: Annotated[bool, typer.Option("--child", hidden=True, help="End with standard input.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Serve journals to other hosts by Arrow Flight, until told to end."""
    from framegate.joinbarrier.flight.run_serve import ServeOptions, run

    return run(
        ServeOptions(
            directories=directories,
            listen=listen,
            token_file=token_file,
            certificate=tls_cert,
            key=tls_key,
            streams_max=streams,
            stall_s=stall,
            is_child=is_child,
            json=as_json,
        )
    )
