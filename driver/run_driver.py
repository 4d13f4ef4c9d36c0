# SPDX-License-Identifier: Apache-2.0
"""``framegate driver``: the media driver it starts or joins, watched until it is told to end."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from framegate.driver.configuration import DriverConfig, load_driver_config
from framegate.driver.mediadriver import MediaDriver, MediaDriverOptions, is_live
from framegate.driver.options import DriverOptions
from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, MediaDriverGone
from framegate.shmpool.aeron import is_driver_live
from framegate.shmpool.stop_signal import StopSignal

_WATCH_S: Final = 0.25
_log = logging.getLogger(__name__)


class MediaDriverWatch(Protocol):
    """What the run loop asks of the media driver, ours or a foreign one."""

    def check(self) -> None:
        """Raise ``MediaDriverGone`` when it no longer lives."""
        ...


def run(options: DriverOptions) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    config = load_driver_config(options, os.environ)
    aeron_dir = config.driver.aeron_dir or default_aeron_dir(os.environ)
    with StopSignal() as stop, serving(aeron_dir, config) as media_driver:
        _say_ready(aeron_dir, config.shm.base_dir, as_json=options.json)
        while not stop.wait(_WATCH_S):
            media_driver.check()
    return DONE


@contextmanager
def serving(aeron_dir: str, config: DriverConfig) -> Iterator[MediaDriverWatch]:
    """A live media driver in ``aeron_dir``: the one that is there, else the bundled one until the block ends."""
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


def _say_ready(aeron_dir: str, base_dir: str, *, as_json: bool) -> None:
    if as_json:
        emit({"event": "ready", "pid": os.getpid(), "aeron_dir": aeron_dir, "base_dir": base_dir})
    else:
        print(f"ready pid={os.getpid()} aeron_dir={aeron_dir} base_dir={base_dir}", flush=True)
