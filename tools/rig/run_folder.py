# SPDX-License-Identifier: Apache-2.0
"""The folder of a running rig, ``<base>/rig-<user>``: its lock, its state, and the logs and join files of its parts.

The supervisor holds the lock, so that only one rig runs for each base directory. The kernel frees it when the
supervisor dies. The state names the parts; ``framegate down`` or the next rig removes exactly what it names.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from framegate.schema.config.settings import account, clean_user
from framegate.schema.errors import NoPermission, RigPresent
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.layout.owners import flaw_of_owner
from framegate.tools.rig.part import SUPERVISOR

LOCK: Final = "rig.lock"
STATE: Final = "state.json"
FORMAT: Final = 1
_ATTEMPTS: Final = 50
_PAUSE_NS: Final = 10_000_000
_STATE_BYTES_MAX: Final = 1 << 22


class RunFolder:
    """The rig folder of one base directory. The supervisor takes it; other programs only look."""

    def __init__(self, base_dir: str) -> None:
        self.path = Path(base_dir) / f"rig-{clean_user(account())}"
        self._lock = -1

    # --- what anybody may ask --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any] | None:
        """What the supervisor wrote last; None if nothing can be read."""
        try:
            with (self.path / STATE).open("rb") as file:
                found = json.loads(file.read(_STATE_BYTES_MAX))
        except (OSError, ValueError):
            return None
        is_known = isinstance(found, dict) and found.get("format") == FORMAT and isinstance(found.get("parts"), list)
        return found if is_known else None

    def supervisor(self) -> int | None:
        """The process that supervises a rig here now; None if there is none."""
        try:
            descriptor = os.open(self.path / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # The lock is shared and released at once. A supervisor that starts at this moment tries again.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.read(descriptor, 20).decode("ascii", "replace").strip()
            return int(text) if text.isdigit() else 0
        finally:
            os.close(descriptor)
        return None

    def log(self, name: str) -> Path:
        """The log file of a part."""
        return self.path / f"{name}.log"

    def part_names(self) -> list[str]:
        """The parts that the state names, without invalid names."""
        state = self.state()
        found = [each.get("name") for each in state["parts"] if isinstance(each, dict)] if state is not None else []
        return [name for name in found if isinstance(name, str) and "/" not in name]

    # --- the supervisor's --------------------------------------------------------------------------------------

    def take(self, mode: int = 0o700) -> Self:
        """Lock the folder and empty it. ``mode`` is for the base directory, if that must be made. Raises RigPresent."""
        self._make(mode)
        for _ in range(_ATTEMPTS):
            if self._try_lock():
                self.clear()
                return self
            # A program that only looks holds the lock for a moment, and one that leaves removes the folder.
            sleep_ns(_PAUSE_NS)
            self._make(mode)
        raise self._present(self.supervisor() or "unknown")

    def require_free(self) -> None:
        """Raise RigPresent if another rig runs. Other errors would only follow from that."""
        if (pid := self.supervisor()) is not None:
            raise self._present(pid)

    def _present(self, pid: object) -> RigPresent:
        return RigPresent("another rig runs with this base directory", base_dir=self.path.parent, pid=pid)

    def write_state(self, state: Mapping[str, object]) -> None:
        """Replace the state, whole or not at all."""
        new = self.path / f"{STATE}.new"
        new.write_text(json.dumps({"format": FORMAT, **state}))
        new.replace(self.path / STATE)

    def clear(self, also: Iterable[str] = ()) -> None:
        """Remove what the last rig left, as named by its state."""
        for name in {*self.part_names(), SUPERVISOR, *also}:
            for file in (f"{name}.log", f"{name}.log.1", f"{name}.toml"):
                (self.path / file).unlink(missing_ok=True)
        for file in (STATE, f"{STATE}.new"):
            (self.path / file).unlink(missing_ok=True)

    def close(self, *, remove: bool = False) -> None:
        """Release the lock. With ``remove`` nothing is left of the folder. Idempotent."""
        if self._lock < 0:
            return
        if remove:
            self.clear()
            # Removed while it is still locked, so that nobody can lock a file that is about to be removed.
            (self.path / LOCK).unlink(missing_ok=True)
            for folder in (self.path, self.path.parent):
                with suppress(OSError):
                    folder.rmdir()
        os.close(self._lock)
        self._lock = -1

    def _make(self, mode: int) -> None:
        for folder, its_mode in ((self.path.parent, mode), (self.path, 0o700)):
            try:
                if not folder.exists():
                    folder.mkdir(mode=its_mode, parents=True, exist_ok=True)
                    folder.chmod(its_mode)
            except OSError as refused:
                raise NoPermission(f"no folder can be made: {refused.strerror}", path=folder) from None
            if (flaw := flaw_of_owner(folder)) is not None:
                raise NoPermission(flaw, path=folder)

    def _try_lock(self) -> bool:
        try:
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_mine = os.path.samestat(os.fstat(descriptor), (self.path / LOCK).stat(follow_symlinks=False))
        except (BlockingIOError, FileNotFoundError):
            is_mine = False
        if not is_mine:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._lock = descriptor
        return True
