# SPDX-License-Identifier: Apache-2.0
"""The bell by which a sealed batch wakes a named reader that waits: a POSIX named semaphore of value 0 or 1.

Its name is ``/framegate-`` and the first 32 hexadecimal digits of SHA-256 over the journal's real path, a zero byte
and the reader's name. The reader makes it, for this user alone (mode 0600), and takes it away with its lease. The
writer opens the bells of the readers it finds, never makes one, and posts only where the value is 0. A bell whose
reader went silent for longer than its lease is taken away by whoever sees to it, the join agent for instance.

The name can be guessed, so another user may have put something else there. Only a semaphore that belongs to this user,
is closed to all others and has a semaphore's size is opened. Nobody else can take such a file away or cut it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final, Self

import posix_ipc

_MODE: Final = 0o600
_FILES: Final = Path("/dev/shm")  # noqa: S108 - where the C library keeps named semaphores
_SEMAPHORE_BYTES: Final = 32
"""``sizeof(sem_t)`` on 64-bit Linux. A shorter file would be mapped all the same, and fault when it is used."""


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
        """Make the bell, or use this user's that is there. None where this machine has none to give."""
        name = bell_name(directory, reader)
        try:
            return cls(posix_ipc.Semaphore(name, posix_ipc.O_CREX, mode=_MODE))
        except posix_ipc.ExistentialError:
            found = _open_own(name)
            return None if found is None else cls(found)
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
    semaphore = _open_own(bell_name(directory, reader))
    if semaphore is None:
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


def _open_own(name: str) -> posix_ipc.Semaphore | None:
    """This user's semaphore of that name; None where there is none, or something else lies there.

    What is opened is what was looked at: only this user can take the file away, and then it is another one afterwards.
    """
    before = _own_file(name)
    if before is None:
        return None
    try:
        semaphore = posix_ipc.Semaphore(name)
    except (OSError, posix_ipc.Error):
        return None
    if _own_file(name) != before:
        semaphore.close()
        return None
    return semaphore


def _own_file(name: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(_FILES / f"sem.{name.removeprefix('/')}")
    except OSError:
        return None
    is_semaphore = stat.S_ISREG(found.st_mode) and found.st_size == _SEMAPHORE_BYTES
    is_private = found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _MODE
    return (found.st_dev, found.st_ino) if is_semaphore and is_private else None
