# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate produce`` and ``framegate consume``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import ClientWords, by_client
from framegate.schema.errors import WrongUsage

StreamOption = Annotated[str, typer.Option("--stream", metavar="N|NAME", help="The stream, by its number or its name.")]
DescriptorStreamOption = Annotated[
    int | None,
    typer.Option(
        "--descriptor-stream",
        metavar="N",
        min=1,
        max=(1 << 31) - 1,
        help="Aeron stream of the stream's descriptors, where it is not the shared one.",
    ),
]


PipelineOption = Annotated[
    str, typer.Option("--pipeline", metavar="P", help="Send barriers when the coordinator of this pipeline asks.")
]
LagOption = Annotated[
    int,
    typer.Option("--lag", metavar="N", min=0, max=1 << 20, help="Frames by which a moving picture is late."),
]


class PatternChoice(StrEnum):
    """What payloads can hold."""

    COUNTER = "counter"
    NOISE = "noise"
    ZEROS = "zeros"
    MOVING = "moving"


class ClockChoice(StrEnum):
    """The clock that stamps the frames."""

    MONOTONIC = "monotonic"
    REALTIME = "realtime"


class WaitChoice(StrEnum):
    """How a consumer waits for frames."""

    BELL = "bell"
    BACKOFF = "backoff"
    YIELD = "yield"
    SPIN = "spin"


class CheckedPattern(StrEnum):
    """What payloads can be checked for."""

    COUNTER = "counter"
    MOVING = "moving"


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    app.command("produce")(_produce)
    app.command("consume")(_consume)


@by_client
def _produce(
    client: ClientWords,
    stream: StreamOption,
    rate: Annotated[float | None, typer.Option("--rate", metavar="HZ", min=1e-6, help="Frames a second.")] = None,
    max_rate: Annotated[bool, typer.Option("--max-rate", help="As fast as it goes.")] = False,
    count: Annotated[int | None, typer.Option("--count", metavar="N", min=1, help="End after so many.")] = None,
    shape: Annotated[str, typer.Option("--shape", metavar="AxB", help="Elements along each dimension.")] = "480x640",
    dtype: Annotated[str, typer.Option("--dtype", help="As numpy names it.")] = "uint8",
    pattern: Annotated[
        PatternChoice, typer.Option("--pattern", help="What the payload holds.")
    ] = PatternChoice.COUNTER,
    lag: LagOption = 0,
    wait_consumers: Annotated[
        int, typer.Option("--wait-consumers", metavar="N", min=0, help="Begin when so many consumers are there.")
    ] = 0,
    end: Annotated[bool, typer.Option("--end", help="Say at the end that no frame follows.")] = False,
    schedule: Annotated[Path | None, typer.Option("--schedule", metavar="CSV", help="Frames by the clock.")] = None,
    sent_log: Annotated[
        Path | None, typer.Option("--sent-log", metavar="CSV", help="Write a line there for each published frame.")
    ] = None,
    descriptor_stream: DescriptorStreamOption = None,
    clock: Annotated[
        ClockChoice | None, typer.Option("--clock", help="The clock of the frames' timestamps, declared to the driver.")
    ] = None,
    pipeline: PipelineOption = "default",
    barrier_interval_ms: Annotated[
        float | None,
        typer.Option(
            "--barrier-interval-ms", metavar="MS", min=1, help="Barriers by themselves, where no coordinator asks."
        ),
    ] = None,
) -> int:
    """Publish synthetic or scheduled frames."""
    from framegate.shmpool.client.options import stream_number
    from framegate.shmpool.commands.produce import ProduceOptions, parse_shape, run

    ways = sum((rate is not None, max_rate, schedule is not None))
    if ways != 1:
        raise WrongUsage("one of --rate, --max-rate and --schedule says when frames are published")
    return run(
        ProduceOptions(
            stream=stream_number(stream, client),
            rate=rate,
            max_rate=max_rate,
            count=count,
            shape=parse_shape(shape),
            dtype=dtype,
            pattern=pattern.value,
            lag=lag,
            wait_consumers=wait_consumers,
            end=end,
            schedule=schedule,
            sent_log=sent_log,
            descriptor_stream=descriptor_stream,
            clock=None if clock is None else clock.value,
            pipeline=pipeline,
            barrier_interval_ms=barrier_interval_ms,
            **client,
        )
    )


@by_client
def _consume(
    client: ClientWords,
    stream: StreamOption,
    count: Annotated[int | None, typer.Option("--count", metavar="N", min=1, help="End after so many.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the payloads.")] = False,
    pattern: Annotated[
        CheckedPattern, typer.Option("--pattern", help="What --verify expects in them.")
    ] = CheckedPattern.COUNTER,
    lag: LagOption = 0,
    descriptor_stream: DescriptorStreamOption = None,
    idle: Annotated[WaitChoice, typer.Option("--idle", help="How it waits for frames.")] = WaitChoice.BELL,
) -> int:
    """Print or count the frames of a stream, until its end."""
    from framegate.shmpool.client.options import stream_number
    from framegate.shmpool.commands.consume import ConsumeOptions, run

    return run(
        ConsumeOptions(
            stream=stream_number(stream, client),
            count=count,
            verify=verify,
            pattern=pattern.value,
            lag=lag,
            descriptor_stream=descriptor_stream,
            idle=idle.value,
            **client,
        )
    )
