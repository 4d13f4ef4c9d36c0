# SPDX-License-Identifier: Apache-2.0
"""A query in Spark that is killed with everything else; its sink must hold every row of the journal once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq
from framegate.joinbarrier.journal.journal import Journal
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

from tests.chaos.world import until
from tests.recovery.verdict import Verdict
from tests.spark.programs.recovery_query import INPUTS

ROOT: Final = Path(__file__).parents[2]
_PATIENCE_NS: Final = 180_000_000_000
_LOOK_NS: Final = 100_000_000


class SparkQuery:
    """One, over one journal; begun when the journal is there."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._folder = journal.with_name(f"{journal.name}-query")
        self._folder.mkdir()
        self._program: subprocess.Popen[str] | None = None
        self._batches = 0

    def keep_running(self) -> None:
        """Begin it, if it does not run and there is a journal to read."""
        if (self._program is None or self._program.poll() is not None) and (self._journal / "journal.json").exists():
            words = [sys.executable, "-m", "tests.spark.programs.recovery_query", str(self._journal), str(self._folder)]
            self._batches = 0
            with (self._folder / "log").open("a") as log:
                self._program = subprocess.Popen(
                    words, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
                )
            threading.Thread(target=self._listen, args=(self._program,), daemon=True).start()

    def _listen(self, program: subprocess.Popen[str]) -> None:
        assert program.stdout is not None
        with program.stdout as lines:
            for line in lines:
                self._batches += line.startswith("batch")

    def kill(self, is_over: Callable[[], bool], pause_ns: int) -> None:
        """End it with its JVM a moment after it is at work, or nothing more comes; and begin it again."""

        def is_time() -> bool:
            self.keep_running()
            return is_over() or self._batches > 0

        until(is_time, f"a batch of the query: {self._said()}")
        sleep_ns(pause_ns)
        self.end()
        self.keep_running()

    def end(self) -> None:
        """A session of its own: this ends the program, its JVM and its workers, and nothing else."""
        if self._program is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._program.pid, signal.SIGKILL)
            self._program.wait()

    def finish(self, rows: int) -> Verdict:
        """Wait until the sink has so many rows; what is wrong with it."""
        found = Verdict()
        self.keep_running()
        deadline_ns = monotonic_ns() + _PATIENCE_NS
        while len({row for row, _ in self._written()}) < rows:
            if monotonic_ns() > deadline_ns:
                found.problems.append(f"the sink has not all {rows} rows in time: {self._said()}")
                break
            sleep_ns(_LOOK_NS)
        self.end()
        there, wanted = self._written(), self._wanted()
        repeated = sum(count - 1 for count in Counter(row for row, _ in there).values())
        found.rows, found.expected = len(there), len(wanted)
        found.note("missing", len(wanted - set(there)), "rows are not in the sink")
        found.note("doubled", repeated, "rows are in the sink again")
        found.note("wrong", len(set(there) - wanted), "rows of the sink are not the journal's")
        return found

    def _written(self) -> list[tuple[int, int]]:
        """Row and content of all files that Spark has given their place."""
        found = list[tuple[int, int]]()
        for path in sorted((self._folder / "out").glob("[!._]*.parquet")):
            columns = pq.read_table(path, columns=["row", "content"]).to_pydict()
            found += zip(columns["row"], columns["content"], strict=True)
        return found

    def _wanted(self) -> set[tuple[int, int]]:
        found = set()
        for row in Journal(self._journal).rows():
            total = 0
            for name in INPUTS:
                array = row.inputs[name].array
                total = zlib.crc32(b"absent" if array is None else np.ascontiguousarray(array).tobytes(), total)
            found.add((row["row"], total))
        return found

    def _said(self) -> str:
        log = self._folder / "log"
        return log.read_text()[-1_500:] if log.exists() else ""


@contextmanager
def spark_query(journal: Path) -> Iterator[SparkQuery]:
    """A query over a journal, gone at the end."""
    query = SparkQuery(journal)
    try:
        yield query
    finally:
        query.end()
