# SPDX-License-Identifier: Apache-2.0
"""``journal.json``: describes a journal. The join agent writes it as a whole, and everybody reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.layout import DESCRIPTION, FOLDERS, FORMAT, RETIRED
from framegate.schema.errors import JournalDamaged, JournalMissing, JournalNewer

READER_LEASE_S: Final = 600
_BYTES_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalInput:
    """One input: its column and its stream."""

    name: str
    stream: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalDescription:
    """The content of the file; unknown keys are ignored."""

    out_stream: int
    policy: str = "sequence"
    inputs: tuple[JournalInput, ...]
    journal_epoch: int
    boot_id: str = ""
    realtime_minus_monotonic_ns: int = 0
    durability: str = ""
    """How the journal survives crashes; empty if it was not stored."""
    reader_lease_s: int = READER_LEASE_S
    maps: tuple[Mapping[str, Any], ...] = field(default=())
    """The newest applied maps: version, out_epoch (the first), rules; and in newer journals message and local, which
    together identify a version.
    """
    maps_forgotten: int = 0
    """How many older maps were dropped from ``maps``."""
    recordings: tuple[Mapping[str, Any], ...] = field(default=())
    """The recordings that the rows were joined from, in order, and the rules for each. Empty if all rows came from live
    streams, or if an earlier version wrote them.
    """

    def as_json(self) -> dict[str, Any]:
        """The description as it is written."""
        return {"format": FORMAT, **asdict(self)}


def write_description(directory: Path, description: JournalDescription) -> None:
    """Replace the file. A reader sees either the old or the new one, even after a power failure.

    The file repeats what retention has removed so far, from the writer's own files.
    """
    retired = _retired(directory, description.journal_epoch)
    content = description.as_json() | ({"retired": retired} if retired else {})
    replace_file(directory / DESCRIPTION, json.dumps(content, indent=1).encode() + b"\n", is_durable=True)


def _retired(directory: Path, journal_epoch: int) -> dict[str, Any]:
    """What retention removed in this journal epoch, by table. The writer refuses damaged accounts."""
    found = dict[str, Any]()
    for table, folder in FOLDERS.items():
        try:
            account = json.loads(read_regular_file(directory / folder / RETIRED, _BYTES_MAX))
            if account["journal_epoch"] == journal_epoch:
                found[table] = {"before": account["before"], "entries": account["entries"]}
        except (OSError, ValueError, KeyError, TypeError, JournalDamaged):
            continue
    return found


def read_description(directory: Path) -> JournalDescription:
    """Read and check a journal's description. Raises JournalMissing, JournalDamaged or JournalNewer."""
    path = directory / DESCRIPTION
    try:
        text = read_regular_file(path, _BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        raise JournalMissing("there is no journal", path=directory) from None
    except OSError as refused:
        raise JournalDamaged(f"the description cannot be read: {refused.strerror}", path=path) from None
    try:
        found = json.loads(text)
        if found["format"] > FORMAT:
            raise JournalNewer("a later format", path=path, want=FORMAT, have=found["format"])
        if found["format"] < FORMAT:
            raise ValueError(f"there is no format {found['format']}")
        return _described(found)
    except (ValueError, KeyError, TypeError) as broken:
        raise JournalDamaged(f"the description makes no sense: {broken!r}", path=path) from None


def _described(found: Mapping[str, Any]) -> JournalDescription:
    return JournalDescription(
        out_stream=int(found["out_stream"]),
        policy=str(found.get("policy", "sequence")),
        inputs=tuple(JournalInput(name=str(each["name"]), stream=int(each["stream"])) for each in found["inputs"]),
        journal_epoch=int(found["journal_epoch"]),
        boot_id=str(found.get("boot_id", "")),
        realtime_minus_monotonic_ns=int(found.get("realtime_minus_monotonic_ns", 0)),
        durability=str(found.get("durability", "")),
        reader_lease_s=int(found.get("reader_lease_s", READER_LEASE_S)),
        maps=tuple(dict(each) for each in found.get("maps", ())),
        maps_forgotten=int(found.get("maps_forgotten", 0)),
        recordings=tuple(dict(each) for each in found.get("recordings", ())),
    )


def read_regular_file(path: Path, bytes_max: int) -> bytes:
    """Read a file that another process wrote. Links, devices and overlong files are refused."""
    # O_NONBLOCK: opening a pipe that somebody put there must not wait for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        if os.fstat(descriptor).st_size > bytes_max:
            raise JournalDamaged("the file is too long", path=path, bytes_max=bytes_max)
        return file.read(bytes_max)


def replace_file(path: Path, content: bytes, *, is_durable: bool) -> None:
    """Replace a file by renaming a complete one, so that nobody ever reads half of it."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
        file.write(content)
        if is_durable:
            file.flush()
            os.fsync(descriptor)
    temporary.rename(path)
    if is_durable:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
