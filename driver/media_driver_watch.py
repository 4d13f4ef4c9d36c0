# SPDX-License-Identifier: Apache-2.0
"""Watches whether the media driver is alive: one that was started here, or another one.

A media driver that stands still is not dead. It goes on later, its clients connect again, and everything that the lease
driver granted stays.
"""

from __future__ import annotations

from typing import Final, Protocol

from framegate.driver.mediadriver import MediaDriver
from framegate.schema.errors import MediaDriverGone
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.processes import process_exists
from framegate.shmpool.transport.aeron import driver_mark_of, is_driver_live

_STANDSTILL_MAX_NS: Final = 120_000_000_000
"""A media driver whose process lives, but that did not work for this long, is taken for dead."""


class MediaDriverWatch(Protocol):
    """What the run loop needs of a watch."""

    def check(self) -> None:
        """Raise ``MediaDriverGone`` if the media driver is dead."""
        ...


class StartedDriver:
    """The watch of a media driver that is our child: its exit is seen at once."""

    def __init__(self, child: MediaDriver, driver_timeout_ms: int) -> None:
        self._child = child
        self._standstill = _Standstill(child.aeron_dir, driver_timeout_ms)

    def check(self) -> None:
        """Raise ``MediaDriverGone`` if it ended, or has not worked for too long."""
        status = self._child.exit_status
        if status is not None:
            how = f"was killed by signal {-status}" if status < 0 else f"ended with exit code {status}"
        elif self._standstill.is_too_long():
            how = "stopped working"
        else:
            return
        raise MediaDriverGone(
            f"the media driver {how}: {self._child.log_tail() or 'its log is empty'}",
            aeron_dir=self._child.aeron_dir,
            pid=self._child.pid,
            log=self._child.log_file,
        )


class JoinedDriver:
    """The watch of a media driver that we joined: its mark, and the process that the mark names."""

    def __init__(self, aeron_dir: str, driver_timeout_ms: int) -> None:
        self._aeron_dir = aeron_dir
        self._driver_timeout_ms = driver_timeout_ms
        self._standstill = _Standstill(aeron_dir, driver_timeout_ms)

    def check(self) -> None:
        """Raise ``MediaDriverGone`` if it ended, or has not worked for too long."""
        is_gone = self._standstill.is_too_long()
        if not is_gone and self._standstill.has_begun:
            mark = driver_mark_of(self._aeron_dir)
            is_gone = mark is None or not process_exists(mark[1])
        if is_gone:
            raise MediaDriverGone(
                "the media driver that was joined stopped working",
                aeron_dir=self._aeron_dir,
                driver_timeout_ms=self._driver_timeout_ms,
            )


class _Standstill:
    """How long the mark of a media driver has not moved, as far as this process has seen.

    The age of the mark does not show that: after a pause of the whole machine it is high, and the media driver is about
    to refresh it.
    """

    def __init__(self, aeron_dir: str, driver_timeout_ms: int) -> None:
        self._aeron_dir = aeron_dir
        self._driver_timeout_ms = driver_timeout_ms
        self._since_ns: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the mark was older than the driver's time-out at the last look."""
        return self._since_ns is not None

    def is_too_long(self) -> bool:
        """Look at the mark. Returns whether the media driver must be taken for dead."""
        now_ns = monotonic_ns()
        if is_driver_live(self._aeron_dir, self._driver_timeout_ms):
            self._since_ns = None
        elif self._since_ns is None:
            self._since_ns = now_ns
        return self._since_ns is not None and now_ns - self._since_ns > _STANDSTILL_MAX_NS
