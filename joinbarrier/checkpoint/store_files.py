# SPDX-License-Identifier: Apache-2.0
"""The files of a store, and how they are made durable: in a local directory, or in anything that ``pyarrow.fs``
reaches.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from framegate.joinbarrier.journal.checksum import crc32c
from framegate.schema.errors import StoreFailed

if TYPE_CHECKING:
    from framegate._native import StoredRecords

FOLDERS_KNOWN_MAX: Final = 64


class Content:
    """The content of a large file: a head, and records that lie in an engine's memory."""

    def __init__(self, head: bytes, records: StoredRecords) -> None:
        self._head, self._records = head, records
        self._measured: tuple[int, int] | None = None

    def write_to(self, descriptor: int) -> None:
        """Write everything to an open file. Nothing is copied, and other threads run meanwhile."""
        self._measured = self._records.write(descriptor, self._head)

    def __bytes__(self) -> bytes:
        """Everything in one piece of memory, for a store that takes nothing else."""
        content = self._head + bytes(self._records)
        self._measured = measured(content)
        return content

    @property
    def measured(self) -> tuple[int, int]:
        """How many bytes it is, and their CRC-32C, as they were taken when it was written."""
        if self._measured is None:
            bytes(self)
        assert self._measured is not None  # noqa: S101  (for the type checker)
        return self._measured


def measured(content: bytes | Content) -> tuple[int, int]:
    """How many bytes the content of a file is, and their CRC-32C."""
    return content.measured if isinstance(content, Content) else (len(content), crc32c(content, 0))


class StoreFiles(Protocol):
    """The operations on a store's files. Paths are relative to the store, with slashes. All raise OSError;
    FileNotFoundError for a missing file.
    """

    def write(self, path: str, content: bytes | Content) -> None:
        """Write a file, which is whole and on the disk when this returns. Readers must not rely on it yet."""

    def publish(self, path: str, content: bytes) -> None:
        """Write a file durably. Readers see it whole or not at all, and only after everything written before."""

    def read(self, path: str) -> bytes: ...
    def is_there(self) -> bool:
        """Whether the store exists: for an object store, whether it holds anything."""

    def names(self, path: str) -> list[str]:
        """The names in a directory; empty if it does not exist."""

    def remove(self, path: str) -> None:
        """Remove a file; it is gone for good when this returns."""

    def remove_folder(self, path: str) -> None:
        """Remove a folder with everything in it."""


class Disk:
    """The steps by which the files of a local store reach the disk. A test cuts the power between any two of them."""

    def make_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)

    def write(self, path: Path, content: bytes | Content) -> None:
        """Write a file whose content is durable when this returns; its name is durable only after ``sync_folder``."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            if isinstance(content, Content):
                content.write_to(file.fileno())
            else:
                file.write(content)
                file.flush()
            # Sync the descriptor that wrote: another one might not report a failed write-back.
            self.sync_file(file.fileno())

    def sync_file(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def rename(self, path: Path, target: Path) -> None:
        path.rename(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_tree(self, folder: Path) -> None:
        shutil.rmtree(folder)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a directory durable."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LocalFiles:
    """Files in a directory of this host: write and fsync; a manifest also gets a temporary name, a rename, and an fsync
    of the directory.
    """

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.root = root
        self._disk = Disk() if disk is None else disk
        self._lasting = set[Path]()
        """Folders whose names were already synced, so that each is synced only once."""

    def write(self, path: str, content: bytes | Content) -> None:
        target = self.root / path
        self._make_folders(target.parent)
        self._disk.write(target, content)
        self._disk.sync_folder(target.parent)

    def publish(self, path: str, content: bytes) -> None:
        temporary, target = self.root / f"{path}.{os.getpid()}.tmp", self.root / path
        self._make_folders(target.parent)
        self._disk.write(temporary, content)
        self._disk.rename(temporary, target)
        self._disk.sync_folder(target.parent)

    def read(self, path: str) -> bytes:
        # O_NONBLOCK: opening a pipe that somebody put there must not wait for its writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        with open(os.open(self.root / path, flags), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            return file.read()

    def is_there(self) -> bool:
        return self.root.is_dir()

    def names(self, path: str) -> list[str]:
        try:
            return sorted(each.name for each in (self.root / path).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def remove(self, path: str) -> None:
        self._disk.remove(self.root / path)
        self._disk.sync_folder((self.root / path).parent)

    def remove_folder(self, path: str) -> None:
        self._disk.remove_tree(self.root / path)

    def _make_folders(self, folder: Path) -> None:
        """Make the folders, and each name durable in its parent, from the top down; otherwise a crash could lose the
        whole branch.

        The name of an existing folder is synced too: whoever made it may have been killed before syncing it.
        """
        for each in reversed((folder, *folder.parents)):
            is_there = each.is_dir()
            if is_there and (each in self._lasting or not each.is_relative_to(self.root)):
                continue
            if not is_there:
                self._disk.make_folder(each)
            self._sync_name(each, is_there=is_there)

    def _sync_name(self, folder: Path, *, is_there: bool) -> None:
        try:
            self._disk.sync_folder(folder.parent)
        except PermissionError:
            # A store that somebody else made in a directory that we may not read is not ours to make durable.
            if not (is_there and folder == self.root):
                raise
        if len(self._lasting) >= FOLDERS_KNOWN_MAX:
            self._lasting.clear()
        self._lasting.add(folder)


class ArrowFiles:
    """Files in a file system of pyarrow, mostly object stores: a file that was put there is whole, or not there."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")

    def write(self, path: str, content: bytes | Content) -> None:
        place = self._place(path)
        self._filesystem.create_dir(place.rpartition("/")[0], recursive=True)
        with self._filesystem.open_output_stream(place) as stream:
            stream.write(bytes(content))

    def publish(self, path: str, content: bytes) -> None:
        # An object appears with its final byte, but a plain file before that. So a rename is used where it exists.
        temporary = f"{path}.{os.getpid()}.tmp"
        self.write(temporary, content)
        self._filesystem.move(self._place(temporary), self._place(path))

    def read(self, path: str) -> bytes:
        with self._filesystem.open_input_stream(self._place(path)) as stream:
            return bytes(stream.read())

    def is_there(self) -> bool:
        from pyarrow import fs

        return bool(self._filesystem.get_file_info(self._place("")).type == fs.FileType.Directory)

    def names(self, path: str) -> list[str]:
        from pyarrow import fs

        selector = fs.FileSelector(self._place(path), allow_not_found=True)
        return sorted(each.base_name for each in self._filesystem.get_file_info(selector))

    def remove(self, path: str) -> None:
        self._filesystem.delete_file(self._place(path))

    def remove_folder(self, path: str) -> None:
        self._filesystem.delete_dir(self._place(path))

    def _place(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root


def store_files(place: Path | str) -> StoreFiles:
    """The files of a directory, or of a URI of ``pyarrow.fs`` such as ``s3://bucket/folder``. Raises StoreFailed."""
    text = str(place)
    if "://" not in text:
        return LocalFiles(Path(text).absolute())
    from pyarrow import ArrowInvalid, fs

    try:
        filesystem, path = fs.FileSystem.from_uri(text)
    except (ArrowInvalid, OSError) as refused:
        raise StoreFailed(f"the store cannot be reached: {refused}", store=text) from None
    return LocalFiles(Path(path)) if isinstance(filesystem, fs.LocalFileSystem) else ArrowFiles(filesystem, path)
