# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate doctor`` and ``framegate demo``."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from framegate.schema.console.command_options import AeronDirOption, BaseDirOption, ConfigOption, JsonOption, absolute


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    app.command("doctor")(_doctor)
    app.command("demo")(_demo)


def _doctor(
    config: ConfigOption = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    as_json: JsonOption = False,
) -> int:
    """Look for what this machine lacks, and say how to mend it. Exit code 3 when something does not work."""
    from framegate.driver.options import DriverOptions
    from framegate.tools.doctor import run

    options = DriverOptions(config=config, aeron_dir=absolute(aeron_dir), base_dir=absolute(base_dir), json=as_json)
    return run(options, os.environ)


def _demo(
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", min=0, help="End after this time.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Everything at once: media driver, driver, producers, a join and what comes out of it."""
    from framegate.tools.demo import run
    from framegate.tools.demo_options import DemoOptions

    return run(DemoOptions(aeron_dir=absolute(aeron_dir), base_dir=absolute(base_dir), seconds=seconds, json=as_json))
