# SPDX-License-Identifier: Apache-2.0
"""Streams by name: one file of the base directory, shared by all programs, holds the number of each name.

The number of a name is computed from the name, so that it stays the same after the file was lost with the shared
memory. Only if two names ask for one number does the order matter, and the file remembers it. The driver adds the names
that its configuration fixes. Writers take turns by a lock; readers see a whole file, the new or the old one.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from framegate.schema.config.types import BUILT_IN_STREAMS, STREAM_NAME, IdRange
from framegate.schema.errors import FramegateError, InvalidValue, NoPermission, StreamUnknown
from framegate.shmpool.layout.owners import flaw_of_owner

FILE: Final = "streams.json"
UNNAMED: Final[Mapping[int, str]] = MappingProxyType({})
"""Where no stream has a name."""
_LOCK: Final = "streams.lock"
_BYTES_MAX: Final = 1 << 20
_STREAM_MAX: Final = (1 << 32) - 2


class StreamNames:
    """The names of streams in one base directory."""

    def __init__(self, base_dir: str | os.PathLike[str]) -> None:
        self.base = Path(base_dir)

    def known(self) -> dict[str, int]:
        """Every name with its number."""
        return dict(self._read()["names"])

    def name_of(self, stream: int) -> str | None:
        """The name of a stream; None if nobody has named it."""
        return next((name for name, number in self.known().items() if number == stream), None)

    def by_number(self) -> dict[int, str]:
        """Every number with its name, to show; empty where the file cannot be read, which others will say."""
        try:
            return {number: name for name, number in self.known().items()}
        except FramegateError:
            return {}

    def text(self, stream: int) -> str:
        """A stream as people read it, by the names that are known now."""
        return stream_text(stream, self.by_number())

    def id_of(self, stream: int | str) -> int:
        """The number of a stream. A new name gets a number; a number is returned unchanged."""
        if type(stream) is int and 0 <= stream <= _STREAM_MAX + 1:
            # The driver refuses 0 and the null value.
            return stream
        if isinstance(stream, str) and stream.isascii() and stream.isdigit() and 1 <= int(stream) <= _STREAM_MAX:
            return int(stream)
        if not isinstance(stream, str) or not re.fullmatch(STREAM_NAME, stream):
            raise StreamUnknown(
                f"a stream is a number from 1 to {_STREAM_MAX}, or a name of small letters, digits and _", stream=stream
            )
        found = self.known().get(stream)
        return self._add(stream) if found is None else found

    def fix(self, names: Mapping[str, int], ids: IdRange | None) -> None:
        """Write down a driver's configuration: the numbers of its names, and those that other names may get."""
        if not names and ids == BUILT_IN_STREAMS and not (self.base / FILE).exists():
            # The file would only say what programs assume anyway.
            return
        with self._locked():
            table = self._read()
            taken = set(names.values())
            others = {name: number for name, number in table["names"].items() if name not in table["fixed"]}
            # A name that was here first gives way to the configuration, and gets another number when it is asked for.
            free = {name: number for name, number in others.items() if name not in names and number not in taken}
            ids_of_file = None if ids is None else [ids.first, ids.last]
            self._write({"ids": ids_of_file, "fixed": sorted(names), "names": {**free, **names}})

    def _add(self, name: str) -> int:
        with self._locked():
            table = self._read()
            if name in table["names"]:
                return int(table["names"][name])
            if table["ids"] is None:
                raise StreamUnknown(
                    "the driver's file has no stream of this name, and allows no others",
                    stream=name,
                    known=", ".join(sorted(table["names"])) or "none",
                    hint=f"Write [streams.{name}] into the driver's file, or give it a stream_id_range.",
                )
            number = _free_number(name, IdRange(*table["ids"]), set(table["names"].values()))
            self._write({**table, "names": {**table["names"], name: number}})
            return number

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.base.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.base / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, self._mode())
        except OSError as refused:
            raise self._unusable(refused) from refused
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _mode(self) -> int:
        """The mode that lets every user of the folder use the file."""
        return 0o660 if self.base.stat().st_mode & 0o020 else 0o600

    def _read(self) -> dict[str, Any]:
        path = self.base / FILE
        try:
            if (flaw := flaw_of_owner(path)) is not None:
                raise NoPermission(flaw, path=path)
            with path.open("rb") as file:
                text = file.read(_BYTES_MAX + 1)
        except FileNotFoundError:
            return {"ids": [BUILT_IN_STREAMS.first, BUILT_IN_STREAMS.last], "fixed": [], "names": {}}
        except OSError as refused:
            raise self._unusable(refused) from refused
        return _checked(text, path)

    def _write(self, table: Mapping[str, Any]) -> None:
        path, fresh = self.base / FILE, self.base / f"{FILE}.{os.getpid()}"
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, self._mode())
            with os.fdopen(descriptor, "w") as file:
                json.dump({"version": 1, **table}, file, indent=1, sort_keys=True)
            fresh.replace(path)
        except OSError as refused:
            raise self._unusable(refused) from refused

    def _unusable(self, refused: OSError) -> NoPermission:
        return NoPermission(
            f"the names of streams cannot be kept there: {refused.strerror}",
            path=self.base,
            hint="Name a --base-dir of your own, or give streams by their numbers.",
        )


def stream_text(stream: int, names: Mapping[int, str]) -> str:
    """A stream as people read it: by its name, where it has one.

    >>> stream_text(10001, {10001: "left"}), stream_text(10002, {10001: "left"})
    ('left (10001)', '10002')
    """
    return stream_called(stream, names.get(stream))


def stream_called(stream: int, name: str | None) -> str:
    """The same of a stream whose name is known, or that has none."""
    return str(stream) if name is None else f"{name} ({stream})"


def _checked(text: bytes, path: Path) -> dict[str, Any]:
    try:
        found: Any = json.loads(text) if len(text) <= _BYTES_MAX else None
        ids, fixed, names = found["ids"], found["fixed"], found["names"]
        is_range = ids is None or (len(ids) == 2 and 1 <= ids[0] <= ids[1] <= _STREAM_MAX)
        is_named = all(
            re.fullmatch(STREAM_NAME, name) and type(number) is int and 1 <= number <= _STREAM_MAX
            for name, number in names.items()
        )
        if not is_range or not is_named or len(set(names.values())) < len(names) or not set(fixed) <= set(names):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InvalidValue(
            "the file of stream names is damaged",
            path=path,
            hint="Delete it: names get the same numbers again, unless two of them ask for one.",
        ) from None
    return {"ids": ids, "fixed": list(fixed), "names": dict(names)}


def _free_number(name: str, ids: IdRange, taken: set[int]) -> int:
    """The number that a name asks for, or the next free one. Names get the last quarter of the range, because numbers
    that people write themselves are at its beginning."""
    count = max(1, len(ids) // 4)
    first = ids.last + 1 - count
    start = zlib.crc32(name.encode()) % count
    for step in range(count):
        number = first + (start + step) % count
        if number not in taken:
            return number
    raise StreamUnknown(
        "every number for named streams is taken",
        stream=name,
        ids=f"{first}-{ids.last}",
        hint="Widen stream_id_range in the driver's file, or give streams by their numbers.",
    )
