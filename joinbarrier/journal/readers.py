# SPDX-License-Identifier: Apache-2.0
"""Named readers: how far each has come, and whether it is still there. The writer keeps the rows that they have not
committed.

``readers/NAME.json`` is replaced as a whole under a lock on the folder. ``committed_row`` is the first row that the
reader is not done with; it never goes back. ``claim`` grows with every claim of the name, and fences earlier ones.

Leases are measured by the host's monotonic clock, so a step of the wall clock ends none. The file names the boot whose
monotonic clock it uses. If that is another boot, or an older reader left it out, the wall clock is used.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Self

from framegate.joinbarrier.journal.description import (
    JournalDescription,
    read_description,
    read_regular_file,
    replace_file,
)
from framegate.joinbarrier.journal.doorbell import take_away
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.layout import READER_NAME, READERS_FOLDER
from framegate.schema.errors import JournalDamaged, ReaderFenced, ReaderNameRefused
from framegate.shmpool.clock import Clock, monotonic_ns, realtime_ns

_BYTES_MAX: Final = 4096
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReaderState:
    """The content of a reader's file."""

    reader: str
    claim: int
    committed_row: int
    seen_at_ns: int
    """When the reader was seen, in realtime, for people who read the file."""
    journal_epoch: int
    pid: int
    seen_monotonic_ns: int
    """The same moment by this host's monotonic clock."""
    boot_id: str

    def is_living(self, now_ns: int, lease_s: int) -> bool:
        """Whether the reader's lease holds at ``now_ns`` of the monotonic clock."""
        # Compare in both directions: a time in the future must not keep a reader for ever.
        return abs(now_ns - self.seen_monotonic_ns) <= lease_s * 1_000_000_000

    def seen(self, now_ns: int) -> Self:
        """The same reader, seen at ``now_ns`` of the monotonic clock."""
        return replace(self, seen_at_ns=realtime_ns(), seen_monotonic_ns=now_ns, boot_id=boot_id())


class NamedReader:
    """One claim of a name. Every call that writes raises ReaderFenced once somebody else has claimed the name."""

    def __init__(self, directory: Path, state: ReaderState, clock: Clock, *, is_new: bool) -> None:
        self._directory = directory
        self._clock = clock
        self.state = state
        self.is_new = is_new
        """Whether nobody had committed anything under this name in this journal epoch."""

    @classmethod
    def claim(
        cls, directory: Path, name: str, *, journal_epoch: int, first_row: int = 0, clock: Clock = monotonic_ns
    ) -> Self:
        """Take the name from whoever has it. A new name, or one of an older journal epoch, begins at ``first_row``.

        Raises ReaderNameRefused.
        """
        check_name(name)
        with _locked(directory):
            before = _read(directory, name)
            is_new = before is None or before.journal_epoch != journal_epoch
            committed = first_row if before is None or is_new else before.committed_row
            now_ns, realtime = clock(), realtime_ns()
            # At least the time: if the name was given up and taken again, the number must not match an earlier claim.
            claim = max(realtime, 1 + (0 if before is None else before.claim))
            state = ReaderState(name, claim, committed, realtime, journal_epoch, os.getpid(), now_ns, boot_id())
            _write(directory, state)
        return cls(directory, state, clock, is_new=is_new)

    @property
    def committed_row(self) -> int:
        """The first row that the reader is not done with."""
        return self.state.committed_row

    @property
    def number(self) -> int:
        """The number of this claim, for a process that renews it elsewhere."""
        return self.state.claim

    def commit(self, row: int) -> None:
        """Commit every row before ``row``, and renew the lease. A lower row than before only renews the lease."""
        with _locked(self._directory):
            _checked(self._directory, self.state.reader, self.state.claim)
            committed = max(row, self.state.committed_row)
            self.state = replace(self.state, committed_row=committed).seen(self._clock())
            _write(self._directory, self.state)

    def take_bell_away(self) -> None:
        """Remove the reader's doorbell, unless the name was claimed again: a claim makes its bell afterwards."""
        with _locked(self._directory):
            found = _read(self._directory, self.state.reader)
            if found is not None and found.claim == self.state.claim:
                take_away(self._directory, self.state.reader)

    def release(self) -> None:
        """Give up the name, and the rows it holds back. A fenced reader has nothing to give up."""
        with _locked(self._directory):
            found = _read(self._directory, self.state.reader)
            if found is not None and found.claim == self.state.claim:
                _path(self._directory, self.state.reader).unlink(missing_ok=True)


