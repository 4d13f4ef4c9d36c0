# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate record``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from framegate.schema.console.command_options import ClientWords, by_client


class _Compression(StrEnum):
    ZSTD = "zstd"
    NONE = "none"


@by_client
def record(
    client: ClientWords,
    out: Annotated[Path | None, typer.Argument(metavar="OUT.mcap", help="The file, which must not exist.")] = None,
    streams: Annotated[
        str | None,
        typer.Option("--streams", metavar="N,NAME", help="The streams, separated by commas."),
    ] = None,
    payload: Annotated[bool, typer.Option("--payload", help="Record payloads too, each copied once.")] = False,
    control: Annotated[
        bool, typer.Option("--control", help="Record the control, announce, QoS and metadata streams too.")
    ] = False,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", min=0, help="End after this time.")] = None,
    frames: Annotated[
        int | None, typer.Option("--frames", metavar="N", min=1, help="End after so many frames, of all streams.")
    ] = None,
    compression: Annotated[_Compression, typer.Option("--compression", help="How chunks are packed.")] = (
        _Compression.NONE
    ),
    queue_bytes: Annotated[
        int | None, typer.Option("--queue-bytes", metavar="B", min=1, help="Bytes that may wait to be written.")
    ] = None,
    through_ends: Annotated[
        bool, typer.Option("--through-ends", help="Go on when all streams have ended, for what comes after.")
    ] = False,
    recover: Annotated[
        Path | None,
        typer.Option("--recover", metavar="FILE", help="Make a whole recording of one that was cut; needs no driver."),
    ] = None,
) -> int:
    """Record what streams carry as an MCAP file, until they end, or until told to end."""
    from framegate.schema.errors import WrongUsage
    from framegate.shmpool.client.options import stream_number
    from framegate.tools.record import run_record
    from framegate.tools.record.options import RecordOptions, parse_streams

    if recover is not None:
        return run_record.recover(recover, out, as_json=client["json"])
    if out is None or streams is None:
        raise WrongUsage("a recording needs a file and --streams: framegate record OUT.mcap --streams 10001,10002")
    return run_record.run(
        RecordOptions(
            out=out,
            streams=parse_streams(streams, lambda word: stream_number(word, client)),
            payload=payload,
            control=control,
            seconds=seconds,
            frames=frames or 0,
            compression=compression.value,
            queue_bytes=queue_bytes,
            through_ends=through_ends,
            **client,
        )
    )
