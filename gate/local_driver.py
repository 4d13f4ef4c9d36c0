# SPDX-License-Identifier: Apache-2.0
"""The driver that the programs of a user share: one that runs already, or one that this program starts and watches.

A driver that was started here ends with this program, however that ends. If another program's driver ends, this program
starts its own; streams go on in a new epoch.
"""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final, Self

from framegate.driver.driver_lock import lock_owner
from framegate.driver.mediadriver import is_live
from framegate.driver.region_folders import RegionFolders
from framegate.schema.errors import LeaseDriverPresent, LocalDriverFailed
from framegate.shmpool.clock import monotonic_ns

_LOOK_S: Final = 0.25
_READY_S: Final = 30.0
_END_S: Final = 10.0
_AWAY_LOOKS: Final = 8
"""How often nobody must serve the directory before this program does: a driver may just be restarting."""
_PAUSE_S_MAX: Final = 10.0
_log = logging.getLogger(__name__)


class LocalDriver:
    """A driver that serves the directories; it is ready when this is made. ``close`` ends it if it was started here."""

    def __init__(self, aeron_dir: str, base_dir: str, config: Path | None = None) -> None:
        self._aeron_dir, self._base_dir, self._config = aeron_dir, base_dir, config
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._ending = threading.Event()
        self._serve()
        self._thread = threading.Thread(target=self._look_after, name="framegate-driver", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The process id of the driver that was started here; None if another program's driver is used."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the driver that was started here. Idempotent."""
        self._ending.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- Starting one ---

    def _serve(self) -> None:
        """Start a driver, unless one serves the directories."""
        if self._is_served():
            return
        self.starts += 1
        self._process = self._started()
        said = self._said()
        if said.get("event") == "ready":
            return
        self._process.wait()
        self._forget()
        if said.get("name") == LeaseDriverPresent.name:
            # Another program was faster, and its driver serves the directories.
            return
        raise LocalDriverFailed(
            str(said.get("message", "it ended before it was ready")),
            hint=str(said.get("hint") or LocalDriverFailed.default_hint),
            **{"aeron_dir": self._aeron_dir, "base_dir": self._base_dir, **said.get("facts", {})},
        )

    def _is_served(self) -> bool:
        """Whether a lease driver of this base directory is alive, and uses this media driver."""
        try:
            owner = lock_owner(RegionFolders(Path(os.path.realpath(self._base_dir)), "default"))
        except OSError as refused:
            raise LocalDriverFailed(
                f"the base directory cannot be read: {refused.strerror}", base_dir=self._base_dir
            ) from refused
        return owner is not None and owner.is_held and is_live(self._aeron_dir)

    def _started(self) -> subprocess.Popen[bytes]:
        words = ["driver", "--json", "--aeron-dir", self._aeron_dir, "--base-dir", self._base_dir]
        words += [] if self._config is None else ["--config", str(self._config)]
        return subprocess.Popen(
            [sys.executable, "-m", "framegate", *words, "--parent-pid", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # Ctrl-C goes to a whole process group, but the driver must end after the program, and not before.
            start_new_session=True,
        )

    def _said(self) -> dict[str, Any]:
        """The first line that the driver printed."""
        assert self._process is not None  # noqa: S101  (it was just started)
        assert self._process.stdout is not None  # noqa: S101
        readable, _, _ = select.select([self._process.stdout], [], [], _READY_S)
        line = self._process.stdout.readline() if readable else b""
        if not readable:
            self._process.kill()
        try:
            found = json.loads(line)
        except ValueError:
            found = {}
        return found if isinstance(found, dict) else {}

    def _forget(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    # --- Looking after it ---

    def _look_after(self) -> None:
        pause_s, away = _LOOK_S, 0
        while not self._ending.wait(pause_s):
            is_gone = self._process is not None and self._process.poll() is not None
            away = 0 if self._process is not None or self._is_there() else away + 1
            if not is_gone and away < _AWAY_LOOKS:
                pause_s = _LOOK_S
                continue
            _log.warning("the driver is gone: another one is started")
            self._forget()
            began_ns = monotonic_ns()
            try:
                self._serve()
                away = 0
            except LocalDriverFailed as failure:
                _log.warning("%s", failure)
            # If the drivers end soon after their start, start them less and less often.
            lasted_s = (monotonic_ns() - began_ns) / 1e9
            pause_s = min(max(2 * pause_s, lasted_s), _PAUSE_S_MAX)

    def _is_there(self) -> bool:
        try:
            return self._is_served()
        except LocalDriverFailed:
            return False
