# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate mergemap serve``, ``request``, ``show`` and ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from framegate.joinbarrier.commands.join import join
from framegate.schema.console.command_options import (
    AeronDirOption,
    BaseDirOption,
    ClientWords,
    JsonOption,
    WaitDriverOption,
    absolute,
    by_client,
)

_U32_NULL = (1 << 32) - 1
_EPOCH_MAX = (1 << 64) - 1
OutStreamOption = Annotated[
    int, typer.Option("--out-stream", metavar="N", min=1, max=_U32_NULL - 1, help="The output stream.")
]


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    maps = typer.Typer(help="Serve, request and show the maps that say which frames make an output.")
    maps.command("serve")(_serve)
    maps.command("request")(_request)
    maps.command("show")(_show)
    maps.command("check")(_check)
    app.add_typer(maps, name="mergemap")
    app.command("join")(join)


def _serve(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="The joins whose maps are served (TOML).")
    ] = None,
    configs: Annotated[
        list[Path] | None, typer.Option("--config", metavar="FILE", help="As FILE; may be repeated.")
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option(
            "--epoch",
            metavar="E",
            min=0,
            max=_EPOCH_MAX,
            help="The epoch that is announced first (default: the file's).",
        ),
    ] = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    wait_driver: WaitDriverOption = None,
    as_json: JsonOption = False,
) -> int:
    """Be the authority of one or more outputs: announce their maps, and answer requests for any of their epochs."""
    from framegate.joinbarrier.commands.map_options import ServeOptions
    from framegate.joinbarrier.commands.map_serve import run
    from framegate.schema.errors import WrongUsage

    paths = (*(files or ()), *(configs or ()))
    if not paths:
        raise WrongUsage("there is no map to serve: name the file of a join, FILE")
    return run(
        ServeOptions(
            config=paths[0],
            configs=paths,
            epoch=epoch,
            aeron_dir=absolute(aeron_dir),
            base_dir=absolute(base_dir),
            wait_driver=wait_driver,
            json=as_json,
        )
    )


@by_client
def _request(
    client: ClientWords,
    out_stream: OutStreamOption,
    epoch: Annotated[
        int | None,
        typer.Option(
            "--epoch",
            metavar="E",
            min=0,
            max=_EPOCH_MAX,
            help="The output's epoch (default: the one that is announced).",
        ),
    ] = None,
    timestamp: Annotated[bool, typer.Option("--timestamp", help="Ask for a map by timestamp.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0, max=86_400, help="Seconds to wait for the answer.")
    ] = 10.0,
) -> int:
    """Print the map of an output: the one that is announced, or with --epoch the answer. Exit code 1 without one."""
    from framegate.joinbarrier.commands.map_options import RequestOptions
    from framegate.joinbarrier.commands.map_request import run

    return run(
        RequestOptions(
            out_stream=out_stream,
            epoch=epoch,
            timestamp=timestamp,
            timeout_s=timeout,
            **client,
        )
    )


@by_client
def _show(
    client: ClientWords,
    out_stream: Annotated[
        int | None,
        typer.Option("--out-stream", metavar="N", min=1, max=_U32_NULL - 1, help="Of this output stream only."),
    ] = None,
    epoch: Annotated[
        int | None, typer.Option("--epoch", metavar="E", min=0, max=_EPOCH_MAX, help="Of this epoch only.")
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0, max=86_400, help="How long to listen.")
    ] = 3.0,
) -> int:
    """Listen for a while, and print every map that is announced."""
    from framegate.joinbarrier.commands.map_options import ShowOptions
    from framegate.joinbarrier.commands.map_show import run

    return run(
        ShowOptions(
            out_stream=out_stream,
            epoch=epoch,
            seconds=seconds,
            **client,
        )
    )


def _check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The join to explain (TOML).")],
    as_json: JsonOption = False,
) -> int:
    """Say in plain words, with examples, what a configuration joins and what it does to inputs that come late."""
    from framegate.joinbarrier.commands.map_check import run

    return run(file, as_json=as_json)
