# SPDX-License-Identifier: Apache-2.0
"""The directory of a journal, as its writer finds and leaves it: the lock, ``journal.json``, and which epoch it is.

A journal epoch names one unbroken row of rows. It begins anew with the directory, when told to, and after the host went
down while rows were only in memory or in the page cache: nobody can say then which of them reached the disk.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from framegate.schema.errors import JournalBusy, JournalMismatch
from framegate.shmpool.clock import monotonic_ns, realtime_ns

FORMAT: Final = 1
INFO: Final = "journal.json"
LOCK: Final = "journal.lock"
HEAD: Final = "journal.head"
_CLOSED_CLEANLY: Final = 2
_STATE_WORD: Final = 4
_KEPT_MAPS: Final = 4096
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalShape:
    """What rows look like; a journal that was begun with another shape cannot be continued."""

    out_stream: int
    policy: str
    inputs: tuple[tuple[str, int], ...]
    """Names and streams, in the order of the columns."""
    durability: str
    reader_lease_s: int


class JournalFolder:
    """Held by one agent at a time; a context manager."""

    def __init__(self, path: Path, shape: JournalShape, *, new_epoch: bool = False) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(path)
        try:
            self.info = _continued(path, shape, new_epoch=new_epoch)
        except BaseException:
            os.close(self._lock)
            raise
        self._write()

    @property
    def epoch(self) -> int:
        """The journal epoch: when it began, in realtime nanoseconds."""
        return int(self.info["journal_epoch"])

    @property
    def map_version(self) -> int:
        """The number of the newest map."""
        return len(self.info["maps"]) + int(self.info.get("maps_forgotten", 0))

    def note_map(self, out_epoch: int, rules: list[dict[str, Any]]) -> int:
        """Remember an applied map; its version, which every row that it makes carries."""
        maps = self.info["maps"]
        if maps and maps[-1]["rules"] == rules and maps[-1]["out_epoch"] == out_epoch:
            return self.map_version
        maps.append({"version": self.map_version + 1, "out_epoch": out_epoch, "rules": rules})
        while len(maps) > _KEPT_MAPS:
            maps.pop(0)
            self.info["maps_forgotten"] = int(self.info.get("maps_forgotten", 0)) + 1
        self._write()
        return self.map_version

    def close(self) -> None:
        """Let another agent have it."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _write(self) -> None:
        replace_file(self.path / INFO, json.dumps(self.info, indent=1).encode())


def replace_file(target: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, whole."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(target)


def boot_id() -> str:
    """Which run of the host this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _locked(path: Path) -> int:
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise JournalBusy("another agent writes this journal", journal=str(path)) from None
    return lock


def _continued(path: Path, shape: JournalShape, *, new_epoch: bool) -> dict[str, Any]:
    """The journal's own description, begun now or read."""
    fresh = _begun(shape)
    found = _read(path / INFO)
    if found is None:
        return fresh
    for key in ("format", "out_stream", "policy", "inputs"):
        if found.get(key) != fresh[key]:
            raise JournalMismatch(
                f"the journal was begun with another {key}",
                journal=str(path),
                want=json.dumps(fresh[key]),
                have=json.dumps(found.get(key)),
            )
    epoch = int(found["journal_epoch"])
    if new_epoch or _may_have_lost(path, found, shape):
        _log.warning("%s: a new journal epoch begins; rows of the old one are in old-%d", path, epoch)
        _set_aside(path, epoch)
        return fresh
    kept = ("journal_epoch", "maps", "maps_forgotten")
    return {**fresh, **{key: found[key] for key in kept if key in found}}


def _begun(shape: JournalShape) -> dict[str, Any]:
    now_ns = realtime_ns()
    return {
        "format": FORMAT,
        "out_stream": shape.out_stream,
        "policy": shape.policy,
        "inputs": [{"name": name, "stream": stream} for name, stream in shape.inputs],
        "journal_epoch": now_ns,
        "boot_id": boot_id(),
        "realtime_minus_monotonic_ns": now_ns - monotonic_ns(),
        "durability": shape.durability,
        "reader_lease_s": shape.reader_lease_s,
        "maps": [],
    }


def _read(info: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(info.read_text())
        return {**found, "journal_epoch": int(found["journal_epoch"]), "maps": list(found.get("maps", []))}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as failure:
        raise JournalMismatch(f"journal.json cannot be read: {failure}", journal=str(info.parent)) from None


def _may_have_lost(path: Path, found: dict[str, Any], shape: JournalShape) -> bool:
    """Whether the host went down while rows were not safe."""
    if found.get("boot_id") == boot_id() or found.get("durability", shape.durability) == "fsync":
        return False
    try:
        words = (path / HEAD).read_bytes()
    except FileNotFoundError:
        return True
    state = int.from_bytes(words[8 * _STATE_WORD : 8 * _STATE_WORD + 8], "little")
    return state != _CLOSED_CLEANLY


def _set_aside(path: Path, epoch: int) -> None:
    aside = path / f"old-{epoch}"
    aside.mkdir(mode=0o700, exist_ok=True)
    for name in ("segments", "unmatched", HEAD):
        if (path / name).exists():
            (path / name).rename(aside / name)
    for reader in (path / "readers").glob("*.json"):
        # Its row number is one of the old epoch.
        reader.unlink()
