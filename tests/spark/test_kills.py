# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the JVM in the middle of batches: the sink ends with every row of the journal exactly once.

Between two lives the journal grows, and every second time the last entries of Spark's log of finished batches are lost.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
from framegate.shmpool.idle import sleep_ns
from pyspark.sql import SparkSession

from tests.unit.joinbarrier.journal.journal_world import fill, left, writer

ROOT = Path(__file__).parents[2]
LANE = os.environ.get("FRAMEGATE_TEST_LANE", "")
KILLS = 20 if LANE == "long" else 1
"""For each way to read: one in the usual lane, so two in all."""


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


@pytest.mark.timeout(120 + 60 * KILLS)
@pytest.mark.parametrize("payload", ["value", "reference"])
def test_a_jvm_that_is_killed_in_the_middle_of_batches_loses_and_repeats_nothing(
    spark: SparkSession, folder: Path, payload: str
) -> None:
    chance = random.Random(f"{payload} {os.environ.get('FRAMEGATE_TEST_SEED', 0)}")
    (folder / "journal").mkdir()
    made = writer(folder / "journal")
    repeated = 0
    for kill in range(KILLS):
        for _ in range(4):
            fill(made, 10)
        with query(folder, payload) as (jvm, said):
            for _ in range(chance.randint(1, 2)):
                assert said.readline().startswith("batch"), (folder / "log").read_text()
            sleep_ns(chance.randint(0, 400_000_000))  # Somewhere in the batch: the moment itself is what is tried.
            os.kill(jvm, signal.SIGKILL)
        if kill % 2 == 0:
            lose_what_was_done(folder)
            repeated += 1
    fill(made, 5)
    finish(spark, folder, payload)
    written = spark.read.parquet(str(folder / "out")).collect()
    totals = sorted((row.row, row.total) for row in written)
    assert totals == [(row, int(left(row).sum())) for row in range(made.next_row)]
    assert repeated


def finish(spark: SparkSession, folder: Path, payload: str) -> None:
    """The rest, to the end of the journal, in this process's Spark."""
    import framegate.spark as fgs
    from tests.spark.programs.repeating_query import total

    joined = (
        spark.readStream.format("framegate")
        .option("readerName", "killed")
        .option("payload", payload)
        .load(str(folder / "journal"))
    )
    (
        fgs.resolve(joined, total, "out_stream bigint, journal_epoch bigint, row bigint, total bigint")
        .writeStream.foreachBatch(fgs.exactly_once(str(folder / "out")))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
