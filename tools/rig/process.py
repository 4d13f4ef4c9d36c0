# SPDX-License-Identifier: Apache-2.0
"""One process of a part: started in its own session and read line by line. Its end is noticed without waiting."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from framegate.tools.rig.log_file import LINE_CHARACTERS_MAX
from framegate.tools.rig.sessions import members

_READ_BYTES: Final = 1 << 16
_LAST_READS_MAX: Final = 64
"""How much is read at the end, which is more than a pipe holds: a process that left the session may go on printing."""


class PartProcess:
    """A process and what it prints. Raises OSError if it cannot be started."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            list(words),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C goes to a whole process group, but the supervisor decides what ends when.
            start_new_session=True,
        )
        assert self._process.stdout is not None  # noqa: S101  (for the type checker)
        assert self._process.stderr is not None  # noqa: S101
        self._printed, self._complained = _Lines(self._process.stdout), _Lines(self._process.stderr)

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its session."""
        return self._process.pid

    @property
    def descriptors(self) -> list[int]:
        """The descriptors that become readable when it prints something."""
        return [each.descriptor for each in (self._printed, self._complained) if each.descriptor >= 0]

    def hear(self) -> tuple[list[str], list[str]]:
        """The lines of standard output and of standard error since the last call."""
        return self._printed.read(), self._complained.read()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it started in its session, as Ctrl-C would."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def ended(self) -> int | None:
        """Its exit code once it has ended, negative for a signal; None before. What it left running is ended then."""
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None
        # The process is not reaped yet, so no other one has its number: all members of the session descend from it.
        for pid in members(self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return self._process.wait()

    def last_words(self) -> tuple[list[str], list[str]]:
        """What was printed until the end, including unfinished lines."""
        printed, complained = self.hear()
        return [*printed, *self._printed.close()], [*complained, *self._complained.close()]


class _Lines:
    """A pipe that is read without waiting. A line that is too long is cut."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self.descriptor = pipe.fileno()
        os.set_blocking(self.descriptor, False)
        self._unfinished = b""

    def read(self) -> list[str]:
        data = self._unfinished
        # Read only once, so that a part that prints without a pause leaves time for the others.
        with suppress(BlockingIOError):
            if self.descriptor >= 0:
                more = os.read(self.descriptor, _READ_BYTES)
                if not more:
                    self.descriptor = -1
                data += more
        whole, _, self._unfinished = data.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        if len(self._unfinished) > LINE_CHARACTERS_MAX:
            lines.append(self._unfinished)
            self._unfinished = b""
        return [_text(line) for line in lines]

    def close(self) -> list[str]:
        lines: list[str] = []
        for _ in range(_LAST_READS_MAX):
            lines += self.read()
        rest, self._unfinished = self._unfinished, b""
        self.descriptor = -1
        self._pipe.close()
        return [*lines, *([_text(rest)] if rest else [])]


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")[:LINE_CHARACTERS_MAX]
