# SPDX-License-Identifier: Apache-2.0
"""The directory of a journal, as its writer finds and leaves it: the lock, ``journal.json``, and the journal epoch.

A journal epoch names one unbroken sequence of rows. A new one begins with the directory, on request, and after the host
went down while rows were only in memory or in the page cache, because nobody can say then which of them reached the
disk. A journal without a row constrains nobody: a join of other inputs may begin in its place.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from framegate.joinbarrier.journal.description import (
    JournalDescription,
    JournalInput,
    read_description,
    write_description,
)
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.layout import HEAD, LOCK, READERS_FOLDER, ROWS_FOLDER, UNMATCHED_FOLDER
from framegate.schema.errors import FramegateError, JournalBusy, JournalMismatch, JournalMissing, NoPermission
from framegate.shmpool.clock import monotonic_ns, realtime_ns

if TYPE_CHECKING:
    from framegate.joinbarrier.journal.journal import Journal

_KEPT_MAPS: Final = 4096
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalShape:
    """The shape of a journal's rows. A journal that was begun with another shape cannot be continued."""

    out_stream: int
    policy: str
    inputs: tuple[JournalInput, ...]
    """The inputs, in the order of the columns."""
    durability: str
    reader_lease_s: int


class JournalFolder:
    """A journal's directory, held by one agent at a time; a context manager. Call ``begin`` before writing into it."""

    def __init__(self, path: Path, shape: JournalShape, *, new_epoch: bool = False) -> None:
        self.path = path
        self._shape = shape
        _make(path)
        self._locks = _locked(path)
        try:
            self.info, goes_on = _continued(path, shape)
            self._is_epoch_due = new_epoch and goes_on
            if not goes_on:
                write_description(path, self.info)
        except BaseException:
            self.close()
            raise

    @property
    def epoch(self) -> int:
        """The journal epoch: when it began, in realtime nanoseconds."""
        return self.info.journal_epoch

    @property
    def map_version(self) -> int:
        """The version of the newest map."""
        return self.info.maps_forgotten + len(self.info.maps)

    def begin(self) -> None:
        """Begin writing. If a new epoch was requested, what is there is set aside only now, so that an agent that fails
        before leaves everything as it is.
        """
        if self._is_epoch_due:
            self.begin_anew("it was asked for")
        else:
            write_description(self.path, self.info)

    def begin_anew(self, reason: str) -> None:
        """Set aside everything that is there, whole, and begin another journal epoch."""
        _begin_anew(self.path, self.info.journal_epoch, reason)
        self._is_epoch_due = False
        self.info = _begun(self._shape)
        write_description(self.path, self.info)

    def leave_behind_rowless(self) -> bool:
        """Begin anew if no row was ever sealed, because nothing that is there is of use to the next join; False if
        there are rows.
        """
        if not _is_without_rows(self.path, self.epoch):
            return False
        _leave_behind(self.path, self.epoch)
        self._is_epoch_due = False
        self.info = _begun(self._shape)
        write_description(self.path, self.info)
        return True

    def note_map(self, noted: Mapping[str, Any]) -> int:
        """Store an applied map; return its version, which every row that it makes carries.

        ``noted`` holds ``message``, the announce with epoch 0, and ``local``, the keys of the join's own file that
        choose among the frames that the map admits. These two identify a version: a map that comes again, even in
        another epoch, keeps its version. Anything else in ``noted`` is for people.
        """
        version = self.version_of(noted)
        if version <= self.map_version:
            return version
        maps = (*self.info.maps, {"version": version, **noted})
        surplus = max(0, len(maps) - _KEPT_MAPS)
        self.info = replace(self.info, maps=maps[surplus:], maps_forgotten=self.info.maps_forgotten + surplus)
        write_description(self.path, self.info)
        return version

    @property
    def recordings(self) -> tuple[Mapping[str, Any], ...]:
        """The recordings that the present rows come from, or will come from once writing begins."""
        return () if self._is_epoch_due else self.info.recordings

    def note_recordings(self, recordings: Sequence[Mapping[str, Any]]) -> None:
        """Store which recordings the rows come from."""
        self.info = replace(self.info, recordings=tuple(recordings))
        write_description(self.path, self.info)

    def version_of(self, noted: Mapping[str, Any]) -> int:
        """The version of a map, or the one that it will have once it is stored."""
        for known in reversed(self.info.maps):
            if all(key in known and known[key] == noted[key] for key in ("message", "local")):
                return int(known["version"])
        return self.map_version + 1

    def note_retired(self) -> None:
        """Repeat in the description what retention has removed so far. Call it only while the journal still lies where
        it was.
        """
        write_description(self.path, self.info)

    def close(self) -> None:
        """Release the directory to another agent."""
        for lock in self._locks:
            os.close(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as refused:
        raise NoPermission(f"no journal can be made there: {refused.strerror}", path=str(path)) from refused


def _locked(path: Path) -> tuple[int, int]:
    """Lock the file and the directory itself, because whoever deletes the directory's content deletes the lock file
    too.
    """
    directory = _held(path, path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return directory, _held(path, path / LOCK, os.O_RDWR | os.O_CREAT)
    except BaseException:
        os.close(directory)
        raise


def _held(journal: Path, path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise JournalBusy("another agent writes this journal", journal=str(journal)) from None
    return descriptor


def _continued(path: Path, shape: JournalShape) -> tuple[JournalDescription, bool]:
    """The journal's description, new or read, and whether writing continues the rows that are there."""
    fresh = _begun(shape)
    try:
        found = read_description(path)
    except JournalMissing:
        return fresh, False
    try:
        _check_shape(path, found.as_json(), fresh.as_json())
    except JournalMismatch:
        if not _is_without_rows(path, found.journal_epoch):
            raise
        _leave_behind(path, found.journal_epoch)
        return fresh, False
    if _may_have_lost(path, found, shape):
        _begin_anew(path, found.journal_epoch, "the host went down while rows were not safe")
        return fresh, False
    kept = {key: getattr(found, key) for key in ("journal_epoch", "maps", "maps_forgotten", "recordings")}
    return replace(fresh, **kept), True


def _begun(shape: JournalShape) -> JournalDescription:
    now_ns = realtime_ns()
    return JournalDescription(
        out_stream=shape.out_stream,
        policy=shape.policy,
        inputs=shape.inputs,
        journal_epoch=now_ns,
        boot_id=boot_id(),
        realtime_minus_monotonic_ns=now_ns - monotonic_ns(),
        durability=shape.durability,
        reader_lease_s=shape.reader_lease_s,
    )


def _check_shape(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key in ("out_stream", "policy", "inputs"):
        if found[key] != wanted[key]:
            which = "other inputs" if key == "inputs" else f"another {key}"
            raise JournalMismatch(
                f"the journal was begun with {which}",
                journal=str(path),
                want=json.dumps(wanted[key]),
                have=json.dumps(found[key]),
            )


def _is_without_rows(path: Path, epoch: int) -> bool:
    """Whether no row was ever sealed; both the head and the segments must say so."""
    if not any((path / ROWS_FOLDER).glob("*")):
        return True
    head = Head.open(path)
    if head is None or head.journal_epoch != epoch or head.next_row:
        return False
    try:
        return _journal(path).sealed_row == 0
    except FramegateError:
        return False


def _journal(path: Path) -> Journal:
    # Loaded here because pyarrow takes a tenth of a second, and few joins find rows of another one.
    from framegate.joinbarrier.journal.journal import Journal

    return Journal(path)


def _leave_behind(path: Path, epoch: int) -> None:
    """Remove what a journal without a row left. Only its unmatched frames are worth keeping."""
    if _journal(path).unmatched_rows[1]:
        _begin_anew(path, epoch, "it has no row, and is of another join")
        return
    _log.info("%s: a join before this one made no row, and nothing is left of it", path)
    for name in (ROWS_FOLDER, UNMATCHED_FOLDER):
        shutil.rmtree(path / name, ignore_errors=True)
    (path / HEAD).unlink(missing_ok=True)
    _drop_readers(path)


def _may_have_lost(path: Path, found: JournalDescription, shape: JournalShape) -> bool:
    """Whether the host went down while rows were not safe."""
    if found.boot_id == boot_id() or (found.durability or shape.durability) == "fsync":
        return False
    head = Head.open(path)
    return head is None or not head.is_closed


def _begin_anew(path: Path, epoch: int, reason: str) -> None:
    _log.warning("%s: a new journal epoch begins (%s); rows of the old one are in old-%d", path, reason, epoch)
    _set_aside(path, epoch)


def _set_aside(path: Path, epoch: int) -> None:
    aside = path / f"old-{epoch}"
    aside.mkdir(mode=0o700, exist_ok=True)
    for name in (ROWS_FOLDER, UNMATCHED_FOLDER, HEAD):
        if (path / name).exists():
            (path / name).rename(aside / name)
    _drop_readers(path)


def _drop_readers(path: Path) -> None:
    """Remove all readers, because their row numbers belong to the old epoch."""
    for reader in (path / READERS_FOLDER).glob("*.json"):
        reader.unlink()