def renew(directory: Path, name: str, claim: int, clock: Clock = monotonic_ns) -> None:
    """Renew a claim's lease from another process than the one that made it. Raises ReaderFenced if it was lost."""
    check_name(name)
    with _locked(directory):
        found = _checked(directory, name, claim)
        _write(directory, found.seen(clock()))


def commit(directory: Path, name: str, claim: int, row: int, clock: Clock = monotonic_ns) -> int:
    """Commit for a claim that another process holds; return the first row that is not done. Raises ReaderFenced."""
    check_name(name)
    with _locked(directory):
        found = _checked(directory, name, claim)
        committed = max(row, found.committed_row)
        _write(directory, replace(found, committed_row=committed).seen(clock()))
    return committed


def check_name(name: str) -> None:
    """Raise ReaderNameRefused if no reader can have this name."""
    if not READER_NAME.fullmatch(name):
        raise ReaderNameRefused("not a name for a reader", reader=name, want=READER_NAME.pattern)


def readers(directory: Path) -> list[ReaderState]:
    """Every reader that has a file, by name. A damaged file holds nothing back, and is logged."""
    folder = directory / READERS_FOLDER
    found = list[ReaderState]()
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            state = _read(directory, path.name.removesuffix(".json"))
        except (JournalDamaged, OSError) as error:
            _log.warning("a reader's file is passed over: %s", error)
            continue
        if state is not None:
            found.append(state)
    return found


@dataclass(frozen=True, slots=True)
class Survey:
    """What the readers mean to the writer at one moment."""

    floor: int | None
    """The smallest row that a living reader has not committed; None without such a reader."""
    living: list[str]
    """The readers that the writer waits for, and whose bells it rings."""
    expired: list[str]
    """The readers whose lease is over; their bells may be removed."""


def survey(states: Sequence[ReaderState], description: JournalDescription, now_ns: int) -> Survey:
    """What these readers mean to the writer. Pure; ``now_ns`` is monotonic."""
    lease_s = description.reader_lease_s
    held = [each for each in states if each.is_living(now_ns, lease_s)]
    living = [each for each in held if each.journal_epoch == description.journal_epoch]
    return Survey(
        floor=min((each.committed_row for each in living), default=None),
        living=[each.reader for each in living],
        expired=[each.reader for each in states if not each.is_living(now_ns, lease_s)],
    )


def surveyed(directory: Path, now_ns: int) -> Survey:
    """Read the readers' files once, for the writer; an agent keeps a ``ReaderWatch``. ``now_ns`` is monotonic."""
    return survey(readers(directory), read_description(directory), now_ns)


def _checked(directory: Path, name: str, claim: int) -> ReaderState:
    """The reader's file, if this claim holds the name. Raises ReaderFenced."""
    found = _read(directory, name)
    if found is None or found.claim != claim:
        raise ReaderFenced(
            "another claim of this name came later" if found else "the name was given up",
            reader=name,
            want_claim=claim,
            have_claim=found.claim if found else "none",
            by_pid=found.pid if found else "none",
        )
    return found


def _path(directory: Path, name: str) -> Path:
    return directory / READERS_FOLDER / f"{name}.json"


def _read(directory: Path, name: str) -> ReaderState | None:
    path = _path(directory, name)
    try:
        found = json.loads(read_regular_file(path, _BYTES_MAX))
        numbers = [found[key] for key in ("claim", "committed_row", "seen_at_ns", "journal_epoch", "pid")]
        if found["reader"] != name or not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError(f"reader {found['reader']!r} with {numbers}")
        claim, committed_row, seen_at_ns, epoch, pid = numbers
        boot, seen_ns = str(found.get("boot_id", "")), found.get("seen_monotonic_ns")
        if boot != boot_id() or type(seen_ns) is not int:
            seen_ns = monotonic_ns() - (realtime_ns() - seen_at_ns)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as broken:
        raise JournalDamaged(f"a reader's file makes no sense: {broken!r}", path=path) from None
    return ReaderState(name, claim, committed_row, seen_at_ns, epoch, pid, seen_ns, boot)


def _write(directory: Path, state: ReaderState) -> None:
    replace_file(_path(directory, state.reader), json.dumps(asdict(state)).encode() + b"\n", is_durable=False)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Allow one claim or commit at a time, so that none overwrites a later one."""
    folder = directory / READERS_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
