# SPDX-License-Identifier: Apache-2.0
"""A backlog is read piece by piece: what Spark and its workers hold does not grow with it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.shmpool.processes import family
from pyspark.sql import SparkSession

from framegate._native import JournalWriter
from tests.unit.joinbarrier.journal_writing import append, cell

MIB = 1 << 20
FRAME_BYTES = 640 << 10
BACKLOG_BYTES = int(os.environ.get("FRAMEGATE_TEST_BACKLOG_MIB", 6 << 10)) * MIB
HELD_BYTES_MAX = 4 << 30


def backlog(directory: Path) -> int:
    """A journal of large frames, in sealed batches of 64 MiB; its rows."""
    inputs = tuple(JournalInput(name=name, stream=number) for number, name in enumerate(("left", "right")))
    write_description(directory, JournalDescription(out_stream=1, journal_epoch=1, inputs=inputs))
    writer = JournalWriter(
        directory,
        ["left", "right"],
        seal_bytes=64 * MIB,
        segment_bytes=256 * MIB,
        max_bytes=2 * BACKLOG_BYTES,
    )
    frame = np.random.default_rng(1).bytes(FRAME_BYTES)
    rows = BACKLOG_BYTES // (2 * FRAME_BYTES)
    for seq in range(rows):
        append(writer, {"left": cell(frame, seq), "right": cell(frame, seq)}, out_seq=seq)
    writer.close()
    return rows


class Highest(threading.Thread):
    """The most memory that a process and all that came of it hold together, looked at many times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid
        self._is_over = threading.Event()
        self.held_bytes = 0
        self.looks = 0

    def run(self) -> None:
        while not self._is_over.wait(0.05):
            self.held_bytes = max(self.held_bytes, sum(_held_bytes(each) for each in family(self._pid)))
            self.looks += 1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        self.join()


def _held_bytes(pid: int) -> int:
    """Its own memory; mapped files are the journal's."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) << 10
    return 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_backlog_larger_than_the_memory_of_spark_is_read_with_default_options(
    spark: SparkSession, folder: Path
) -> None:
    rows = backlog(folder)
    jvm = spark._jvm
    assert jvm is not None
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    with Highest(pid) as highest:
        spark.read.format("framegate").load(str(folder)).write.format("noop").mode("overwrite").save()
    print(f"{rows * 2 * FRAME_BYTES >> 20} MiB read, {highest.held_bytes >> 20} MiB held at most")
    assert spark.read.format("framegate").option("payload", "none").load(str(folder)).count() == rows
    assert highest.looks > 10
    assert 0 < highest.held_bytes < HELD_BYTES_MAX < rows * 2 * FRAME_BYTES
