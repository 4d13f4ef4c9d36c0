# SPDX-License-Identifier: Apache-2.0
"""kill -9 of what a query on a cluster reads with: the journal's server, and executors, in the middle of batches.

``python -m tests.spark.flight_kills [KILLS]`` prints a table: each kill, and how the sink ended. Exit status 1 when a
row is missing from it, is there twice, or is not what was joined.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from framegate.joinbarrier.flight.child import FlightChild, FlightOptions
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.processes import family

from tests.spark.kills import PAUSE_NS_MAX, ROOT, written
from tests.unit.joinbarrier.journal.journal_world import fill, left, writer

MASTER: Final = "local-cluster[2,1,1024]"
ROWS: Final = 120
BATCH_ROWS: Final = 10
_LOOK_NS: Final = 50_000_000
_END_NS: Final = 60_000_000_000
_LINE: Final = "{:<10} {:>9} {:>9} {:>12}"


@contextmanager
def cluster_query(folder: Path, endpoint: str, rows: int) -> Iterator[tuple[int, IO[str]]]:
    """The program: its JVM's process id, and what it says. Killed at the end, with what it started."""
    token = str(folder / "base" / "flight.token")
    options = json.dumps({"endpoint": endpoint, "tokenFile": token, "forceFlight": "true", "minPartitions": "2"})
    words = [sys.executable, "-m", "tests.spark.programs.cluster_query", MASTER, str(folder), options, str(rows)]
    with (folder / "log").open("a") as log:
        program = subprocess.Popen(
            words,
            # Executors keep their folders where the program is; nobody wants them in the tree.
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        assert program.stdout is not None
        jvm = 0
        try:
            first = program.stdout.readline().split()
            assert first[:1] == ["jvm"], (folder / "log").read_text()
            jvm = int(first[1])
            yield jvm, program.stdout
        finally:
            # Executors are in sessions of their own: found while their JVM lives, ended after it.
            children = list(family(program.pid))
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            program.wait()
            program.stdout.close()


def _some(jvm: int) -> list[int]:
    """The executors, once there is one: one that was killed takes a moment to be replaced."""
    deadline_ns = monotonic_ns() + _END_NS
    while not (found := executors(jvm)):
        assert monotonic_ns() < deadline_ns
        sleep_ns(_LOOK_NS)
    return found


def executors(jvm: int) -> list[int]:
    """The executors' JVMs of a small cluster."""
    return [pid for pid in family(jvm) if pid != jvm and b"CoarseGrainedExecutorBackend" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill_in_batches(folder: Path, kills: int, seed: str = "0") -> list[tuple[str, int, float, int]]:
    """A query over so many rows, in turn without its server and without an executor: what, in which batch, after how
    many milliseconds of it, and how many rows the sink had."""
    chance = random.Random(seed)
    (folder / "journal").mkdir()
    made = writer(folder / "journal")
    while made.next_row < ROWS:
        fill(made, BATCH_ROWS)
    found = list[tuple[str, int, float, int]]()
    with (
        FlightChild(
            folder / "journal", FlightOptions(listen="grpc://127.0.0.1:0", base_dir=str(folder / "base"))
        ) as server,
        cluster_query(folder, str(server.endpoint), ROWS) as (jvm, said),
    ):
        said.readline()  # The first micro-batch is empty: nothing can be lost of it.
        for number in range(kills):
            batch = said.readline().split()
            assert batch[:1] == ["batch"], (batch, (folder / "log").read_text())
            pause_ns = chance.randint(0, PAUSE_NS_MAX)
            sleep_ns(pause_ns)
            what, pid = ("server", server.pid) if number % 2 == 0 else ("executor", chance.choice(_some(jvm)))
            os.kill(pid, signal.SIGKILL)
            found.append((what, int(batch[1]), pause_ns / 1e6, len(written(folder))))
            _until_back(server, server.restarts + (what == "server"))
        ending = _last_word(server, said)
    assert ending == "done", (ending, (folder / "log").read_text())
    assert server.restarts == len([each for each in found if each[0] == "server"])
    return found


def _until_back(server: FlightChild, restarts: int) -> None:
    """As the agent's loop does it."""
    deadline_ns = monotonic_ns() + _END_NS
    while server.restarts < restarts:
        server.look()
        assert monotonic_ns() < deadline_ns
        sleep_ns(_LOOK_NS)


def _last_word(server: FlightChild, said: IO[str]) -> str:
    word = ""
    for line in said:
        server.look()
        word = line.strip()
        if not word.startswith("batch"):
            break
    return word


def missing_repeated_wrong(folder: Path) -> tuple[int, int, int]:
    """How the sink differs from the journal: each is a number of rows."""
    there = written(folder)
    wanted = {(row, int(left(row).sum())) for row in range(ROWS)}
    repeated = sum(count - 1 for count in Counter(row for row, _ in there).values())
    return len(wanted - set(there)), repeated, len(set(there) - wanted)


def main(kills: int) -> int:
    """So many kills in one query."""
    folder = Path(tempfile.mkdtemp(prefix="framegate-flight-kills-", dir="/dev/shm"))
    try:
        print(_LINE.format("killed", "in batch", "after ms", "rows in sink"))
        for what, batch, after_ms, rows in kill_in_batches(folder, kills, os.environ.get("FRAMEGATE_TEST_SEED", "0")):
            print(_LINE.format(what, batch, f"{after_ms:.0f}", rows).rstrip(), flush=True)
        missing, repeated, wrong = missing_repeated_wrong(folder)
        rows = len(written(folder))
        print(f"{MASTER}: {kills} kills, {rows} rows; {missing} missing, {repeated} repeated, {wrong} wrong")
        return 1 if missing or repeated or wrong else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 4))
