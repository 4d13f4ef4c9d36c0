# SPDX-License-Identifier: Apache-2.0
"""``framegate driver``: the media driver it starts or joins, and the lease driver, until it is told to end."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final, Protocol

from framegate.driver.agent import LeaseDriverAgent
from framegate.driver.checkpoint_agent import coordinating
from framegate.driver.configuration import DriverConfig, load_driver_config
from framegate.driver.lease_service import claimed, lease_driver
from framegate.driver.mediadriver import MediaDriver, MediaDriverOptions, await_orphan, is_live
from framegate.driver.options import DriverOptions
from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, MediaDriverGone, TransportError
from framegate.shmpool.aeron import AeronTransport, is_driver_live
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal

_WATCH_NS: Final = 250_000_000
_FAREWELL_NS: Final = 1_000_000_000
"""How long the last messages may wait for a slow subscriber."""
_log = logging.getLogger(__name__)


class MediaDriverWatch(Protocol):
    """What the run loop asks of the media driver, ours or a foreign one."""

    def check(self) -> None:
        """Raise ``MediaDriverGone`` when it no longer lives."""
        ...


def run(options: DriverOptions) -> int:
    """Serve until SIGINT or SIGTERM, or a shutdown request with the token; the exit code."""
    config = load_driver_config(options, os.environ)
    aeron_dir = config.driver.aeron_dir or default_aeron_dir(os.environ)
    with (
        StopSignal() as stop,
        # Before the media driver: a second lease driver must be refused without having started anything.
        claimed(config) as directory,
        coordinating(config.checkpoint) as checkpoints,
        serving(aeron_dir, config) as media_driver,
        AeronTransport(aeron_dir, config.media_driver.driver_timeout_ms, "lease driver") as transport,
        closing(lease_driver(transport, config, directory, checkpoints)) as agent,
    ):
        _serve(stop, media_driver, transport, agent, lambda: _say_ready(aeron_dir, config, as_json=options.json))
        summary: dict[str, object] = {**agent.counters()}
        if config.checkpoint:
            summary["checkpoints"] = checkpoints.counters()
    if options.json:
        emit({"event": "summary", **summary})
    return DONE


def _serve(
    stop: StopSignal,
    media_driver: MediaDriverWatch,
    transport: AeronTransport,
    agent: LeaseDriverAgent,
    say_ready: Callable[[], None],
) -> None:
    is_ready = False
    next_look_ns = monotonic_ns()
    while not stop.is_set and not agent.has_ended:
        _turn(agent, media_driver)
        if not is_ready and agent.is_ready:
            is_ready = True
            say_ready()
        if monotonic_ns() >= next_look_ns:
            next_look_ns = monotonic_ns() + _WATCH_NS
            media_driver.check()
            for error in transport.errors():
                _log.warning("%s", error)
    _say_farewell(agent, media_driver)


def _turn(agent: LeaseDriverAgent, media_driver: MediaDriverWatch) -> None:
    try:
        agent.do_work()
    except TransportError:
        # The watch knows more of why: it has the exit status and the log of a media driver that was started here.
        media_driver.check()
        raise


def _say_farewell(agent: LeaseDriverAgent, media_driver: MediaDriverWatch) -> None:
    agent.shutdown()
    deadline_ns = monotonic_ns() + _FAREWELL_NS
    while not agent.has_ended and monotonic_ns() < deadline_ns:
        _turn(agent, media_driver)


@contextmanager
def serving(aeron_dir: str, config: DriverConfig) -> Iterator[MediaDriverWatch]:
    """A live media driver in ``aeron_dir``: the one that is there, else the bundled one until the block ends."""
    # A supervisor restarts us faster than the media driver of our predecessor ends.
    await_orphan(aeron_dir)
    if is_live(aeron_dir):
        _log.info("joined the media driver that serves %s", aeron_dir)
        yield _Joined(aeron_dir, config.media_driver.driver_timeout_ms)
        return
    with MediaDriver(aeron_dir=aeron_dir, options=_media_driver_options(config)) as child:
        _log.info("started the media driver, pid %d, log %s", child.pid, child.log_file)
        yield _Started(child)


def _media_driver_options(config: DriverConfig) -> MediaDriverOptions:
    section = config.media_driver
    return MediaDriverOptions(
        threading=section.threading,
        idle=section.idle,
        term_buffer_bytes=section.term_buffer_length,
        client_liveness_timeout_ms=section.client_liveness_timeout_ms,
        driver_timeout_ms=section.driver_timeout_ms,
    )


class _Started:
    """Our child: its exit is seen at once."""

    def __init__(self, child: MediaDriver) -> None:
        self._child = child

    def check(self) -> None:
        status = self._child.exit_status
        if status is None:
            return
        how = f"was killed by signal {-status}" if status < 0 else f"ended with exit code {status}"
        raise MediaDriverGone(
            f"the media driver {how}: {self._child.log_tail() or 'its log is empty'}",
            aeron_dir=self._child.aeron_dir,
            pid=self._child.pid,
            log=self._child.log_file,
        )


class _Joined:
    """A foreign driver: seen by its mark alone."""

    def __init__(self, aeron_dir: str, driver_timeout_ms: int) -> None:
        self._aeron_dir = aeron_dir
        self._driver_timeout_ms = driver_timeout_ms

    def check(self) -> None:
        if not is_driver_live(self._aeron_dir, self._driver_timeout_ms):
            raise MediaDriverGone(
                "the media driver that was joined stopped working",
                aeron_dir=self._aeron_dir,
                driver_timeout_ms=self._driver_timeout_ms,
            )


def _say_ready(aeron_dir: str, config: DriverConfig, *, as_json: bool) -> None:
    base_dir = config.shm.base_dir
    if as_json:
        emit({"event": "ready", "pid": os.getpid(), "aeron_dir": aeron_dir, "base_dir": base_dir})
    else:
        print(f"ready pid={os.getpid()} aeron_dir={aeron_dir} base_dir={base_dir}", flush=True)
