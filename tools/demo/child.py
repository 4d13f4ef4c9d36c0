# SPDX-License-Identifier: Apache-2.0
"""One process of the demo: started in a session of its own, heard by what it prints, named when it dies."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from framegate.schema.errors import DONE, DemoFailed

_TAIL_BYTES: Final = 4_000
_TAIL_LINES: Final = 3


class Child:
    """Its standard output goes to ``NAME.out``, one JSON object a line; its standard error to ``NAME.log``."""

    def __init__(self, name: str, words: Sequence[str], logs: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        out = logs / f"{name}.out"
        with out.open("wb") as stdout, self.log.open("wb") as stderr:
            self._process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=environment,
                # Ctrl-C goes to a whole process group; who is to end when is the demo's business.
                start_new_session=True,
            )
        self._lines = out.open("rb")
        self._unfinished = b""
        self._said: dict[str, dict[str, Any]] = {}
        self.is_told_to_end = False

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its session."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.poll()

    def hear(self) -> list[dict[str, Any]]:
        """What it said since the last call. The latest of each kind stays for ``said``."""
        whole, _, self._unfinished = (self._unfinished + self._lines.read()).rpartition(b"\n")
        found = list[dict[str, Any]]()
        for line in whole.splitlines():
            # Libraries print where they like: a line that is no object is none of ours.
            with suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    found.append(message)
                    self._said[str(message.get("event"))] = message
        return found

    def said(self, event: str) -> dict[str, Any] | None:
        """The last thing of a kind that it said, of what ``hear`` has read."""
        return self._said.get(event)

    def check(self) -> None:
        """Raises DemoFailed when it has ended otherwise than it should."""
        status = self.exit_status
        if status not in (None, DONE):
            how = f"was killed by {_signal_name(-status)}" if status < 0 else f"ended with exit code {status}"
            self.fail(f"{self.name} {how}")

    def fail(self, what: str) -> None:
        """Raise DemoFailed, with the last that this process said."""
        tail = self.last_lines()
        raise DemoFailed(
            f"{what}; the last it said: {tail}" if tail else f"{what}; it said nothing",
            process=self.name,
            pid=self.pid,
            exit_status=self.exit_status,
        )

    def last_lines(self) -> str:
        """Its error, if it told one, else the end of its log."""
        self.hear()
        error = self.said("error")
        if error is not None:
            return f"[FG-{error.get('code')} {error.get('name')}] {error.get('message')}"
        with suppress(OSError):
            lines = self.log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").splitlines()
            kept = [line.strip() for line in lines if line.strip()][-_TAIL_LINES:]
            return " | ".join(re.sub(r"\s+", " ", line) for line in kept)
        return ""

    def tell_to_end(self, number: signal.Signals = signal.SIGINT) -> None:
        """As Ctrl-C would, once: a second one would cut its ending short."""
        if not self.is_told_to_end and self.exit_status is None:
            self.is_told_to_end = True
            self._process.send_signal(number)

    def close(self) -> None:
        """Let go of what is open here; the process is no longer waited for."""
        self._lines.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
