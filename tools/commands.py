# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate doctor``, ``demo``, ``record``, ``replay``, ``inspect`` and ``audit``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import AeronDirOption, BaseDirOption, ConfigOption, JsonOption, absolute
from framegate.tools.audit_command import audit
from framegate.tools.demo.options import INPUTS, RATE, SECONDS, SHAPE, DemoOptions
from framegate.tools.inspect.inspect_command import inspect
from framegate.tools.record.record_command import record
from framegate.tools.replay.replay_command import replay


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    app.command("doctor")(_doctor)
    app.command("demo")(_demo)
    app.command("record")(record)
    app.command("replay")(replay)
    app.command("inspect")(inspect)
    app.command("audit")(audit)


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
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0.1, max=86_400, help="How long the cameras run.")
    ] = SECONDS,
    inputs: Annotated[int, typer.Option("--inputs", metavar="N", help="Cameras; the last one lags.")] = INPUTS,
    shape: Annotated[
        str, typer.Option("--shape", metavar="HxW", help="Rows and columns of a picture.")
    ] = f"{SHAPE[0]}x{SHAPE[1]}",
    rate: Annotated[
        float, typer.Option("--rate", metavar="HZ", min=0.1, max=100_000, help="Pictures a second.")
    ] = RATE,
    spark: Annotated[bool, typer.Option("--spark/--no-spark", help="Compute in Spark, or in Python.")] = True,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Spark as a small cluster whose executors fetch the rows by Flight.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keep journal, pictures and logs in this new folder.")
    ] = None,
    recording: Annotated[
        Path | None, typer.Option("--record", metavar="OUT.mcap", help="Record the cameras, pictures and all.")
    ] = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    as_json: JsonOption = False,
) -> int:
    """Cameras, a join and Spark over it, watched and checked; the pictures go to framegate-demo.png."""
    from framegate.shmpool.commands.produce import parse_shape
    from framegate.tools.demo.run import run

    return run(
        DemoOptions(
            aeron_dir=absolute(aeron_dir),
            base_dir=absolute(base_dir),
            seconds=seconds,
            inputs=inputs,
            shape=parse_shape(shape),
            rate=rate,
            has_spark=spark,
            has_cluster=cluster,
            keep=absolute(keep),
            record=absolute(recording),
            json=as_json,
        )
    )
