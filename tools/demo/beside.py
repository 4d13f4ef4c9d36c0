# SPDX-License-Identifier: Apache-2.0
"""A process beside the demo: started with a log, heard by what it prints there, and named when it fails."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from framegate.schema.errors import DemoFailed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

END_S: Final = 60.0
_STEP_NS: Final = 20_000_000
_PATIENCE_S: Final = 2.0
_TAIL_LINES: Final = 3


class Beside:
    """``python -m WORDS``, which ends when its standard input does. The end of a ``with`` waits for that."""

    def __init__(self, name: str, logs: Path, *words: str) -> None:
        self.name, self._log = name, logs / f"{name}.log"
        with self._log.open("wb") as log:
            # Ctrl-C goes to a whole session; when this process ends is the demo's affair.
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words], stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

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

    def begin(self) -> None:
        """Send it a line."""
        with suppress(BrokenPipeError):
            self._pipe.write(b"begin\n")
            self._pipe.flush()

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self.process.poll() is not None

    def check(self) -> None:
        """Raises DemoFailed if it has ended otherwise than in good order."""
        status = self.process.poll() or 0
        if status > 0:
            self._fail(f"ended with code {status}")
        if status < 0:
            names = {int(each): each.name for each in signal.Signals}
            self._fail(f"was killed by {names.get(-status, f'signal {-status}')}")

    def end(self) -> None:
        """Tell it to end."""
        with suppress(BrokenPipeError):
            self._pipe.close()

    @property
    def _pipe(self) -> IO[bytes]:
        assert self.process.stdin is not None  # noqa: S101  (it was started with one)
        return self.process.stdin

    def _fail(self, what: str) -> None:
        lines = self._log.read_text(errors="replace").split("\n")
        tail = " | ".join([line.strip() for line in lines if line.strip()][-_TAIL_LINES:])
        raise DemoFailed(
            f"{self.name} {what}; the last it said: {tail or 'nothing'}",
            process=self.name,
            pid=self.process.pid,
            exit_status=self.process.poll(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        self.end()
        try:
            self.process.wait(END_S if kind is None else _PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if kind is None:
            self.check()
