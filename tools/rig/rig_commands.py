# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate up``, ``status``, ``logs``, ``down`` and ``new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import AeronDirOption, BaseDirOption, ConfigOption, JsonOption, absolute


def register(app: typer.Typer) -> None:
    """Add the commands of rigs."""
    app.command("up")(_up)
    app.command("status")(_status)
    app.command("logs")(_logs)
    app.command("down")(_down)
    app.command("new")(_new)


def _up(
    file: Annotated[Path, typer.Argument(metavar="RIG.toml", help="The rig; `framegate new` writes one.")],
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when every part runs; the rig goes on by itself.")
    ] = False,
    is_background: Annotated[bool, typer.Option("--background", hidden=True, help="What --detach starts.")] = False,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run a whole rig: driver, sources, joins, recorders, servers and queries of one file, restarted by their rules."""
    from framegate.tools.rig.options import UpOptions
    from framegate.tools.rig.run_up import run

    return run(
        UpOptions(
            file=file,
            detach=detach,
            is_background=is_background,
            aeron_dir=absolute(aeron_dir),
            base_dir=absolute(base_dir),
            json=as_json,
        )
    )


def _status(
    journals: Annotated[
        list[Path] | None, typer.Argument(metavar="[JOURNAL]...", help="Journals to look at, beside what runs.")
    ] = None,
    config: ConfigOption = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    as_json: JsonOption = False,
) -> int:
    """Print what runs with a base directory: the driver, the parts of a rig, and every join with what it waits for."""
    from framegate.tools.rig.options import PlaceOptions
    from framegate.tools.rig.run_status import run

    options = PlaceOptions(config=config, aeron_dir=absolute(aeron_dir), base_dir=absolute(base_dir), json=as_json)
    return run(options, journals or [])


def _logs(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Of this part only; rig: the supervisor.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is printed from now on.")] = False,
    lines: Annotated[int, typer.Option("-n", metavar="N", min=0, help="How many of the last lines.")] = 200,
    config: ConfigOption = None,
    base_dir: BaseDirOption = None,
    as_json: JsonOption = False,
) -> int:
    """Print what the parts of a rig said, as one log, or one part's."""
    from framegate.tools.rig.run_logs import LogsOptions, run

    options = LogsOptions(
        name=name, follow=follow, lines=lines, config=config, base_dir=absolute(base_dir), json=as_json
    )
    return run(options)


def _down(config: ConfigOption = None, base_dir: BaseDirOption = None, as_json: JsonOption = False) -> int:
    """End a rig: its sources first, its driver last. Nothing of it is left but what it wrote."""
    from framegate.tools.rig.options import PlaceOptions
    from framegate.tools.rig.run_down import run

    return run(PlaceOptions(config=config, base_dir=absolute(base_dir), json=as_json))


def _new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The rig to write; --list says which.")] = None,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to (default: NAME.toml).")] = None,
    is_list: Annotated[bool, typer.Option("--list", help="Print what there is, with a line for each.")] = False,
    systemd: Annotated[
        Path | None, typer.Option("--systemd", metavar="RIG.toml", help="Write a unit under which this rig runs.")
    ] = None,
    container: Annotated[
        Path | None,
        typer.Option("--container", metavar="RIG.toml", help="Write a container file in which this rig runs."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Write a rig that runs as it is, or what runs one elsewhere: a systemd unit, a container file."""
    from framegate.tools.rig.run_new import NewOptions, run

    return run(NewOptions(name=name, file=file, is_list=is_list, systemd=systemd, container=container, json=as_json))
