# SPDX-License-Identifier: Apache-2.0
"""Waiting for rows: bells, polling, and writers in other processes that are killed and come back."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import posix_ipc
import pytest
from framegate.joinbarrier.journal.description import READER_LEASE_S
from framegate.joinbarrier.journal.doorbell import Doorbell, bell_name, ring, take_away
from framegate.joinbarrier.journal.follow import BELL_NS, POLL_NS, Waited, Waiter
from framegate.joinbarrier.journal.readers import surveyed
from framegate.schema.errors import JournalRecreated
from framegate.shmpool.clock import monotonic_ns

import framegate as fg
from tests.unit.joinbarrier.journal.journal_world import EPOCH, assert_is_row, fill, segments_of, writer

ROOT = Path(__file__).resolve().parents[4]

# A writer that does what its standard input says, and answers when it is done.
PROGRAM = """
import sys
from pathlib import Path
from framegate.joinbarrier.journal.doorbell import ring
from framegate.joinbarrier.journal.readers import surveyed
from framegate.shmpool.clock import monotonic_ns
from tests.unit.joinbarrier.journal.journal_world import fill, writer
folder, rings = Path(sys.argv[1]), sys.argv[2] == "rings"
made = writer(folder)
for line in sys.stdin:
    word, _, number = line.strip().partition(" ")
    if word == "rows":
        fill(made, int(number))
    elif word == "finish":
        made.finish_segment()
    else:
        made.close()
    for name in surveyed(folder, monotonic_ns()).living if rings else ():
        ring(folder, name)
    print("done", flush=True)
"""


class LiveWriter:
    """A writer in another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, order: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(60)


