# SPDX-License-Identifier: Apache-2.0
"""The turn to start: drivers that start on one Aeron directory at the same time do so one after the other.

Two media drivers would remove each other's directory. A lease driver could also claim a media driver that another
driver has just started, and that ends with that one. So the log file of the media driver is locked from before its
start until the lease driver has claimed it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

from framegate.driver.mediadriver import is_live
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

_PATIENCE_NS: Final = 30_000_000_000
"""Longer than a start may take. After this time the other driver counts as stuck, and this one starts as well."""
_STEP_NS: Final = 20_000_000


class StartTurn:
    """Waits until it is this process's turn to start; ``close`` gives the turn to the next one. Idempotent."""

    def __init__(self, aeron_dir: str) -> None:
        self._aeron_dir = aeron_dir
        self._path = Path(f"{aeron_dir}.log")
        self._descriptor = -1
        deadline_ns = monotonic_ns() + _PATIENCE_NS
        # The log exists before its media driver does. A live media driver without a log was not started by framegate.
        while (not is_live(aeron_dir) or self._path.exists()) and not self._take() and monotonic_ns() < deadline_ns:
            sleep_ns(_STEP_NS)

    def _take(self) -> bool:
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            # The attempt to start the media driver will report what is wrong with the path.
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_mine = os.path.samestat(os.fstat(descriptor), self._path.stat(follow_symlinks=False))
        except OSError:
            is_mine = False
        if is_mine:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return is_mine

    def close(self) -> None:
        """Let the next process start. The log of a media driver that was not started is removed."""
        if self._descriptor >= 0:
            if os.fstat(self._descriptor).st_size == 0 and not is_live(self._aeron_dir):
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
