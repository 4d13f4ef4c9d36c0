# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate driver``."""

from __future__ import annotations

from typing import Annotated

import typer
from framegate.schema.console.command_options import AeronDirOption, BaseDirOption, ConfigOption, JsonOption, absolute


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    app.command("driver")(_driver)


def _driver(
    config: ConfigOption = None,
    base_dir: BaseDirOption = None,
    aeron_dir: AeronDirOption = None,
    slots: Annotated[
        int | None, typer.Option("--slots", metavar="N", help="Frames that a ring holds: a power of two.")
    ] = None,
    frame_bytes: Annotated[
        int | None, typer.Option("--frame-bytes", metavar="B", help="Bytes of the largest frame.")
    ] = None,
    parent_pid: Annotated[int | None, typer.Option("--parent-pid", hidden=True, help="End with this process.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Run the lease driver, and the bundled media driver unless --aeron-dir names a live one."""
    from framegate.driver.options import DriverOptions
    from framegate.driver.run_driver import run

    options = DriverOptions(
        config=config,
        base_dir=absolute(base_dir),
        aeron_dir=absolute(aeron_dir),
        slots=slots,
        frame_bytes=frame_bytes,
        json=as_json,
        parent_pid=parent_pid,
    )
    return run(options)
