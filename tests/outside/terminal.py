# SPDX-License-Identifier: Apache-2.0
"""A terminal with a person before it: what a program shows there, and Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.outside.bed import FRAMEGATE, WATCHDOG_S

ROWS, COLUMNS = 24, 80
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_SLICE_S = 0.01


@dataclass(frozen=True)
class Shown:
    """What was on the terminal when a program had ended."""

    code: int
    """Its exit code, negative for the signal that ended it."""
    raw: str
    after_s: float | None
    """From Ctrl-C to the end; None where it ended before."""

    @property
    def text(self) -> str:
        """Without colours and movements of the cursor; what was drawn over stands on lines of its own."""
        return _CONTROL.sub("", self.raw).replace("\r\n", "\n").replace("\r", "\n")


def on_terminal(
    words: Sequence[object],
    folder: Path,
    environment: Mapping[str, str],
    *,
    interrupt_after_s: float | None = None,
    interrupt_at: str = "",
) -> Shown:
    """Run ``framegate ...`` on a terminal of 80 columns to its end; press Ctrl-C after a time, or at a text."""
    with Terminal([FRAMEGATE, *map(str, words)], folder, environment) as terminal:
        if interrupt_at:
            terminal.until(interrupt_at)
        elif interrupt_after_s is not None:
            terminal.read_for(interrupt_after_s)
        has_pressed = bool(interrupt_at) or interrupt_after_s is not None
        pressed_at = terminal.press_ctrl_c() if has_pressed else None
        return terminal.ended(pressed_at)


class Terminal:
    """One program on a terminal of its own. A context manager."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        plain = {name: value for name, value in environment.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
        self._process = subprocess.Popen(
            list(words),
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=folder,
            env={**plain, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(other)
        self._raw = bytearray()
        self._is_over = False

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._end)

    def press_ctrl_c(self) -> float:
        """As a terminal does: the whole group of processes gets it. When that was."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
        return time.monotonic()

    def write(self, text: str) -> None:
        """Type something."""
        os.write(self._end, text.encode())

    def until(self, text: str) -> str:
        """Read until a text is there; all that is there then."""
        deadline = time.monotonic() + WATCHDOG_S
        while text.encode() not in self._raw:
            assert not self._is_over, f"it ended without {text!r}: {self}"
            assert time.monotonic() < deadline, f"it does not show {text!r}: {self}"
            self._read(_SLICE_S)
        return self._raw.decode(errors="replace")

    def read_for(self, seconds: float) -> None:
        """Read for some time, or to its end."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._is_over:
            self._read(min(left, _SLICE_S))

    def ended(self, pressed_at: float | None) -> Shown:
        """Read to the end."""
        deadline = time.monotonic() + WATCHDOG_S
        while not self._is_over:
            assert time.monotonic() < deadline, f"it does not end: {self}"
            self._read(_SLICE_S)
        code = self._process.wait(WATCHDOG_S)
        after_s = None if pressed_at is None else time.monotonic() - pressed_at
        return Shown(code, self._raw.decode(errors="replace"), after_s)

    def _read(self, seconds: float) -> None:
        if not select.select([self._end], [], [], seconds)[0]:
            return
        try:
            found = os.read(self._end, 1 << 16)
        except OSError:
            # What a terminal answers when nobody is at its other end any more.
            found = b""
        self._raw += found
        self._is_over = not found

    def __repr__(self) -> str:
        return f"{self._process.args!r} {self._process.poll()}\n{self._raw.decode(errors='replace')[-4000:]}"