@contextmanager
def live_writer(folder: Path, *, rings: bool = False) -> Iterator[LiveWriter]:
    words = [sys.executable, "-c", PROGRAM, str(folder), "rings" if rings else "silent"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        try:
            yield LiveWriter(process)
        finally:
            process.kill()


class CountedBell(Doorbell):
    """Answers what it is told to, and remembers how long it was trusted."""

    def __init__(self, rings: list[bool], then: Callable[[], Any] = lambda: None) -> None:
        self.rings, self.then = rings, then
        self.timeouts_ns = list[int]()

    def wait(self, timeout_ns: int) -> bool:
        self.timeouts_ns.append(timeout_ns)
        self.then()
        return self.rings.pop(0)


@pytest.mark.parametrize("reader", [None, "spark"])
@pytest.mark.parametrize("rings", [False, True])
def test_a_follower_goes_on_after_its_writer_was_killed_and_came_back(
    folder: Path, reader: str | None, rings: bool
) -> None:
    with live_writer(folder, rings=rings) as first:
        first("rows 3")
        reading = fg.journal(folder).rows(reader, follow=True)
        assert [row["row"] for row in islice(reading, 3)] == [0, 1, 2]
        first("rows 2")
        assert [row["row"] for row in islice(reading, 2)] == [3, 4]
        first.kill()
    # The one that comes back knows of no bell: the reader polls.
    with live_writer(folder) as second:
        second("rows 2")
        second("finish")
        second("rows 1")
        for number, row in zip([5, 6, 7], reading, strict=False):
            assert_is_row(row, number)
        second("close")
        assert list(reading) == []
    if reader is not None:
        with pytest.raises(posix_ipc.ExistentialError):
            posix_ipc.Semaphore(bell_name(folder, reader))


def has_bell(folder: Path, reader: str) -> bool:
    try:
        posix_ipc.Semaphore(bell_name(folder, reader)).close()
    except posix_ipc.ExistentialError:
        return False
    return True


def test_a_reader_that_was_claimed_again_leaves_the_bell_to_who_has_the_name_now(folder: Path) -> None:
    segments_of(folder, [2]).close()
    fenced = fg.journal(folder).rows("spark", follow=True)
    current = fg.journal(folder).rows("spark", follow=True)
    assert fenced.reader is not None
    fenced.reader.take_bell_away()
    assert has_bell(folder, "spark")
    assert len(list(current)) == 2
    assert not has_bell(folder, "spark")


def test_the_bell_of_a_reader_that_was_killed_goes_with_its_lease_when_another_one_comes(folder: Path) -> None:
    segments_of(folder, [2]).close()
    for reader in ("killed", "paused"):
        fg.journal(folder).rows(reader, follow=True)
        Doorbell.make(folder, reader)
    file = folder / "readers" / "killed.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "seen_monotonic_ns": said["seen_monotonic_ns"] - 2 * READER_LEASE_S * 10**9}))
    fg.journal(folder).rows("next")
    assert (has_bell(folder, "killed"), has_bell(folder, "paused")) == (False, True)
    take_away(folder, "paused")


def test_following_ends_with_a_clean_close_after_the_last_row(folder: Path) -> None:
    segments_of(folder, [2, 2]).close()
    assert [row["row"] for row in fg.journal(folder).rows(follow=True)] == [0, 1, 2, 3]


def test_following_ends_when_nothing_comes_for_the_time_given(folder: Path) -> None:
    fill(writer(folder), 2)
    assert [row["row"] for row in fg.journal(folder).rows(follow=True, timeout_s=0.01)] == [0, 1]
    (folder / "journal.head").unlink()
    assert [row["row"] for row in fg.journal(folder).rows(follow=True, timeout_s=0.01)] == [0, 1]


def test_following_ends_when_it_is_told_to(folder: Path) -> None:
    fill(writer(folder), 2)
    asked = iter([False, False, True])
    assert [row["row"] for row in fg.journal(folder).rows(follow=True, until=lambda: next(asked))] == [0, 1]


def test_following_stops_when_the_journal_begins_anew(folder: Path) -> None:
    fill(writer(folder), 1)
    reading = fg.journal(folder).rows(follow=True)
    next(reading)
    (folder / "segments").rename(folder / "old")
    (folder / "journal.head").unlink()
    fill(writer(folder, epoch=EPOCH + 5), 1)
    with pytest.raises(JournalRecreated) as caught:
        next(reading)
    assert (caught.value.facts["want"], caught.value.facts["have"]) == (EPOCH, EPOCH + 5)


def test_a_bell_is_trusted_once_it_has_rung_and_only_while_its_writer_lives(folder: Path) -> None:
    made = writer(folder)
    bell = CountedBell([False, True, False, False], then=made.heartbeat)
    waiter = Waiter(folder, EPOCH, bell)
    for _ in range(3):
        assert waiter.wait(0) is Waited.NOTHING
    made._head[9] = 0
    bell.then = lambda: None
    waiter.wait(0)
    assert bell.timeouts_ns == [POLL_NS, POLL_NS, BELL_NS, POLL_NS]


def test_a_bell_that_stayed_silent_when_rows_came_is_not_trusted(folder: Path) -> None:
    made = writer(folder)
    bell = CountedBell([True, False, False], then=made.heartbeat)
    waiter = Waiter(folder, EPOCH, bell)
    waiter.wait(0)
    bell.then = lambda: fill(made, 1)
    assert waiter.wait(0) is Waited.ROWS
    assert waiter.wait(1) is Waited.ROWS
    assert bell.timeouts_ns == [POLL_NS, BELL_NS, POLL_NS]


def test_a_promise_that_the_segments_do_not_keep_is_not_asked_for_in_a_busy_loop(folder: Path) -> None:
    fill(writer(folder), 3)
    bell = CountedBell([False])
    waiter = Waiter(folder, EPOCH, bell)
    assert [waiter.wait(1), waiter.wait(1)] == [Waited.ROWS, Waited.ROWS]
    assert bell.timeouts_ns == [POLL_NS]


# --- the bell ----------------------------------------------------------------------------------------------


@pytest.fixture
def bell(folder: Path) -> Iterator[Doorbell]:
    made = Doorbell.make(folder, "spark")
    assert made is not None
    yield made
    made.close()
    take_away(folder, "spark")


def test_a_bell_rung_many_times_wakes_once(folder: Path, bell: Doorbell) -> None:
    assert [ring(folder, "spark") for _ in range(5)] == [True] * 5
    assert bell.wait(POLL_NS)
    assert not bell.wait(POLL_NS)


def test_a_bell_is_for_its_user_alone(folder: Path, bell: Doorbell) -> None:
    file = Path("/dev/shm", "sem." + bell_name(folder, "spark").removeprefix("/"))  # noqa: S108 - where it lies
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_reader_without_a_bell_cannot_be_rung(folder: Path) -> None:
    assert not ring(folder, "nobody")


def test_a_bell_goes_by_the_journals_real_path(folder: Path, bell: Doorbell) -> None:
    link = folder / "link"
    link.symlink_to(folder)
    assert ring(link, "spark")
    assert bell.wait(POLL_NS)
    assert bell_name(folder, "spark") != bell_name(folder, "other")


def test_the_bell_of_a_reader_goes_with_its_lease(folder: Path, bell: Doorbell) -> None:
    fill(writer(folder), 1)
    list(fg.journal(folder).rows("spark"))
    assert surveyed(folder, monotonic_ns()).expired == []
    assert ring(folder, "spark")
    for reader in surveyed(folder, monotonic_ns() + (READER_LEASE_S + 1) * 1_000_000_000).expired:
        take_away(folder, reader)
    assert not ring(folder, "spark")


def test_a_bell_taken_away_is_gone(folder: Path, bell: Doorbell) -> None:
    take_away(folder, "spark")
    assert not ring(folder, "spark")
    take_away(folder, "spark")


def _planted(folder: Path, size: int, mode: int, uid: int) -> Path:
    file = Path("/dev/shm", "sem." + bell_name(folder, "spark").removeprefix("/"))  # noqa: S108 - where it lies
    file.write_bytes(bytes(size))
    file.chmod(mode)
    if uid != os.geteuid():
        os.chown(file, uid, -1)
    return file


@pytest.mark.parametrize(
    ("size", "mode", "is_foreign"), [(0, 0o600, False), (32, 0o666, False), (4096, 0o600, False), (32, 0o600, True)]
)
def test_what_is_no_bell_of_this_users_is_neither_rung_nor_waited_for(
    folder: Path, size: int, mode: int, is_foreign: bool
) -> None:
    if is_foreign and os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    planted = _planted(folder, size, mode, 65_534 if is_foreign else os.geteuid())
    try:
        assert Doorbell.make(folder, "spark") is None
        assert not ring(folder, "spark")
        assert planted.read_bytes() == bytes(size)
    finally:
        planted.unlink()
