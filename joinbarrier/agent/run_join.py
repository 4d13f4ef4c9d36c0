# SPDX-License-Identifier: Apache-2.0
"""``framegate join``: run one join agent until its inputs have ended, its outputs are reached, or it is told to end."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.joinbarrier.agent.join_report import closing, look_after, not_joined, say_ready, serving
from framegate.joinbarrier.agent.plan import journal_shape
from framegate.joinbarrier.agent.restoring import RestoreOptions
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.flight.child import FlightOptions
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.recording.header_time import LOG
from framegate.schema.config.loading import Given
from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.console.quantities import count
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
        # Loaded here: a live join need not wait for the readers of recordings.
        from framegate.joinbarrier.agent.offline.run_recording import run_recording

        return run_recording(options, config, options.source)
    if "pending" not in config.join.model_fields_set:
        _log.info(
            'frames that wait are copied out of their rings, into %d bytes at most: join.pending is "auto" by default',
            config.join.pending_bytes,
        )
    aeron_dir = config.client.aeron_dir or default_aeron_dir(os.environ)
    with (
        StopSignal() as stop,
        JournalFolder(Path(config.join.journal), journal_shape(config), new_epoch=options.new_epoch) as folder,
        serving(options, config, folder) as server,
        connect(aeron_dir, config.client.base_dir, wait_driver_s=config.client.wait_driver) as client,
    ):
        stop.listen()
        agent = JoinAgent(client, config, folder, options.restore)
        with closing(options, agent, server):
            agent.attach(partial(_wait, stop))
            say_ready(options, agent, server)
            shown_at_ns = monotonic_ns()
            while not stop.is_set and agent.work():
                look_after(server)
                shown_at_ns = _show_progress(options, agent, shown_at_ns)
            agent.join_what_was_sent()
    return DONE


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
    names: Mapping[str, int] = {}
    if options.source is not None:
        from framegate.recording.stream_names import names_in

        names = names_in(options.source)
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


def _show_progress(options: JoinOptions, agent: JoinAgent, shown_at_ns: int) -> int:
    now_ns = monotonic_ns()
    if options.json or not sys.stderr.isatty() or now_ns < shown_at_ns:
        return shown_at_ns
    summary = agent.summary()
    lost = sum(not_joined(summary).values())
    print(f"\r{count(summary['rows'])} rows, {count(lost)} frames not joined ", end="", file=sys.stderr)
    return now_ns + _PROGRESS_NS
