# SPDX-License-Identifier: Apache-2.0
"""kill -9 of what a query lives with: the journal's writer, and Spark's Python workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.joinbarrier.journal.journal import Journal
from pyspark.sql import DataFrame, SparkSession

import framegate.spark as fgs
from tests.spark.test_stream_queries import Collected, failure_of, running, stream, wait
from tests.unit.joinbarrier.journal.journal_world import segments_of

ROOT = Path(__file__).parents[2]


@contextmanager
def told_writer(journal: Path) -> Iterator[subprocess.Popen[str]]:
    """A writer in a process of its own, killed at the end."""
    words = [sys.executable, "-m", "tests.spark.programs.told_writer", str(journal)]
    program = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield program
    finally:
        program.kill()
        program.wait()
        for pipe in (program.stdin, program.stdout):
            with suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()


def write(program: subprocess.Popen[str], rows: int) -> int:
    """How many rows there are once these are sealed."""
    assert program.stdin is not None
    assert program.stdout is not None
    print(rows, file=program.stdin, flush=True)
    said = program.stdout.readline().split()
    assert said[:1] == ["sealed"], program.poll()
    return int(said[1])


@pytest.mark.long
def test_a_query_goes_on_when_its_journals_writer_is_killed_and_comes_back(spark: SparkSession, folder: Path) -> None:
    journal = folder / "journal"
    journal.mkdir()
    inputs = (JournalInput(name="left", stream=1),)
    write_description(journal, JournalDescription(out_stream=1, journal_epoch=1, inputs=inputs))
    sums = dict[int, int]()

    def sink(df: DataFrame, batch_id: int) -> None:
        for row in df.collect():
            assert row.row not in sums, "a row came twice"
            frame = fgs.to_numpy(row.left)
            assert frame is not None
            sums[row.row] = int(frame.view("<u8").sum())

    with told_writer(journal) as program:
        write(program, 5)  # A query needs a segment to begin with.
    with running(stream(spark, folder, readerName="spark"), folder, sink) as query:
        for _ in range(3):
            with told_writer(journal) as program:
                for rows in (7, 90):
                    sealed = write(program, rows)
                    wait(query, lambda: len(sums) == sealed)  # noqa: B023 - called before the next round
    assert sums == {row: 40 * row for row in range(Journal(journal).sealed_row)}
    assert len(sums) > 3 * 97


def _children(pid: int) -> list[int]:
    found = list[int]()
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def workers_of(jvm: int) -> list[int]:
    """What reads and runs Python: forked by the daemons that the JVM started."""
    return [worker for daemon in _children(jvm) for worker in _children(daemon)]


def sources_of(jvm: int) -> list[int]:
    """What answers Spark's questions for offsets: started by the JVM itself, one for each streaming query."""
    return [pid for pid in _children(jvm) if b"streaming_source_runner" in Path(f"/proc/{pid}/cmdline").read_bytes()]


class Killing(Collected):
    """A sink that kills processes once, after its second batch."""

    def __init__(self, victims: Callable[[], list[int]]) -> None:
        super().__init__()
        self._victims = victims
        self.killed = 0

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        super().__call__(df, batch_id)
        if batch_id != 2:
            return
        for pid in self._victims():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed += 1


@pytest.fixture
def jvm(spark: SparkSession) -> int:
    machine: Any = spark._jvm
    return int(machine.java.lang.ProcessHandle.current().pid())


@pytest.fixture
def journal(folder: Path) -> Path:
    made = folder / "journal"
    made.mkdir()
    segments_of(made, [5, 7, 3])
    return made


OPTIONS = {"readerName": "spark", "maxRowsPerTrigger": "4"}


@pytest.mark.parametrize("payload", [pytest.param("value", marks=pytest.mark.long), "reference"])
def test_a_query_whose_workers_are_killed_goes_on(
    spark: SparkSession, folder: Path, journal: Path, jvm: int, payload: str
) -> None:
    sink = Killing(lambda: workers_of(jvm))
    source = stream(spark, folder, payload=payload, **OPTIONS)
    joined = fgs.resolve(source, lambda row: (row["row"], int(row["left"].sum())), "row bigint, total bigint")
    with running(joined, folder, sink) as query:
        wait(query, lambda: sink.rows[-1:] == [14])
    assert sink.killed > 0
    assert sink.rows == list(range(15))


@pytest.mark.long
def test_a_query_whose_source_is_killed_ends_with_an_error_and_goes_on_when_begun_again(
    spark: SparkSession, folder: Path, journal: Path, jvm: int
) -> None:
    sink, again = Killing(lambda: sources_of(jvm)), Collected()
    with running(stream(spark, folder, **OPTIONS), folder, sink) as query:
        assert failure_of(query) != "None"
    assert sink.killed > 0
    with running(stream(spark, folder, **OPTIONS), folder, again) as query:
        wait(query, lambda: again.rows[-1:] == [14])
    assert sink.rows == list(range(8))
    assert again.rows == list(range(8, 15))
