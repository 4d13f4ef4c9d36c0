# SPDX-License-Identifier: Apache-2.0
"""The logs of a rig: a bounded file for each part. Each line begins with its time, so that several can be merged."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

LINE_CHARACTERS_MAX: Final = 4000
"""The most characters of a line. One part must not push all others out of the log."""
_OLDER: Final = ".1"
_STAMP_CHARACTERS: Final = 27


@dataclass(frozen=True, slots=True, order=True)
class LogLine:
    """One line that a part printed, or that the supervisor wrote about it."""

    stamp: str
    name: str
    text: str

    @property
    def local_time(self) -> str:
        """The time of the line, by this machine's wall clock."""
        try:
            return f"{datetime.fromisoformat(self.stamp).astimezone():%H:%M:%S.%f}"[:-3]
        except ValueError:
            return "?"


def stamp_of(realtime_ns: int) -> str:
    """A time as lines begin with it. Later times sort after earlier ones.

    >>> stamp_of(1_790_000_000_123_456_789)
    '2026-09-21T14:13:20.123456Z'
    """
    return f"{datetime.fromtimestamp(realtime_ns // 10**9, UTC):%Y-%m-%dT%H:%M:%S}.{realtime_ns % 10**9 // 1000:06d}Z"


class LogFile:
    """A log that is written. When it is half full, it becomes the older half, and a new file begins."""

    def __init__(self, path: Path, bytes_max: int) -> None:
        self._path, self._half = path, bytes_max // 2
        self._file = path.open("ab", buffering=0)

    def write(self, line: LogLine) -> None:
        """Append a line."""
        if self._file.tell() >= self._half:
            self._file.close()
            self._path.replace(self._path.with_name(self._path.name + _OLDER))
            self._file = self._path.open("ab", buffering=0)
        self._file.write(f"{line.stamp} {line.text}\n".encode(errors="replace"))

    def close(self) -> None:
        """Close the log's file."""
        self._file.close()


def read_logs(paths: Iterable[Path]) -> Iterator[LogLine]:
    """The lines of several logs, in the order of their times."""
    return heapq.merge(*(_lines(path) for path in paths), key=lambda line: line.stamp)


def _lines(path: Path) -> Iterator[LogLine]:
    for half in (path.with_name(path.name + _OLDER), path):
        with suppress(OSError):
            yield from _parsed(path.stem, half.read_bytes().splitlines())


def _parsed(name: str, lines: Iterable[bytes]) -> Iterator[LogLine]:
    for line in lines:
        text = line.decode(errors="replace")
        yield LogLine(text[:_STAMP_CHARACTERS], name, text[_STAMP_CHARACTERS + 1 :])


class LogTail:
    """The lines that are added to a log from now on, even if a new file replaces the old one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._unfinished = b""
        self._open()
        if self._descriptor >= 0:
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def read(self) -> list[LogLine]:
        """The lines since the last call."""
        found = self._rest()
        if self._is_replaced():
            # Lines that were written between the two looks are still in the older file.
            found += self._rest()
            self.close()
            self._open()
            found += self._rest()
        return found

    def _rest(self) -> list[LogLine]:
        data = self._unfinished
        while self._descriptor >= 0 and (more := os.read(self._descriptor, 1 << 20)):
            data += more
        whole, _, self._unfinished = data.rpartition(b"\n")
        return list(_parsed(self._path.stem, whole.splitlines()))

    def _open(self) -> None:
        with suppress(OSError):
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def _is_replaced(self) -> bool:
        try:
            named = self._path.stat(follow_symlinks=False)
        except OSError:
            return False
        return self._descriptor < 0 or not os.path.samestat(named, os.fstat(self._descriptor))

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
