# SPDX-License-Identifier: Apache-2.0
"""What a disk may hold after the power was lost: every legal order of the steps that were not made to last.

A store's steps are recorded while they are carried out. A name (made, renamed, removed) lasts when its folder was
synced afterwards; of the others any may have reached the disk and any not, because nothing orders them. What a file
holds lasts when the file was synced afterwards; before that it may be what was there before, all of the new bytes, the
first half of them, or zeros in their number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from framegate.joinbarrier.checkpoint.store_files import Content, Disk

SUBSETS_MAX: Final = 12
"""Of so many open names all subsets are tried; of more, all of them, none, and each alone there or missing."""
Image: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""Paths below the root with what they hold, sorted; None is a folder."""


class Killed(Exception):
    """The process ends here; what it did stays."""


@dataclass(frozen=True)
class Step:
    """One thing that was done to the disk."""

    what: str
    path: Path
    target: Path | None = None
    content: bytes = b""


class RecordedDisk(Disk):
    """Carries every step out but those that it is told to leave out, and notes what it did."""

    def __init__(self, without: str = "", kill_after: int | None = None) -> None:
        self.steps: list[Step] = []
        self._without = without
        self._kill_after = kill_after

    def _note(self, what: str, path: Path, target: Path | None = None, content: bytes = b"") -> None:
        self.steps.append(Step(what, path, target, content))
        if self._kill_after is not None and len(self.steps) > self._kill_after:
            self._kill_after = None
            raise Killed

    def make_folder(self, folder: Path) -> None:
        super().make_folder(folder)
        self._note("folder", folder)

    def write(self, path: Path, content: bytes | Content) -> None:
        self._note("write", path, content=bytes(content))
        super().write(path, content)

    def sync_file(self, descriptor: int) -> None:
        if self._without != "sync_file":
            self._note("sync_file", Path(f"/proc/self/fd/{descriptor}").readlink())

    def rename(self, path: Path, target: Path) -> None:
        super().rename(path, target)
        self._note("rename", path, target)

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._note("remove", path)

    def remove_tree(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
            self._note("remove", path)
        folder.rmdir()
        self._note("remove", folder)

    def sync_folder(self, folder: Path) -> None:
        if self._without != "sync_folder":
            self._note("sync_folder", folder)


@dataclass
class _File:
    """What a file holds for certain, and what it may hold."""

    lasting: bytes = b""
    written: bytes | None = None

    def possible(self) -> list[bytes]:
        new = self.written
        if new is None:
            return [self.lasting]
        return list(dict.fromkeys([self.lasting, new, new[: len(new) // 2], bytes(len(new))]))


def images(root: Path, steps: Sequence[Step]) -> Iterator[Image]:
    """Everything that the disk may hold after these steps, each once."""
    lasts = _lasting_names(steps)
    open_ones = [number for number, step in enumerate(steps) if not lasts[number] and _is_name(step, steps[:number])]
    number_of = len(open_ones)
    sizes = range(number_of + 1) if number_of <= SUBSETS_MAX else (0, 1, number_of - 1, number_of)
    seen = set[Image]()
    for size in sizes:
        for kept in itertools.combinations(open_ones, size):
            for image in _contents(root, _names(steps, lasts, set(kept))):
                if image not in seen:
                    seen.add(image)
                    yield image


def worst(root: Path, steps: Sequence[Step]) -> Image:
    """What is there for certain, and nothing more."""
    names = _names(steps, _lasting_names(steps), set())
    return _reachable(root, {path: None if file is None else file.lasting for path, file in names.items()})


def _is_name(step: Step, before: Sequence[Step]) -> bool:
    """Whether it changes a name. Writing into a file that is there does not."""
    if step.what != "write":
        return step.what in ("folder", "rename", "remove")
    return not _exists(step.path, before)


def _exists(path: Path, steps: Sequence[Step]) -> bool:
    for step in reversed(steps):
        if step.target == path or (step.what == "write" and step.path == path):
            return True
        if step.path == path and step.what in ("rename", "remove"):
            return False
    return False


def _lasting_names(steps: Sequence[Step]) -> list[bool]:
    synced = {step.path: number for number, step in enumerate(steps) if step.what == "sync_folder"}
    return [synced.get(step.path.parent, -1) > number for number, step in enumerate(steps)]


def _names(steps: Sequence[Step], lasts: Sequence[bool], kept: set[int]) -> dict[Path, _File | None]:
    """Names and files after the steps that last and those that are kept. Processes saw all of them in their order."""
    seen: dict[Path, _File | None] = {}
    disk: dict[Path, _File | None] = {}
    for number, step in enumerate(steps):
        if step.what == "sync_file":
            _make_last(seen[step.path])
            continue
        file = _after(seen, step)
        if lasts[number] or number in kept:
            _change(disk, step, file)
        _change(seen, step, file)
    return disk


def _after(seen: dict[Path, _File | None], step: Step) -> _File | None:
    """The file that a step is about."""
    file = seen.get(step.path)
    if step.what == "write":
        file = _File() if file is None else file
        file.written = step.content
    return file


def _change(names: dict[Path, _File | None], step: Step, file: _File | None) -> None:
    if step.what in ("rename", "remove"):
        names.pop(step.path, None)
    if step.what in ("folder", "write"):
        names[step.path] = file
    if step.target is not None:
        names[step.target] = file


def _make_last(file: _File | None) -> None:
    assert file is not None
    file.lasting, file.written = file.written or b"", None


def _contents(root: Path, names: dict[Path, _File | None]) -> Iterator[Image]:
    unsure = [path for path, file in names.items() if file is not None and file.written is not None]
    sure = {path: None if file is None else file.lasting for path, file in names.items() if path not in unsure}
    choices = [file.possible() for path in unsure if (file := names[path]) is not None]
    for chosen in itertools.product(*choices):
        yield _reachable(root, {**sure, **dict(zip(unsure, chosen, strict=True))})


def _reachable(root: Path, tree: dict[Path, bytes | None]) -> Image:
    """Only what every folder above it leads to."""
    found = []
    for path, content in sorted(tree.items()):
        above = list(itertools.takewhile(lambda each: each != root, path.parents))
        if all(each in tree for each in above):
            found.append((path.relative_to(root).as_posix(), content))
    return tuple(found)


def put_back(root: Path, image: Image) -> None:
    """Make a folder that holds an image."""
    root.mkdir()
    for path, content in image:
        place = root / path
        place.mkdir() if content is None else place.write_bytes(content)
