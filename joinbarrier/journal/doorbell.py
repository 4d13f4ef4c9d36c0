# SPDX-License-Identifier: Apache-2.0
"""The doorbell, by which a sealed batch wakes a waiting named reader: a POSIX named semaphore of value 0 or 1.

Its name is ``/framegate-`` and the first 32 hexadecimal digits of SHA-256 over the journal's real path, a zero byte and
the reader's name. The reader makes it for this user alone (mode 0600), and removes it with its lease. The writer opens
the bells of the readers it finds, never makes one, and posts only if the value is 0. A reader that has read a closed
journal to its end removes its bell. If a reader is silent for longer than its lease, any process may remove its bell;
the join agent does, and the next reader of the journal.

The name can be guessed, so another user may have put something else there. A bell is opened only if it belongs to this
user, is closed to all others and has the size of a semaphore. No other user can remove or shorten such a file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import posix_ipc

_MODE: Final = 0o600
_FILES: Final = Path("/dev/shm")  # noqa: S108 - where the C library keeps named semaphores
_SEMAPHORE_BYTES: Final = 32
"""The size of ``sem_t`` on 64-bit Linux. A shorter file could be mapped all the same, and would fault in use."""


def bell_name(directory: Path, reader: str) -> str:
    """The name of a reader's semaphore.

    >>> bell_name(Path("/nowhere/journal"), "spark")
    '/framegate-f8665dc0aaefc6653d76c6c7d335daed'
    """
    place = os.fsencode(os.path.realpath(directory)) + b"\0" + reader.encode("ascii")
    return f"/framegate-{hashlib.sha256(place).hexdigest()[:32]}"


class Doorbell:
    """A reader's end of its bell."""

    def __init__(self, semaphore: posix_ipc.Semaphore) -> None:
        self._semaphore = semaphore

    @classmethod
    def make(cls, directory: Path, reader: str) -> Self | None:
        """Make the bell, or open this user's existing one. None if this machine offers no semaphores."""
        name = bell_name(directory, reader)
        try:
            return cls(posix_ipc.Semaphore(name, posix_ipc.O_CREX, mode=_MODE))
        except posix_ipc.ExistentialError:
            found = _open_own(name)
            return None if found is None else cls(found)
        except (OSError, posix_ipc.Error):
            # A bell only saves polling; without one the reader polls.
            return None

    def wait(self, timeout_ns: int) -> bool:
        """Wait until the bell rings; False on timeout."""
        try:
            self._semaphore.acquire(timeout_ns / 1e9)
        except (posix_ipc.BusyError, posix_ipc.SignalError):
            return False
        return True

    def close(self) -> None:
        """Close the bell. It stays for the next reader of this name."""
        self._semaphore.close()


def ring(directory: Path, reader: str) -> bool:
    """Wake a reader, for the writer; False if the reader has no bell."""
    semaphore = _open_own(bell_name(directory, reader))
    if semaphore is None:
        return False
    try:
        if semaphore.value == 0:
            semaphore.release()
    finally:
        semaphore.close()
    return True


def take_away(directory: Path, *readers: str) -> None:
    """Remove the bells of these readers. A reader that waits on its bell still waits until its timeout."""
    for reader in readers:
        # It is gone, or was never this user's.
        with suppress(OSError, posix_ipc.Error):
            posix_ipc.unlink_semaphore(bell_name(directory, reader))


def _open_own(name: str) -> posix_ipc.Semaphore | None:
    """Open this user's semaphore of that name; None if it is missing, or anything else.

    The file is checked before and after it is opened, so it is the file that was opened. Only this user could have
    replaced it in between.
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
