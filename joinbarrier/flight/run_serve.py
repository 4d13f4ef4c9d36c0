# SPDX-License-Identifier: Apache-2.0
"""``framegate journal serve``: runs a server of journals until it is told to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from framegate.joinbarrier.flight.access import read_pem
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.local_token import made_token_file
from framegate.joinbarrier.flight.server import JournalServer, ServerOptions
from framegate.joinbarrier.flight.token import VARIABLE, read_token
from framegate.schema.console.quantities import byte_size, count
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, WrongUsage
from framegate.shmpool.stop_signal import StopSignal

_LOOK_S = 3600.0
"""How long to wait at once. The wait needs no timeout: a signal, or the end of standard input, ends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of the command line."""

    directories: Sequence[Path]
    listen: str
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    streams_max: int
    stall_s: float
    is_child: bool = False
    """Whether to end with standard input, whose other end the starting process holds."""
    json: bool = False


def run(options: ServeOptions, environment: Mapping[str, str] = os.environ) -> int:
    """Serve until told to end; return the exit code."""
    if not options.directories:
        raise WrongUsage("name the directories of the journals that are served")
    options = _with_token(options, environment)
    # What gRPC says of a port that is taken, this process says better.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    with StopSignal() as stop, JournalServer(options.directories, _server_options(options, environment)) as server:
        stop.listen()
        _say_ready(options, server)
        watched = [sys.stdin.fileno()] if options.is_child else []
        while not stop.wait(_LOOK_S, *watched):
            if options.is_child and not os.read(sys.stdin.fileno(), 1):
                break
        server.close()
        _say_summary(options, server.summary())
    return DONE


def _with_token(options: ServeOptions, environment: Mapping[str, str]) -> ServeOptions:
    """Add this user's own token. Without one, every user of this host could read what the files' modes deny."""
    has_token = options.token_file is not None or VARIABLE in environment
    if has_token or not Endpoint.parse(options.listen).is_loopback:
        return options
    return replace(options, token_file=made_token_file(environment))


def _server_options(options: ServeOptions, environment: Mapping[str, str]) -> ServerOptions:
    return ServerOptions(
        listen=Endpoint.parse(options.listen),
        token=read_token(options.token_file, environment),
        certificate=None if options.certificate is None else read_pem(options.certificate),
        key=None if options.key is None else read_pem(options.key),
        streams_max=options.streams_max,
        stall_s=options.stall_s,
    )


def _say_ready(options: ServeOptions, server: JournalServer) -> None:
    if options.json:
        emit(
            {
                "event": "ready",
                "pid": os.getpid(),
                "endpoint": str(server.endpoint),
                "port": server.endpoint.port,
                "journals": list(server.served.paths),
                "token_file": None if options.token_file is None else str(options.token_file),
            }
        )
    else:
        print(f"ready {server.endpoint}: {', '.join(server.served.paths)}", flush=True)


def _say_summary(options: ServeOptions, summary: Mapping[str, int]) -> None:
    if options.json:
        emit({"event": "summary", **summary})
    else:
        print(
            f"{count(summary['rows'])} rows, {byte_size(summary['bytes'])} in {count(summary['streams'])} streams",
            flush=True,
        )
