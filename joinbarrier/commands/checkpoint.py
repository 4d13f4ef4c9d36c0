# SPDX-License-Identifier: Apache-2.0
"""The commands ``framegate checkpoint trigger``, ``signal``, ``ls``, ``show`` and ``verify``."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer
from framegate.schema.console.command_options import ClientWords, JsonOption, by_client

_ID_MAX = (1 << 64) - 1
_Store: TypeAlias = Annotated[
    str, typer.Argument(metavar="DIR", help="The checkpoints' directory, or a URI (s3://, gs://, hdfs://).")
]


def register(app: typer.Typer) -> None:
    """Add this package's commands."""
    checkpoint = typer.Typer(
        help="Take a checkpoint, or send a signal; look into a store of checkpoints, and check it."
    )
    checkpoint.command("trigger")(_trigger)
    checkpoint.command("signal")(_signal)
    checkpoint.command("ls")(_ls)
    checkpoint.command("show")(_show)
    checkpoint.command("verify")(_verify)
    app.add_typer(checkpoint, name="checkpoint")


@by_client
def _trigger(
    client: ClientWords,
    pipeline: Annotated[str, typer.Option("--pipeline", metavar="P", help="Whose checkpoint.")] = "default",
    unaligned: Annotated[
        bool, typer.Option("--unaligned", help="Let the snapshot overtake the frames that wait.")
    ] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0, max=86_400, help="Seconds to wait until it is over.")
    ] = 60.0,
) -> int:
    """Ask the pipeline's coordinator, in the driver, for a checkpoint, and wait until it is complete or given up."""
    from framegate.joinbarrier.commands.checkpoint_trigger import TriggerOptions, run

    return run(
        TriggerOptions(
            pipeline=pipeline,
            unaligned=unaligned,
            timeout_s=timeout,
            **client,
        )
    )


@by_client
def _signal(
    client: ClientWords,
    kind: Annotated[
        str, typer.Argument(metavar="[KIND]", help="SyncTest, which only probes, or StreamGracefulEnd.")
    ] = "SyncTest",
    pipeline: Annotated[str, typer.Option("--pipeline", metavar="P", help="Whose agents hear it.")] = "default",
    instant: Annotated[bool, typer.Option("--instant", help="Wait for nobody: each agent handles it at once.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0, max=86_400, help="Seconds to wait until it is over.")
    ] = 60.0,
) -> int:
    """Send a signal on the control channel of a pipeline, and wait until every agent has handled it and sent it on."""
    from framegate.joinbarrier.commands.checkpoint_signal import SignalOptions, run

    return run(
        SignalOptions(
            kind=kind,
            pipeline=pipeline,
            instant=instant,
            timeout_s=timeout,
            **client,
        )
    )


def _ls(store: _Store, as_json: JsonOption = False) -> int:
    """Print the checkpoints that there are."""
    from framegate.joinbarrier.checkpoint.listing import ls

    return ls(store, as_json=as_json)


def _show(
    store: _Store,
    checkpoint_id: Annotated[int, typer.Argument(metavar="ID", min=1, max=_ID_MAX, help="Which checkpoint.")],
    as_json: JsonOption = False,
) -> int:
    """Print what a checkpoint consists of."""
    from framegate.joinbarrier.checkpoint.listing import show

    return show(store, checkpoint_id, as_json=as_json)


def _verify(
    store: _Store,
    checkpoint_id: Annotated[
        int | None, typer.Argument(metavar="[ID]", min=1, max=_ID_MAX, help="Only this one.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check every file against its manifest. Exit code 1 with everything that is wrong."""
    from framegate.joinbarrier.checkpoint.listing import verify

    return verify(store, checkpoint_id, as_json=as_json)
