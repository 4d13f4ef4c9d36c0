# SPDX-License-Identifier: Apache-2.0
"""The folders of a driver: ``<base>/tensorpool-<user>/<namespace>/<stream_id>/<epoch>/`` (PROTOCOL 6.2).

Only files with known names are removed: the ring, numbered pools, a producer's marks, the files of a stream that has
no epoch left, and the bells of a namespace that has no stream left. Folders that become empty are removed too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framegate.driver.epochs import EPOCH_MAX, FoundEpoch
from framegate.schema.config.settings import account, clean_user
from framegate.schema.errors import NoPermission
from framegate.shmpool.layout.owners import flaw_of_owner

RING: Final = "header.ring"
_NAMED: Final = re.compile(r"header\.ring|\d{1,5}\.pool|(ended|former|continued)\.(json|\d+)")
"""The names of regions and of the marks beside them (``framegate.shmpool.marks.ended`` and ``.continued``)."""
OF_STREAM: Final = {"command.word", "sleepers"}
"""A producer's command word (``framegate.shmpool.producer.command_word``), and the sleepers of the stream
(docs/formats.md, 21). Both outlive each epoch, and are removed with the last one."""
BELLS: Final = "bells"
"""The bells of all sleepers of the namespace. The file is removed when no stream is left."""
_NUMBER: Final = re.compile(r"0|[1-9]\d{0,19}")
_STREAM_ID_MAX: Final = 2**32 - 1

Mark = Callable[[str], tuple[int, int, int, int] | None]
"""Reads a region file: its epoch, stream id, pid and activity; None if the file is not a region."""


@dataclass(slots=True)
class RegionFolders:
    """One namespace below one base directory. It remembers the folders that it made, so that it can remove them."""

    base: Path
    namespace: str
    mode: int = 0o600
    user: str = field(default_factory=account)
    _made: set[Path] = field(default_factory=set)

    @property
    def root(self) -> Path:
        """The folder that holds the streams."""
        return self.base / f"tensorpool-{clean_user(self.user)}" / self.namespace

    def of(self, stream_id: int, epoch: int) -> Path:
        """The folder of one epoch."""
        return self.root / str(stream_id) / str(epoch)

    def before(self, stream_id: int, epoch: int) -> int | None:
        """The newest epoch of a stream that is lower than this one and has a folder; None if there is none."""
        found = [int(each.name) for each in _numbered(self.root / str(stream_id), EPOCH_MAX)]
        return max((each for each in found if each < epoch), default=None)

    def make(self, folder: Path) -> None:
        """Make a folder and those above it, for this user alone, or for the group if the files are.

        Raises ``NoPermission`` if an existing folder lets others change what is in it.
        """
        mode = 0o2770 if self.mode & 0o070 else 0o700
        for each in (folder, *folder.parents):
            if each.is_relative_to(self.base) and (flaw := flaw_of_owner(each)) is not None:
                raise NoPermission(flaw, path=each)
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(mode=mode)
            each.chmod(mode)
            self._made.add(each)

    def remove_epoch(self, stream_id: int, epoch: int) -> bool:
        """Remove an epoch's files and folder, and the stream's folder if that becomes empty. Whether it is gone."""
        folder = self.of(stream_id, epoch)
        _unlink_named(folder)
        if folder.exists() and not self._remove_if_empty(folder):
            return False
        self._remove_stream_if_done(folder.parent)
        return True

    def remove_made(self) -> None:
        """Remove the folders that were made here and are empty now, the deepest first."""
        for folder in sorted(self._made, key=lambda path: len(path.parts), reverse=True):
            self._remove_if_empty(folder)

    def _remove_stream_if_done(self, folder: Path) -> None:
        try:
            left = [each.name for each in folder.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return
        if OF_STREAM.issuperset(left):
            for name in left:
                (folder / name).unlink(missing_ok=True)
        if self._remove_if_empty(folder) and not any(_numbered(self.root, _STREAM_ID_MAX)):
            (self.root / BELLS).unlink(missing_ok=True)

    def _remove_if_empty(self, folder: Path) -> bool:
        try:
            folder.rmdir()
        except OSError:
            return False
        self._made.discard(folder)
        return True

    def found(self, mark: Mark, *, monotonic_ns: int, realtime_ns: int) -> Iterator[FoundEpoch]:
        """Every epoch folder that exists, whatever process made it."""
        for stream in _numbered(self.root, _STREAM_ID_MAX):
            for epoch in _numbered(stream, EPOCH_MAX):
                yield _found(epoch, mark, monotonic_ns, realtime_ns)


def _unlink_named(folder: Path) -> None:
    try:
        files = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for file in files:
        if _NAMED.fullmatch(file.name):
            file.unlink(missing_ok=True)


def _numbered(folder: Path, largest: int) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if _NUMBER.fullmatch(entry.name) and int(entry.name) <= largest and entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)


def _found(folder: Path, mark: Mark, monotonic_ns: int, realtime_ns: int) -> FoundEpoch:
    stream_id, epoch = int(folder.parent.name), int(folder.name)
    read = mark(str(folder / RING))
    if read is None or (read[0], read[1]) != (epoch, stream_id):
        # It was half made by a process that died, or we cannot read it: it is as old as its folder.
        return FoundEpoch(stream_id=stream_id, epoch=epoch, pid=None, age_ns=_folder_age(folder, realtime_ns))
    # An activity in the future comes from before the last boot: the monotonic clock has begun anew since.
    age_ns = monotonic_ns - read[3] if read[3] <= monotonic_ns else EPOCH_MAX
    return FoundEpoch(stream_id=stream_id, epoch=epoch, pid=read[2], age_ns=age_ns)


def _folder_age(folder: Path, realtime_ns: int) -> int:
    try:
        return realtime_ns - folder.stat().st_mtime_ns
    except OSError:
        return 0
