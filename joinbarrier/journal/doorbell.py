# SPDX-License-Identifier: Apache-2.0
"""The bell by which a sealed batch wakes a named reader that waits: a POSIX named semaphore of value 0 or 1.

Its name is ``/framegate-`` and the first 32 hexadecimal digits of SHA-256 over the journal's real path, a zero byte
and the reader's name. The reader makes it, for this user alone (mode 0600), and takes it away with its lease. The
writer opens the bells of the readers it finds, never makes one, and posts only where the value is 0. A bell whose
reader went silent for longer than its lease is taken away by whoever sees to it, the join agent for instance.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final, Self

import posix_ipc

_MODE: Final = 0o600


def bell_name(directory: Path, reader: str) -> str:
    """The semaphore's name.

    >>> bell_name(Path("/nowhere/journal"), "spark")
    '/framegate-f8665dc0aaefc6653d76c6c7d335daed'
    """
    place = os.fsencode(os.path.realpath(directory)) + b"\0" + reader.encode("ascii")
    return f"/framegate-{hashlib.sha256(place).hexdigest()[:32]}"


class Doorbell:
    """A reader's end of the bell."""

    def __init__(self, semaphore: posix_ipc.Semaphore) -> None:
        self._semaphore = semaphore

    @classmethod
    def make(cls, directory: Path, reader: str) -> Self | None:
        """Make the bell, or use the one that is there. None where this machine has none to give."""
        try:
            return cls(posix_ipc.Semaphore(bell_name(directory, reader), posix_ipc.O_CREAT, mode=_MODE))
        except (OSError, posix_ipc.Error):
            # A bell saves polling and nothing else: without one the reader polls.
            return None

    def wait(self, timeout_ns: int) -> bool:
        """Wait until it rings; whether it did."""
        try:
            self._semaphore.acquire(timeout_ns / 1e9)
        except (posix_ipc.BusyError, posix_ipc.SignalError):
            return False
        return True

    def close(self) -> None:
        """Let go; the bell stays for the next who waits under this name."""
        self._semaphore.close()


def ring(directory: Path, reader: str) -> bool:
    """Writer: wake the reader; whether it has a bell."""
    try:
        semaphore = posix_ipc.Semaphore(bell_name(directory, reader))
    except (OSError, posix_ipc.Error):
        return False
    try:
        if semaphore.value == 0:
            semaphore.release()
    finally:
        semaphore.close()
    return True


def take_away(directory: Path, reader: str) -> None:
    """Unlink the bell; who waits on it goes on to do so until its time-out."""
    try:
        posix_ipc.unlink_semaphore(bell_name(directory, reader))
    except (OSError, posix_ipc.Error):
        return  # It is gone, or was never this user's.
