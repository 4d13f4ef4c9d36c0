# SPDX-License-Identifier: Apache-2.0
"""The notice of a running join: a file below the base directory that says once a second how the join is.

``<base>/joins-<user>/<out_stream>-<pid>.json`` is replaced as a whole, and removed when the join ends. A notice whose
process is gone shows that the join was killed; the next join of that output removes it. `framegate status` reads the
notices.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.schema.config.settings import account, clean_user
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.layout.owners import flaw_of_owner
from framegate.shmpool.processes import process_exists

FORMAT: Final = 1
PERIOD_NS: Final = 1_000_000_000
_FOLDER: Final = "joins-"
_BYTES_MAX: Final = 1 << 20
_log = logging.getLogger(__name__)


class Notice:
    """The notice file of one join. If it cannot be written the join warns once, and goes on."""

    def __init__(self, base_dir: str, config: JoinConfig, journal: Path) -> None:
        self._folder = Path(base_dir) / f"{_FOLDER}{clean_user(account())}"
        self._path = self._folder / f"{config.join.out_stream}-{os.getpid()}.json"
        self._head = {
            "format": FORMAT,
            "pid": os.getpid(),
            "began_ns": monotonic_ns(),
            "out_stream": config.join.out_stream,
            "policy": config.join.policy,
            "journal": str(journal.absolute()),
            "inputs": [{"name": each.name, "stream": each.stream} for each in config.input],
        }
        self._due_ns = 0
        self._last: tuple[int, int] | None = None
        self._last_row_ns: int | None = None
        self._has_failed = False

    def begin(self) -> None:
        """Write that the join is attaching to its inputs."""
        with suppress(OSError):
            for each in self._folder.glob(f"{self._head['out_stream']}-*.json"):
                if not _is_living(each):
                    each.unlink(missing_ok=True)
        self._write({"state": "attaching"})

    def is_due(self, now_ns: int) -> bool:
        """Whether the last notice is old enough for another."""
        return now_ns >= self._due_ns

    def tell(self, rows: int, said: Mapping[str, Any], now_ns: int) -> None:
        """Write that the join works. ``rows`` are all that it has made."""
        self._due_ns = now_ns + PERIOD_NS
        last_ns, last_rows = self._last or (now_ns, rows)
        if self._last is None or rows != last_rows:
            self._last_row_ns = now_ns
        self._last = (now_ns, rows)
        seconds = (now_ns - last_ns) / 1e9
        rate = round((rows - last_rows) / seconds, 3) if seconds else None
        quiet_s = 0.0 if self._last_row_ns is None else (now_ns - self._last_row_ns) / 1e9
        self._write({"rows": rows, "rows_per_s": rate, "quiet_s": round(quiet_s, 3), "at_ns": now_ns, **said})

    def end(self) -> None:
        """Remove the notice: the join has ended in good order, or has reported its error."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
            # This succeeds only if it was the last notice in the folder.
            self._folder.rmdir()

    def _write(self, said: Mapping[str, Any]) -> None:
        if self._has_failed:
            return
        new = self._path.with_suffix(".new")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            new.write_text(json.dumps({**self._head, **said}))
            new.replace(self._path)
        except OSError as failure:
            self._has_failed = True
            _log.warning("this join's state cannot be written for `framegate status`: %s", failure)


def notices(base_dir: str) -> Iterator[dict[str, Any]]:
    """The notices of all joins of a base directory, each with ``is_living``."""
    with suppress(OSError):
        for folder in sorted(Path(base_dir).glob(f"{_FOLDER}*")):
            # A folder that other users can write to proves nothing.
            if flaw_of_owner(folder) is None:
                yield from filter(None, map(_read, sorted(folder.glob("*.json"))))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_BYTES_MAX))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    return {**found, "is_living": _is_living(path)}


def _is_living(path: Path) -> bool:
    pid = path.stem.rpartition("-")[2]
    return pid.isdigit() and process_exists(int(pid))
