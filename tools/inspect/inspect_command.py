# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate inspect``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import (
    AeronDirOption,
    BaseDirOption,
    ConfigOption,
    JsonOption,
    WaitDriverOption,
    absolute,
)


def inspect(
    source: Annotated[
        str,
        typer.Argument(metavar="FILE|-|live", help="A recording, messages, a superblock or slot; or living streams."),
    ],
    streams: Annotated[
        str | None, typer.Option("--streams", "--stream", metavar="N,NAME", help="Of these streams only.")
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option("--template", metavar="NAME", help="Of these messages only, by name or number; may be repeated."),
    ] = None,
    seq: Annotated[
        str | None,
        typer.Option("--seq", metavar="A:B", help="Frames from sequence A to before B; either may be left out."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="End after so many lines.")] = 0,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="S", min=0, help="How long living streams are heard.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when a recording is incomplete.")] = False,
    stats: Annotated[
        bool, typer.Option("--stats", help="Rates, gaps, jitter, sizes and skews instead of lines.")
    ] = False,
    suggest: Annotated[bool, typer.Option("--suggest", help="Print a join.toml made from the statistics.")] = False,
    topics: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="TOPIC=STREAM", help="A topic of another program as a stream; may be repeated."),
    ] = None,
    times: Annotated[
        str, typer.Option("--time", metavar="log|header", help="Which time messages of other programs have.")
    ] = "log",
    config: ConfigOption = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    wait_driver: WaitDriverOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show what a recording, a message, a region or living streams hold, a line for each message."""
    from framegate.recording.header_time import parse_times
    from framegate.recording.stream_names import names_in
    from framegate.recording.topic_map import parse_topics
    from framegate.shmpool.client.options import named_stream
    from framegate.tools.inspect.options import InspectOptions, parse_range
    from framegate.tools.inspect.run_inspect import run
    from framegate.tools.record.options import parse_streams

    recorded = names_in(Path(source)) if Path(source).is_file() else {}

    def number_of(word: str) -> int:
        here = partial(named_stream, base_dir=absolute(base_dir), config=config)
        return recorded[word] if word in recorded else here(word)

    return run(
        InspectOptions(
            source=source,
            streams=parse_streams(streams, number_of) if streams is not None else (),
            templates=tuple(template or ()),
            sequences=parse_range(seq) if seq is not None else (None, None),
            limit=limit,
            seconds=seconds,
            strict=strict,
            stats=stats,
            suggest=suggest,
            topics=parse_topics(topics or (), number_of),
            times=parse_times(times),
            config=config,
            aeron_dir=absolute(aeron_dir),
            base_dir=absolute(base_dir),
            wait_driver=wait_driver,
            json=as_json,
        )
    )
