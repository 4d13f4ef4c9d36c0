# SPDX-License-Identifier: Apache-2.0
"""The stop signal: Ctrl-C and SIGTERM for programs that run until told to end, or that work for long."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import FrameType
from typing import Final, Self, TypeVar

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SIGNALLED_EXIT: Final = 128
_Result = TypeVar("_Result")


def interruptible(work: Callable[[], _Result]) -> Future[_Result]:
    """Run native work of minutes on a thread of its own, so that Ctrl-C ends the wait for its result at once.

    The work itself goes on for as long as this process lives.
    """
    future = Future[_Result]()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as failure:  # raised again where the result is taken
            future.set_exception(failure)

    threading.Thread(target=run, name="framegate-aside", daemon=True).start()
    return future


class StopSignal:
    """Turns the first SIGINT or SIGTERM into a flag, and the second into an immediate end.

    Use it in the main thread, as a context manager. ``wait`` returns as soon as the signal arrives, or when one of the
    given file descriptors is readable.

    Before ``listen`` is called nobody would look at the flag; the program may be waiting for a driver. Until then the
    signal raises KeyboardInterrupt. Call ``listen`` before you report that the program is ready.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._is_looked_for = False
        self._read_end, self._write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() returned it also takes
        os.close(self._read_end)
        os.close(self._write_end)

    def listen(self) -> None:
        """Let the signal interrupt nothing from now on: the program checks for it, and ends in good order."""
        self._is_looked_for = True

    @property
    def is_set(self) -> bool:
        """Whether the signal arrived. Asking for it also listens."""
        self.listen()
        return self._is_set

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._is_set:
            os._exit(_SIGNALLED_EXIT + number)
        self._is_set = True
        os.write(self._write_end, b"!")
        if not self._is_looked_for:
            raise KeyboardInterrupt

    def wait(self, timeout_s: float, *descriptors: int) -> bool:
        """Wait for the signal, a readable descriptor, or the time. Returns whether the signal arrived."""
        if not self.is_set:
            select.select([self._read_end, *descriptors], [], [], timeout_s)
        return self.is_set
