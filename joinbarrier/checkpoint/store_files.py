# SPDX-License-Identifier: Apache-2.0
"""Where a store's files lie, and what makes them last: a local directory, or anything that ``pyarrow.fs`` reaches."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Final, Protocol

from framegate.schema.errors import StoreFailed

FOLDERS_KNOWN_MAX: Final = 64


class StoreFiles(Protocol):
    """Paths are below the store, with slashes. Everything raises OSError; a missing file FileNotFoundError."""

    def write(self, path: str, content: bytes) -> None:
        """Whole and on the disk when it returns, but not yet to be believed."""

    def publish(self, path: str, content: bytes) -> None:
        """Seen whole or not at all, after everything that was written before, and there for good."""

    def read(self, path: str) -> bytes: ...
    def is_there(self) -> bool:
        """Whether there is a store: for an object store, whether anything is in it."""

    def names(self, path: str) -> list[str]:
        """What a directory holds; empty where there is none."""

    def remove(self, path: str) -> None:
        """A file; gone for good when it returns."""

    def remove_folder(self, path: str) -> None:
        """With all that it holds."""


class Disk:
    """The steps by which a local store's files reach the disk; a test loses the power between any two of them."""

    def make_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)

    def write(self, path: Path, content: bytes) -> None:
        """The content, which lasts when it returns; the name lasts only after ``sync_folder``."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
            file.flush()
            # By the descriptor that wrote: another one may not be told that writing back has failed.
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
        """The names in a directory last."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LocalFiles:
    """A directory of this host: file, fsync; for a manifest also a temporary name, rename, fsync of the directory."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.root = root
        self._disk = Disk() if disk is None else disk
        self._lasting = set[Path]()
        """Folders whose names were synced here, so that it is done once for each."""

    def write(self, path: str, content: bytes) -> None:
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
        """Each name is made to last in its parent, from the top down, or a crash could lose the whole branch.

        So is that of a folder which is there already: whoever made it may have been killed before it was synced.
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
            # A store that was made for us where we may not look is not ours to make last.
            if not (is_there and folder == self.root):
                raise
        if len(self._lasting) >= FOLDERS_KNOWN_MAX:
            self._lasting.clear()
        self._lasting.add(folder)


class ArrowFiles:
    """A file system of pyarrow, object stores above all: what is put there is whole, or not there, when it returns."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")

    def write(self, path: str, content: bytes) -> None:
        place = self._place(path)
        self._filesystem.create_dir(place.rpartition("/")[0], recursive=True)
        with self._filesystem.open_output_stream(place) as stream:
            stream.write(content)

    def publish(self, path: str, content: bytes) -> None:
        # An object appears with its last byte; where renaming exists it is used, because a plain file does not.
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
    """The files behind a directory, or a URI of ``pyarrow.fs`` such as ``s3://bucket/folder``. Raises StoreFailed."""
    text = str(place)
    if "://" not in text:
        return LocalFiles(Path(text).absolute())
    from pyarrow import ArrowInvalid, fs

    try:
        filesystem, path = fs.FileSystem.from_uri(text)
    except (ArrowInvalid, OSError) as refused:
        raise StoreFailed(f"the store cannot be reached: {refused}", store=text) from None
    return LocalFiles(Path(path)) if isinstance(filesystem, fs.LocalFileSystem) else ArrowFiles(filesystem, path)
