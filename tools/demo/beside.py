# SPDX-License-Identifier: Apache-2.0
"""A command of framegate beside the demo: heard by what it prints, and named when it fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from framegate.schema.errors import DemoFailed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

PROGRAM: Final = (sys.executable, "-m", "framegate")
END_S: Final = 60.0
_STEP_NS: Final = 20_000_000
_PATIENCE_S: Final = 2.0


class Beside:
    """``framegate WORDS --json``. The end of a ``with`` waits for its end; after an error, not for long."""

    def __init__(self, name: str, logs: Path, *words: object) -> None:
        self.name, self._log = name, logs / f"{name}.log"
        command = [*PROGRAM, *map(str, words), "--json"]
        with self._log.open("wb") as log:
            # Ctrl-C goes to a whole session; when this process ends is the demo's affair.
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def said(self, event: str) -> dict[str, Any]:
        """Wait until it says this; the object that it prints. Raises DemoFailed."""
        deadline_ns = monotonic_ns() + int(END_S * 1e9)
        while True:
            self.check()
            is_last_look = self.has_ended or monotonic_ns() >= deadline_ns
            for line in self._log.read_text(errors="replace").splitlines():
                # Half a line, or one of a library, is no object.
                with suppress(ValueError, AttributeError):
                    if (found := json.loads(line)).get("event") == event:
                        return dict(found)
            if is_last_look:
                self._fail(f"did not say {event!r}")
            sleep_ns(_STEP_NS)

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self.process.poll() is not None

    def check(self) -> None:
        """Raises DemoFailed if it has ended otherwise than in good order."""
        if status := self.process.poll():
            names = {-each: f"was killed by {each.name}" for each in signal.Signals}
            self._fail(
                f"ended with code {status}" if status > 0 else names.get(status, f"was killed by signal {-status}")
            )

    def end(self) -> None:
        """Tell it to end in good order."""
        self.process.send_signal(signal.SIGINT)

    def _fail(self, what: str) -> None:
        said = [line.strip() for line in self._log.read_text(errors="replace").split("\n") if line.strip()]
        about: dict[str, Any] = {"process": self.name, "pid": self.process.pid, "exit_status": self.process.poll()}
        raise DemoFailed(f"{self.name} {what}; the last it said: {' | '.join(said[-3:]) or 'nothing'}", **about)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        if kind is not None:
            self.end()
        try:
            self.process.wait(END_S if kind is None else _PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if kind is None:
            self.check()
