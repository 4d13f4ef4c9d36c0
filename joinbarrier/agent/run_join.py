# SPDX-License-Identifier: Apache-2.0
"""``framegate join``: run one join agent until its inputs have ended, its outputs are reached, or it is told to end."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.joinbarrier.agent.offline.join_recording import RecordingJoin
from framegate.joinbarrier.agent.problems import problems_of, settle, told
from framegate.joinbarrier.agent.restoring import RestoreOptions
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.flight.child import FlightChild, FlightOptions
from framegate.joinbarrier.journal.description import JournalInput
from framegate.joinbarrier.journal.folder import JournalFolder, JournalShape
from framegate.recording.frames import Passage
from framegate.recording.header_time import LOG
from framegate.recording.recorded import LostPart
from framegate.recording.requirements import require_contents
from framegate.recording.source import Source, open_source
from framegate.recording.stream_names import names_in
from framegate.recording.topic_map import unserved
from framegate.schema.config.loading import Given
from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.console.progress import progress
from framegate.schema.console.quantities import byte_size, count, rounded
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, Interrupted, WrongUsage
from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal

_PROGRESS_NS: Final = 1_000_000_000
_LOOK_AGAIN_S: Final = 0.005
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """The options of the command line; None for one that was not given."""

    config: Path | None
    tables: Mapping[str, Any] = field(default_factory=dict)
    """The tables of a join without a file, used instead of a file."""
    source: Path | None = None
    """A recording to join instead of live streams."""
    topics: Mapping[str, int] = field(default_factory=dict)
    times: str = LOG
    """Which of their times the frames of other programs' topics have."""
    strict: bool | None = None
    """Whether a join fails if its inputs had frames and it made no row; None fails only a join of a recording."""
    is_appended: bool = False
    """Whether the rows of the recording may follow those of another one."""
    outputs: int | None = None
    new_epoch: bool = False
    flight: FlightOptions | None = None
    """How the journal is served to other hosts; None if it is not."""
    restore: RestoreOptions = field(default_factory=RestoreOptions)
    aeron_dir: str | None = None
    base_dir: str | None = None
    wait_driver: float | None = None
    json: bool = False

    @property
    def is_strict(self) -> bool:
        """Whether a join fails if it made no row of its inputs' frames."""
        return self.source is not None if self.strict is None else self.strict


def run(options: JoinOptions) -> int:
    """Run a join. Returns the exit code."""
    config = _configuration(options)
    for warning in config.warnings(is_live=options.source is None):
        _log.warning("%s", warning)
    if options.source is not None:
        return _run_recording(options, config, options.source)
    if "pending" not in config.join.model_fields_set:
        _log.info(
            'frames that wait are copied out of their rings, into %d bytes at most: join.pending is "auto" by default',
            config.join.pending_bytes,
        )
    aeron_dir = config.client.aeron_dir or default_aeron_dir(os.environ)
    with (
        StopSignal() as stop,
        JournalFolder(Path(config.join.journal), journal_shape(config), new_epoch=options.new_epoch) as folder,
        _serving(options, config, folder) as server,
        connect(aeron_dir, config.client.base_dir, wait_driver_s=config.client.wait_driver) as client,
    ):
        stop.listen()
        agent = JoinAgent(client, config, folder, options.restore)
        with _closing(options, agent, server):
            agent.attach(partial(_wait, stop))
            _say_ready(options, agent, server)
            shown_at_ns = monotonic_ns()
            while not stop.is_set and agent.work():
                _look_after(server)
                shown_at_ns = _show_progress(options, agent, shown_at_ns)
            agent.join_what_was_sent()
    return DONE


def _run_recording(options: JoinOptions, config: JoinConfig, source: Path) -> int:
    """Join a recording. No driver is needed."""
    if options.restore.wanted is not None and options.restore.store is None:
        raise WrongUsage("--restore with --from needs --checkpoints DIR: no coordinator says where they are")
    for warning in unserved(options.topics):
        _log.warning("%s", warning)
    with (
        StopSignal() as stop,
        _looked_at(options, config, source) as recording,
        JournalFolder(Path(config.join.journal), journal_shape(config), new_epoch=options.new_epoch) as folder,
        _serving(options, config, folder) as server,
    ):
        stop.listen()
        passage = Passage(recording, options.topics, options.times)
        join = RecordingJoin(
            config, folder, passage, lambda: stop.is_set, options.restore, is_appended=options.is_appended
        )
        with _closing(options, join, server):
            _say_ready(options, join, server)
            with join.progress(as_json=options.json):
                while not stop.is_set and join.work():
                    _look_after(server)
    return DONE


