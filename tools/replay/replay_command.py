# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate replay``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import ClientWords, by_client
from framegate.shmpool.commands.groups import PipelineOption


@by_client
def replay(
    client: ClientWords,
    source: Annotated[
        Path,
        typer.Argument(metavar="IN.mcap", help="A recording, ours or another program's; or a dump of raw messages."),
    ],
    topics: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="TOPIC=STREAM", help="Send a topic on this stream; may be given repeatedly."),
    ] = None,
    times: Annotated[
        str,
        typer.Option(
            "--time", metavar="log|header", help="Which time frames of mapped topics have: the log's, or their own."
        ),
    ] = "log",
    speed: Annotated[
        str, typer.Option("--speed", metavar="1|N|max", help="Times as fast as it was; max: as the consumers allow.")
    ] = "1",
    from_ns: Annotated[
        int | None, typer.Option("--from-ns", metavar="T", min=0, help="Begin at this log time, in nanoseconds.")
    ] = None,
    from_position: Annotated[
        int | None, typer.Option("--from-position", metavar="P", min=0, help="Go on at a position that --json printed.")
    ] = None,
    loop: Annotated[int, typer.Option("--loop", metavar="N", min=0, help="Replay N times; 0: until told to end.")] = 1,
    wait_consumers: Annotated[
        int, typer.Option("--wait-consumers", metavar="N", min=0, help="Begin when each stream has so many consumers.")
    ] = 0,
    end: Annotated[bool, typer.Option("--end", help="Say at the end that no frame follows.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Publish the recorded barriers and ends too, in their places.")
    ] = False,
    pipeline: PipelineOption = "default",
    restore: Annotated[
        str | None,
        typer.Option("--restore", metavar="latest|ID", help="Go on where a checkpoint says that each stream stood."),
    ] = None,
    checkpoints: Annotated[
        str | None,
        typer.Option("--checkpoints", metavar="DIR", help="Where --restore looks; else where the coordinator says."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="JOURNAL", help="Afterwards compare a journal's rows with the recording."),
    ] = None,
) -> int:
    """Publish what was recorded, as its producers did."""
    from framegate.joinbarrier.agent.restoring import parse_wanted
    from framegate.recording.header_time import parse_times
    from framegate.recording.topic_map import parse_topics
    from framegate.schema.errors import WrongUsage
    from framegate.shmpool.client.options import stream_number
    from framegate.tools.replay.options import ReplayOptions, parse_speed
    from framegate.tools.replay.run_replay import run

    if from_ns is not None and from_position is not None:
        raise WrongUsage("a replay begins at --from-ns or at --from-position, not at both")
    if raw and restore is not None:
        raise WrongUsage("a --raw replay sends the recorded barriers, and has no part in checkpoints to --restore")
    if checkpoints is not None and restore is None:
        raise WrongUsage("--checkpoints says where --restore looks", found=checkpoints)
    return run(
        ReplayOptions(
            source=source,
            topics=parse_topics(topics or (), lambda word: stream_number(word, client)),
            times=parse_times(times),
            speed=parse_speed(speed),
            from_ns=from_ns,
            from_position=from_position or 0,
            loop=loop,
            wait_consumers=wait_consumers,
            end=end,
            raw=raw,
            check=check,
            pipeline=pipeline,
            restore=parse_wanted(restore),
            checkpoints=checkpoints,
            **client,
        )
    )
