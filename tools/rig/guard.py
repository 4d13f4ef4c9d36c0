# SPDX-License-Identifier: Apache-2.0
"""The guard: a process that ends the parts of a rig when its supervisor is gone, however that ended.

The guard waits for the end of a pipe. The supervisor holds the other end, and writes which sessions exist: ``+PID``
when one begins, ``-PID`` when it has ended. At the end of the pipe the guard ends those that are left, the newest
first. Then it ends every other process with the rig's mark in its environment: one that left its session, or was
started in the supervisor's last instant. A parent-death signal would not do: it is tied to the thread that started a
process, and what that process has started itself would live on.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.tools.rig.sessions import end_session

MARK: Final = "RIG_OF_FRAMEGATE"
"""The variable in the environment of every process of a rig; child processes inherit it."""
_END_S: Final = 10.0
_STEP_NS: Final = 20_000_000


class Guard:
    """The guard, as the supervisor sees it."""

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self.mark = secrets.token_hex(8)
        self._sessions: list[int] = []
        self.restarts = 0
        self._process = self._started()

    @property
    def pid(self) -> int:
        """The process id of the guard."""
        return self._process.pid

    def note_begun(self, session: int) -> None:
        """Note a session, which must end with the supervisor."""
        self._sessions.append(session)
        self._say(f"+{session}")

    def note_ended(self, session: int) -> None:
        """Note that nothing is left of a session."""
        self._sessions.remove(session)
        self._say(f"-{session}")

    def look(self) -> None:
        """Start the guard again, if somebody has ended it."""
        if self._process.poll() is not None:
            self._pipe.close()
            self.restarts += 1
            self._process = self._started()
            for session in self._sessions:
                self._say(f"+{session}")

    def close(self) -> None:
        """Close the pipe. The guard ends what is left, and then itself."""
        self._pipe.close()
        self._process.wait(_END_S + (1 + len(self._sessions)) * 2 * self._grace_s)

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        return self._process.stdin

    def _say(self, line: str) -> None:
        try:
            self._pipe.write(f"{line}\n".encode())
            self._pipe.flush()
        except BrokenPipeError:
            # The guard has ended. `look` starts another one, which is told of all sessions.
            return

    def _started(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "framegate.tools.rig.guard", str(self._grace_s), self.mark]
        # It must hold nothing of the terminal or pipe that a rig in the background was started from.
        null = subprocess.DEVNULL
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True)


def left_over(lines: Iterable[str]) -> list[int]:
    """The sessions that began and did not end, the newest first.

    >>> left_over(["+7", "+8", "+9", "-8", ""])
    [9, 7]
    """
    found: list[int] = []
    for line in lines:
        sign, number = line[:1], line[1:].strip()
        if sign == "+":
            found.append(int(number))
        elif sign == "-" and int(number) in found:
            found.remove(int(number))
    return found[::-1]


def marked(mark: str) -> list[int]:
    """The processes that have this mark."""
    found, wanted = list[int](), f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # The process has ended meanwhile, or is another user's.
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def end_marked(mark: str, grace_s: float) -> None:
    """End the processes that have this mark: by a signal, and after the grace time by force."""
    _send(marked(mark), signal.SIGTERM)
    deadline_ns = monotonic_ns() + int(grace_s * 1e9)
    while (left := marked(mark)) and monotonic_ns() < deadline_ns:
        sleep_ns(_STEP_NS)
    _send(left, signal.SIGKILL)


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def main(grace_s: float, mark: str) -> int:
    """Wait for the end of standard input, then end what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The guard must outlive the supervisor. The end of the pipe is its signal.
        signal.signal(number, signal.SIG_IGN)
    for session in left_over(sys.stdin):
        end_session(session, grace_s)
    end_marked(mark, grace_s)
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2]))