@contextmanager
def _looked_at(options: JoinOptions, config: JoinConfig, source: Path) -> Iterator[Source]:
    """Open the recording and check that it has what is asked of it, before anything is written."""
    with open_source(source) as recording:
        wanted = dict.fromkeys(each.stream for each in config.input if not each.optional)
        with progress(f"look into {source.name}", lambda: recording.at, recording.size, as_json=options.json):
            require_contents(recording, options.topics, wanted, options.times)
        yield recording


def _wait(stop: StopSignal) -> None:
    if stop.wait(_LOOK_AGAIN_S):
        raise Interrupted("ended by the user before it began")


def _configuration(options: JoinOptions) -> JoinConfig:
    if options.config is None and not options.tables and "FRAMEGATE_INPUT" not in os.environ:
        raise WrongUsage(
            "a join needs inputs, as in `framegate join left right:-2 --out out/pair`, or --config join.toml; "
            "`framegate join --example lockstep` writes one to start from"
        )
    given = {
        "join.outputs": (options.outputs, "--outputs"),
        "client.aeron_dir": (options.aeron_dir, "--aeron-dir"),
        "client.base_dir": (options.base_dir, "--base-dir"),
        "client.wait_driver": (options.wait_driver, "--wait-driver"),
    }
    overrides = worded_overrides(options.tables)
    overrides |= {key: Given(value, option) for key, (value, option) in given.items() if value is not None}
    names = {} if options.source is None else names_in(options.source)
    return load_join_config(options.config, os.environ, overrides, names)


def worded_overrides(tables: Mapping[str, Any]) -> dict[str, Given]:
    """The tables of a join without a file, with the command line's words as the origin of each value."""
    found = {}
    for name, table in tables.items():
        if isinstance(table, list):
            found[name] = Given(table, "INPUT")
        else:
            found |= {f"{name}.{key}": Given(value, f"{name}.{key}") for key, value in table.items()}
    return found


def journal_shape(config: JoinConfig) -> JournalShape:
    """The columns of this join's rows."""
    return JournalShape(
        out_stream=config.join.out_stream,
        policy=config.join.policy,
        inputs=tuple(JournalInput(name=each.name, stream=each.stream) for each in config.input),
        durability=config.journal.durability,
        reader_lease_s=config.journal.reader_lease_s,
    )


@contextmanager
def _closing(options: JoinOptions, agent: JoinAgent | RecordingJoin, server: FlightChild | None) -> Iterator[None]:
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
def _serving(options: JoinOptions, config: JoinConfig, folder: JournalFolder) -> Iterator[FlightChild | None]:
    """Run the journal's server while the join runs, if one is wanted."""
    if options.flight is None:
        yield None
        return
    with FlightChild(folder.path, replace(options.flight, base_dir=config.client.base_dir)) as server:
        yield server


def _look_after(server: FlightChild | None) -> None:
    if server is not None:
        server.look()


def _say_ready(options: JoinOptions, agent: JoinAgent | RecordingJoin, server: FlightChild | None) -> None:
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


def _show_progress(options: JoinOptions, agent: JoinAgent, shown_at_ns: int) -> int:
    now_ns = monotonic_ns()
    if options.json or not sys.stderr.isatty() or now_ns < shown_at_ns:
        return shown_at_ns
    summary = agent.summary()
    lost = sum(_not_joined(summary).values())
    print(f"\r{count(summary['rows'])} rows, {count(lost)} frames not joined ", end="", file=sys.stderr)
    return now_ns + _PROGRESS_NS


def _say_summary(options: JoinOptions, summary: dict[str, Any], server: FlightChild | None) -> None:
    if server is not None:
        summary["flight_restarts"] = server.restarts
    if options.json:
        emit(summary)
        return
    if sys.stderr.isatty() and options.source is None:
        print(file=sys.stderr)
    size, lasted = byte_size(summary["bytes"]), rounded(int(summary["seconds"] * 1e9))
    print(f"{count(summary['rows'])} rows, {size} in {lasted}; not joined: {_listed(_not_joined(summary)) or 'none'}")
    if surplus := _listed(summary["surplus"]):
        print(f"  surplus, frames that no row asked for: {surplus}")
    if summary.get("rows_before"):
        print(f"  {count(summary['rows_before'])} rows were there already")
    if summary.get("damage") is not None or summary.get("damaged_chunks"):
        print(f"  the recording is damaged: {summary['damage'] or 'some chunks are'}")
    for lost in summary.get("lost", ()):
        print(f"  {LostPart(**lost)}")


def _not_joined(summary: dict[str, Any]) -> dict[str, int]:
    """How many frames of each input are in no row, without surplus ones, of which a fast input has many."""
    return {name: frames - summary["surplus"].get(name, 0) for name, frames in summary["unmatched"].items()}


def _listed(frames: dict[str, int]) -> str:
    return ", ".join(f"{name} {count(each)}" for name, each in frames.items() if each)
