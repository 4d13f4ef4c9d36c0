# SPDX-License-Identifier: Apache-2.0
"""``framegate driver``: starts or joins a media driver, and runs the lease driver until it is told to end."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.driver.agent import LeaseDriverAgent
from framegate.driver.checkpoint_agent import coordinating
from framegate.driver.configuration import DriverConfig, load_driver_config
from framegate.driver.lease_service import claimed, lease_driver
from framegate.driver.media_driver_watch import JoinedDriver, MediaDriverWatch, StartedDriver
from framegate.driver.mediadriver import MediaDriver, MediaDriverOptions, await_orphan, is_live
from framegate.driver.options import DriverOptions
from framegate.driver.sole_driver import SoleDriver
from framegate.driver.start_turn import StartTurn
from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.config.types import STREAM_NAME
from framegate.schema.console.logs import kept_in
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, TransportError
from framegate.shmpool.client.stream_names import StreamNames
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.shmpool.transport.aeron import AeronTransport

_WATCH_NS: Final = 250_000_000
_FAREWELL_NS: Final = 1_000_000_000
"""How long the last messages may wait for a slow subscriber, in nanoseconds."""
_RECONNECT_S: Final = 0.2
LOG: Final = "driver.log"
"""In the base directory: what the driver of a program says below a warning, where FRAMEGATE_LOG wants that."""
_log = logging.getLogger(__name__)


def run(options: DriverOptions) -> int:
    """Serve until SIGINT or SIGTERM, or a shutdown request with the token. Returns the exit code."""
    config = load_driver_config(options, os.environ)
    aeron_dir = config.driver.aeron_dir or default_aeron_dir(os.environ)
    with (
        _listening() as stop,
        # This comes before the media driver: a second lease driver must be refused before it has started anything.
        claimed(config) as directory,
        # Its terminal belongs to the program that started it.
        kept_in(Path(config.shm.base_dir) / LOG) if options.parent_pid is not None else nullcontext(),
        _named(config),
        coordinating(config.checkpoint) as checkpoints,
        closing(StartTurn(aeron_dir)) as turn,
        serving(aeron_dir, config) as media_driver,
        closing(_connection(aeron_dir, config, media_driver)) as connection,
        closing(lease_driver(connection.transport, config, directory, checkpoints)) as agent,
    ):
        turn.close()
        served = _Served(stop, media_driver, connection, agent, options.parent_pid)
        served.serve(lambda: _say_ready(aeron_dir, config, as_json=options.json))
        summary: dict[str, object] = {**agent.counters(), "reconnects": connection.renewals}
        if config.checkpoint:
            summary["checkpoints"] = checkpoints.counters()
    if options.json:
        emit({"event": "summary", **summary})
    return DONE


@contextmanager
def _named(config: DriverConfig) -> Iterator[None]:
    """Make the stream names of the configuration known to every program from now on."""
    fixed = {name: each.stream_id for name, each in config.streams.items() if re.fullmatch(STREAM_NAME, name)}
    others = config.driver.stream_id_range if config.policies.allow_dynamic_streams else None
    StreamNames(config.shm.base_dir).fix(fixed, others)
    yield


@contextmanager
def _listening() -> Iterator[StopSignal]:
    """The stop signal. What was started when it arrives is ended in good order, even before the driver is ready."""
    with StopSignal() as stop:
        stop.listen()
        yield stop


class Connection:
    """The present Aeron client. If the process stood still for too long, it is replaced by another one.

    No other lease driver may serve the same media driver; if one does, this raises ``LeaseDriverPresent``.
    """

    def __init__(self, aeron_dir: str, config: DriverConfig, *, others_may_be_there: bool) -> None:
        self._aeron_dir = aeron_dir
        self._driver_timeout_ms = config.media_driver.driver_timeout_ms
        self._sole = SoleDriver(aeron_dir, config.driver)
        self.renewals = 0
        self.transport = self._connect(others_may_be_there=others_may_be_there)

    def renew(self) -> None:
        """Leave the lost client, if that was not done yet, and make another one. Raises what connecting raises."""
        self.transport.close()
        self.transport = self._connect(others_may_be_there=False)

    def _connect(self, *, others_may_be_there: bool) -> AeronTransport:
        transport = AeronTransport(self._aeron_dir, self._driver_timeout_ms, "lease driver")
        try:
            self._sole.claim(transport, others_may_be_there=others_may_be_there)
        except BaseException:
            transport.close()
            self._sole.close()
            raise
        return transport

    def close(self) -> None:
        """Leave the media driver."""
        self.transport.close()
        self._sole.close()


def _connection(aeron_dir: str, config: DriverConfig, media_driver: MediaDriverWatch) -> Connection:
    # A media driver that was started here cannot have another lease driver yet.
    return Connection(aeron_dir, config, others_may_be_there=isinstance(media_driver, JoinedDriver))


@dataclass(frozen=True, slots=True)
class _Served:
    """Everything that the run loop uses."""

    stop: StopSignal
    media_driver: MediaDriverWatch
    connection: Connection
    agent: LeaseDriverAgent
    parent_pid: int | None

    def serve(self, say_ready: Callable[[], None]) -> None:
        is_ready = is_orphan = False
        next_look_ns = monotonic_ns()
        while not self.stop.is_set and not self.agent.has_ended and not is_orphan:
            self._turn()
            if not is_ready and self.agent.is_ready:
                is_ready = True
                say_ready()
            if monotonic_ns() >= next_look_ns:
                next_look_ns = monotonic_ns() + _WATCH_NS
                self.media_driver.check()
                is_orphan = self.parent_pid not in (None, os.getppid())
                for error in self.connection.transport.errors():
                    _log.warning("%s", error)
        self._say_farewell()

    def _turn(self) -> None:
        try:
            self.agent.do_work()
        except TransportError as loss:
            # The watch knows more of the reason: the exit status and the log of a media driver that was started here.
            self.media_driver.check()
            _log.warning("%s", loss)
            self._reconnect()

    def _reconnect(self) -> None:
        """Connect again, after this process or the media driver stood still. Leases hold while that lives."""
        while not self.stop.wait(_RECONNECT_S):
            try:
                self.connection.renew()
                self.agent.go_on(self.connection.transport)
            except TransportError:
                self.media_driver.check()
            else:
                self.connection.renewals += 1
                _log.warning("connected again to the media driver; all leases hold")
                return

    def _say_farewell(self) -> None:
        self.agent.shutdown()
        deadline_ns = monotonic_ns() + _FAREWELL_NS
        while not self.agent.has_ended and monotonic_ns() < deadline_ns:
            try:
                self.agent.do_work()
            except TransportError:
                # Nobody receives it. The end of the announces tells the clients.
                self.media_driver.check()
                return


@contextmanager
def serving(aeron_dir: str, config: DriverConfig) -> Iterator[MediaDriverWatch]:
    """A live media driver in ``aeron_dir``: the one that is there, else the bundled one until the block ends."""
    # A supervisor may restart this process before the media driver of its predecessor has ended.
    await_orphan(aeron_dir)
    if is_live(aeron_dir):
        _log.info("joined the media driver that serves %s", aeron_dir)
        yield JoinedDriver(aeron_dir, config.media_driver.driver_timeout_ms)
        return
    with MediaDriver(aeron_dir=aeron_dir, options=_media_driver_options(config)) as child:
        _log.info("started the media driver, pid %d, log %s", child.pid, child.log_file)
        yield StartedDriver(child, config.media_driver.driver_timeout_ms)


def _media_driver_options(config: DriverConfig) -> MediaDriverOptions:
    section = config.media_driver
    return MediaDriverOptions(
        threading=section.threading,
        idle=section.idle,
        term_buffer_bytes=section.term_buffer_length,
        client_liveness_timeout_ms=section.client_liveness_timeout_ms,
        driver_timeout_ms=section.driver_timeout_ms,
        umask=0o007 if config.shm.mode & 0o070 else 0o077,
    )


def _say_ready(aeron_dir: str, config: DriverConfig, *, as_json: bool) -> None:
    base_dir = config.shm.base_dir
    if as_json:
        emit({"event": "ready", "pid": os.getpid(), "aeron_dir": aeron_dir, "base_dir": base_dir})
    else:
        print(f"ready pid={os.getpid()} aeron_dir={aeron_dir} base_dir={base_dir}", flush=True)
