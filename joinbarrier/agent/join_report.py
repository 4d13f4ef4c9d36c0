# SPDX-License-Identifier: Apache-2.0
"""How a join of the command line begins and ends, live or of a recording: its server, ready line and summary."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from framegate.joinbarrier.agent.problems import problems_of, settle, told
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.flight.child import FlightChild
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.recording.recorded import LostPart
from framegate.schema.console.quantities import byte_size, count, rounded
from framegate.schema.console.reporting import emit

if TYPE_CHECKING:
    from framegate.joinbarrier.agent.join_agent import JoinAgent
    from framegate.joinbarrier.agent.offline.join_recording import RecordingJoin
    from framegate.joinbarrier.agent.run_join import JoinOptions


@contextmanager
def closing(options: JoinOptions, agent: JoinAgent | RecordingJoin, server: FlightChild | None) -> Iterator[None]:
    """Close the join whatever happens: write what is pending, and print the summary if the join began."""
    try:
        yield
    finally:
        summary = agent.close()
        problems = problems_of(agent, summary)
        summary["problems"] = told(problems)
        if agent.has_begun:
            _say_summary(options, summary, server)
    if agent.failure is not None:
        raise agent.failure
    settle(problems, is_strict=options.is_strict)


@contextmanager
def serving(options: JoinOptions, config: JoinConfig, folder: JournalFolder) -> Iterator[FlightChild | None]:
    """Run the journal's server while the join runs, if one is wanted."""
    if options.flight is None:
        yield None
        return
    with FlightChild(folder.path, replace(options.flight, base_dir=config.client.base_dir)) as server:
        yield server


def look_after(server: FlightChild | None) -> None:
    """Start the server again if it has ended."""
    if server is not None:
        server.look()


def say_ready(options: JoinOptions, agent: JoinAgent | RecordingJoin, server: FlightChild | None) -> None:
    if options.json:
        emit(
            {
                "event": "ready",
                "pid": os.getpid(),
                "out_stream": agent.config.join.out_stream,
                "journal": str(agent.folder.path),
                "journal_epoch": agent.folder.epoch,
                "next_row": agent.first_row,
                **({} if server is None else _flight(server)),
            }
        )


def _flight(server: FlightChild) -> dict[str, object]:
    return {"flight": str(server.endpoint), "flight_pid": server.pid, "flight_token_file": server.token_file}


def _say_summary(options: JoinOptions, summary: dict[str, Any], server: FlightChild | None) -> None:
    if server is not None:
        summary["flight_restarts"] = server.restarts
    if options.json:
        emit(summary)
        return
    if sys.stderr.isatty() and options.source is None:
        print(file=sys.stderr)
    size, lasted = byte_size(summary["bytes"]), rounded(int(summary["seconds"] * 1e9))
    print(f"{count(summary['rows'])} rows, {size} in {lasted}; not joined: {_listed(not_joined(summary)) or 'none'}")
    if surplus := _listed(summary["surplus"]):
        print(f"  surplus, frames that no row asked for: {surplus}")
    if summary.get("rows_before"):
        print(f"  {count(summary['rows_before'])} rows were there already")
    if summary.get("damage") is not None or summary.get("damaged_chunks"):
        print(f"  the recording is damaged: {summary['damage'] or 'some chunks are'}")
    for lost in summary.get("lost", ()):
        print(f"  {LostPart(**lost)}")


def not_joined(summary: dict[str, Any]) -> dict[str, int]:
    """How many frames of each input are in no row, without surplus ones, of which a fast input has many."""
    return {name: frames - summary["surplus"].get(name, 0) for name, frames in summary["unmatched"].items()}


def _listed(frames: dict[str, int]) -> str:
    return ", ".join(f"{name} {count(each)}" for name, each in frames.items() if each)
