# SPDX-License-Identifier: Apache-2.0
"""The lock of a base directory and namespace: a locked file, which goes with its lease driver (PROTOCOL 10.3)."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from framegate.driver.region_folders import RegionFolders
from framegate.schema.errors import LeaseDriverPresent, NoPermission

LOCK_FILE: Final = "driver.lock"
_ATTEMPTS: Final = 100
"""How often the lock is tried: a driver that leaves removes the file and folders that another one has just opened."""


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The process that wrote a lock file, and whether it still runs."""

    pid: int
    is_held: bool


def lock_owner(folders: RegionFolders) -> LockOwner | None:
    """The lease driver of a base directory; None if there is no lock file. Raises OSError for one of another user."""
    try:
        descriptor = os.open(folders.root / LOCK_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        text = os.read(descriptor, 20).decode("ascii", "replace").strip()
        try:
            # The lock is shared and released at once. A driver that starts at this moment tries again.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return LockOwner(int(text) if text.isdigit() else 0, is_held=True)
        return LockOwner(int(text) if text.isdigit() else 0, is_held=False)
    finally:
        os.close(descriptor)


class DriverLock:
    """The lock, held from ``__enter__`` to ``__exit__``. The kernel frees it if the process dies."""

    def __init__(self, folders: RegionFolders) -> None:
        self._folders = folders
        self._descriptor = -1

    @property
    def path(self) -> Path:
        """The lock file; its content is the owner's pid."""
        return self._folders.root / LOCK_FILE

    def __enter__(self) -> Self:
        for _ in range(_ATTEMPTS):
            if self._take():
                return self
        if not self._folders.root.is_dir():
            raise self._nowhere("its folder cannot be made")
        raise self._present("its lock file goes from one driver to the next all the time")

    def __exit__(self, *exc: object) -> None:
        # Removed while it is still locked, so that nobody can lock a file that is about to be removed.
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1

    def _take(self) -> bool:
        try:
            self._folders.make(self._folders.root)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, self._folders.mode)
        except NotADirectoryError as refused:
            raise self._nowhere(str(refused.strerror)) from refused
        except (FileNotFoundError, FileExistsError):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise self._present("another lease driver serves it", owner) from None
        if not self._is_still_there(descriptor):
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor
        return True

    def _is_still_there(self, descriptor: int) -> bool:
        try:
            named = self.path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(descriptor))

    def _nowhere(self, why: str) -> NoPermission:
        return NoPermission(f"no lock file can be made there: {why}", path=str(self._folders.root))

    def _present(self, why: str, owner: str = "") -> LeaseDriverPresent:
        facts = {"pid": owner} if owner else {}
        return LeaseDriverPresent(why, base_dir=self._folders.base, namespace=self._folders.namespace, **facts)
