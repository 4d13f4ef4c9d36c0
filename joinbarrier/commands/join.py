# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate join``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import (
    AeronDirOption,
    BaseDirOption,
    JsonOption,
    WaitDriverOption,
    absolute,
)


def join(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            show_default=False,
            help="Streams to join in place of a file; the first drives: left right:-2 imu~10ms (see README).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The journal of a join without a file.")
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="D", help="A row each 100ms, say; without a file, by a clock.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write a join without a file as a join.toml, and end."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="What is joined, and where it goes (TOML).")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="IN.mcap", help="Join what a recording holds; needs no driver."),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="TOPIC=STREAM", help="With --from: a topic's stream; may be given repeatedly."),
    ] = None,
    times: Annotated[
        str,
        typer.Option("--time", metavar="log|header", help="With --from: the time of mapped topics' frames."),
    ] = "log",
    append: Annotated[
        bool, typer.Option("--append", help="With --from: join a further recording behind the journal's rows.")
    ] = False,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict/--no-strict", help="No row from inputs that had frames is a failure (default: with --from)."
        ),
    ] = None,
    outputs: Annotated[
        int | None, typer.Option("--outputs", metavar="N", min=0, help="Stop after so many rows; 0: never.")
    ] = None,
    restore: Annotated[
        str | None,
        typer.Option("--restore", metavar="latest|ID", help="Go on from the newest whole checkpoint, or this one."),
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option("--checkpoints", metavar="DIR", help="Where they are; else the pipeline's coordinator says."),
    ] = None,
    new_epoch: Annotated[
        bool, typer.Option("--new-epoch", help="Begin a new journal epoch; the rows so far are set aside.")
    ] = False,
    example: Annotated[
        str | None, typer.Option("--example", metavar="NAME", help="Write a ready-made join.toml to look at, and end.")
    ] = None,
    flight: Annotated[
        str | None,
        typer.Option("--flight", metavar="URI", help="Serve the journal to other hosts: grpc[+tls]://HOST:PORT."),
    ] = None,
    flight_token_file: Annotated[
        Path | None,
        typer.Option("--flight-token-file", metavar="FILE", help="Its token (default: FRAMEGATE_FLIGHT_TOKEN)."),
    ] = None,
    flight_tls_cert: Annotated[
        Path | None, typer.Option("--flight-tls-cert", metavar="FILE", help="Its certificate chain (PEM).")
    ] = None,
    flight_tls_key: Annotated[
        Path | None, typer.Option("--flight-tls-key", metavar="FILE", help="Its private key (PEM).")
    ] = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    wait_driver: WaitDriverOption = None,
    as_json: JsonOption = False,
) -> int:
    """Join streams: for every output the frames that belong together, as rows of a journal."""
    if example is not None:
        from framegate.joinbarrier.commands.write_example import write_example

        return write_example(example, config, as_json=as_json)
    from framegate.joinbarrier.agent.restoring import RestoreOptions, parse_wanted
    from framegate.joinbarrier.agent.run_join import JoinOptions, run
    from framegate.joinbarrier.commands.join_words import save_tables, worded_tables
    from framegate.joinbarrier.flight.child import FlightOptions
    from framegate.recording.header_time import parse_times
    from framegate.recording.topic_map import parse_topics
    from framegate.schema.errors import WrongUsage
    from framegate.shmpool.client.options import named_stream

    tables = worded_tables(inputs or (), config=config, out=out, every=every, save=save)
    if tables is not None and save is not None:
        return save_tables(tables, save, as_json=as_json)
    if topics and source is None:
        raise WrongUsage("--map says which topics of a recording are which streams: it needs --from IN.mcap")
    if append and source is None:
        raise WrongUsage("--append joins a further recording: it needs --from IN.mcap")
    if append and new_epoch:
        raise WrongUsage("--append goes on behind the rows that --new-epoch would set aside: give one of them")
    if times != "log" and source is None:
        raise WrongUsage("--time says which time a recording's messages have: it needs --from IN.mcap")
    return run(
        JoinOptions(
            config=config,
            tables=tables or {},
            source=source,
            topics=parse_topics(topics or (), partial(named_stream, base_dir=absolute(base_dir), config=config)),
            times=parse_times(times),
            is_appended=append,
            strict=strict,
            outputs=outputs,
            flight=None
            if flight is None
            else FlightOptions(
                listen=flight, token_file=flight_token_file, certificate=flight_tls_cert, key=flight_tls_key
            ),
            new_epoch=new_epoch,
            restore=RestoreOptions(wanted=parse_wanted(restore), store=checkpoints),
            aeron_dir=absolute(aeron_dir),
            base_dir=absolute(base_dir),
            wait_driver=wait_driver,
            json=as_json,
        )
    )
