# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a query's JVM in the middle of batches, again and again, while its journal grows.

``python -m tests.spark.kills [KILLS] [value|reference]`` prints a table: each kill, and how the sink ended. Half of the
kills are for each way, unless one is named. Exit status 1 when a row is missing from it, is there twice, or is not what
was joined.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import pyarrow.parquet as pq
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from tests.unit.joinbarrier.journal.journal_world import fill, left, writer

ROOT: Final = Path(__file__).parents[2]
WAYS: Final = ("value", "reference")
BATCHES_BETWEEN: Final = 4
BATCH_ROWS: Final = 10
PAUSE_NS_MAX: Final = 400_000_000
END_NS: Final = 120_000_000_000


@dataclass(frozen=True, slots=True)
class Kill:
    """One of them, and what was there then."""

    payload: str
    number: int
    in_batch: int
    after_ms: float
    is_log_lost: bool
    """Whether the newest entry of Spark's log of finished batches was lost with it."""
    sealed: int
    written: int
    """Rows of the journal and of the sink."""


class Killed:
    """A journal, a query over it that is killed, and the sink that it writes."""

    def __init__(self, folder: Path, payload: str, seed: str = "0") -> None:
        self.folder, self.payload = folder, payload
        self._chance = random.Random(f"{payload} {seed}")
        (folder / "journal").mkdir()
        self._journal = writer(folder / "journal")
        self._number = 0

    def kill(self, *, is_log_lost: bool) -> Kill:
        """Let the journal grow and the query run, and end its JVM somewhere in a batch."""
        self._number += 1
        self.grow()
        with query(self.folder, self.payload) as (jvm, said):
            batch = ""
            for _ in range(self._chance.randint(1, 2)):
                batch = said.readline()
                assert batch.startswith("batch"), (self.folder / "log").read_text()
            # Somewhere in the batch: the moment itself is what is tried.
            pause_ns = self._chance.randint(0, PAUSE_NS_MAX)
            sleep_ns(pause_ns)
            os.kill(jvm, signal.SIGKILL)
        if is_log_lost:
            lose_what_was_done(self.folder)
        return Kill(
            self.payload,
            self._number,
            int(batch.split()[1]),
            pause_ns / 1e6,
            is_log_lost,
            self._journal.next_row,
            len(written(self.folder)),
        )

    def grow(self) -> None:
        """More rows, in several batches."""
        for _ in range(BATCHES_BETWEEN):
            fill(self._journal, BATCH_ROWS)

    def finish(self) -> None:
        """A last life, to the end of a journal that has grown once more."""
        self.grow()
        deadline_ns = monotonic_ns() + END_NS
        with query(self.folder, self.payload):
            while len(set(written(self.folder))) < self._journal.next_row:
                assert monotonic_ns() < deadline_ns, (self.folder / "log").read_text()
                sleep_ns(PAUSE_NS_MAX // 10)

    def missing_repeated_wrong(self) -> tuple[int, int, int]:
        """How the sink differs from the journal: each is a number of rows."""
        there = written(self.folder)
        wanted = {(row, int(left(row).sum())) for row in range(self._journal.next_row)}
        repeated = sum(count - 1 for count in Counter(row for row, _ in there).values())
        return len(wanted - set(there)), repeated, len(set(there) - wanted)


@contextmanager
def query(folder: Path, payload: str) -> Iterator[tuple[int, IO[str]]]:
    """The program, its JVM's process id, and what it says. Killed at the end, with what it started."""
    words = [sys.executable, "-m", "tests.spark.programs.repeating_query", str(folder), payload]
    with (folder / "log").open("a") as log:
        program = subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        assert program.stdout is not None
        try:
            first = program.stdout.readline().split()
            assert first[:1] == ["jvm"], (folder / "log").read_text()
            yield int(first[1]), program.stdout
        finally:
            # A session of its own: this ends the program, its JVM and its workers, and nothing else.
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            program.stdout.close()


def lose_what_was_done(folder: Path) -> None:
    """The newest entry of Spark's log of finished batches, with its check sum."""
    commits = folder / "checkpoint/commits"
    numbers = [int(path.name) for path in commits.iterdir() if path.name.isdigit()] if commits.is_dir() else []
    if numbers:
        for name in (str(max(numbers)), f".{max(numbers)}.crc"):
            (commits / name).unlink(missing_ok=True)


def written(folder: Path) -> list[tuple[int, int]]:
    """Row and total of every row of the sink: of the files that Spark has given their place."""
    found = list[tuple[int, int]]()
    for path in sorted((folder / "out").glob("[!._]*.parquet")):
        table = pq.read_table(path, columns=["row", "total"])
        found += zip(table.column("row").to_pylist(), table.column("total").to_pylist(), strict=True)
    return found


_LINE: Final = "{:<10} {:>5} {:>9} {:>9}  {:<8} {:>12} {:>12}"


def main(kills: int, ways: Sequence[str] = WAYS) -> int:
    """So many kills, shared by the ways to read."""
    each = -(-kills // len(ways))
    print(_LINE.format("payload", "kill", "in batch", "after ms", "commits", "rows sealed", "rows in sink"))
    is_sound = True
    for payload in ways:
        folder = Path(tempfile.mkdtemp(prefix="framegate-kills-", dir="/dev/shm"))
        try:
            killed = Killed(folder, payload, os.environ.get("FRAMEGATE_TEST_SEED", "0"))
            for number in range(each):
                kill = killed.kill(is_log_lost=number % 2 == 0)
                commits = "lost" if kill.is_log_lost else "kept"
                print(
                    _LINE.format(
                        payload, kill.number, kill.in_batch, f"{kill.after_ms:.0f}", commits, kill.sealed, kill.written
                    ),
                    flush=True,
                )
            killed.finish()
            missing, repeated, wrong = killed.missing_repeated_wrong()
            is_sound = is_sound and not (missing or repeated or wrong)
            rows = len(written(folder))
            print(f"{payload}: {each} kills, {rows} rows; {missing} missing, {repeated} repeated, {wrong} wrong")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2, sys.argv[2:] or WAYS))
