# SPDX-License-Identifier: Apache-2.0
"""A journal that waits for its reader, and a query that commits late: neither waits for the other for ever."""

from __future__ import annotations

import threading
from pathlib import Path

from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.joinbarrier.journal.readers import surveyed
from framegate.shmpool.clock import monotonic_ns
from pyspark.sql import DataFrame, SparkSession

from framegate._native import JournalWriter
from tests.spark.test_stream_queries import running, stream, wait
from tests.unit.joinbarrier.journal_writing import cell, small_writer

PAYLOAD = bytes(3000)
ROWS = 400


class Agent(threading.Thread):
    """Writes rows into a journal of a few small segments, as fast as its reader lets it."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._writer: JournalWriter = small_writer(directory, ["left"], when_full="block")
        self._is_over = threading.Event()
        self.has_waited = False

    def run(self) -> None:
        # As a join agent does at every turn: who knows of no reader keeps only what fits.
        self._writer.set_floor(surveyed(self._directory, monotonic_ns()).floor)
        for seq in range(ROWS):
            while (outcome := self._writer.append({"left": cell(PAYLOAD, seq)}, out_seq=seq)) != "ready":
                if self._is_over.is_set():
                    return
                self._make_room(outcome)
        self._writer.seal()

    def _make_room(self, outcome: str) -> None:
        if outcome == "seal_first":
            self._writer.seal()
            return
        self._writer.set_floor(surveyed(self._directory, monotonic_ns()).floor)
        self.has_waited = not self._writer.wait_for_segment(0.01) or self.has_waited

    def stop(self) -> None:
        self._is_over.set()
        self.join()
        self._writer.close()


def test_a_journal_smaller_than_two_batches_passes_every_row(spark: SparkSession, folder: Path) -> None:
    """Each micro-batch is all that the journal can hold; the next one can begin only when this one is released."""
    journal = folder / "journal"
    journal.mkdir()
    inputs = (JournalInput(name="left", stream=1),)
    write_description(journal, JournalDescription(out_stream=1, journal_epoch=1, inputs=inputs))
    seen = list[int]()

    def sink(df: DataFrame, batch_id: int) -> None:
        seen.extend(sorted(row.row for row in df.select("row").collect()))

    agent = Agent(journal)
    with running(stream(spark, folder, readerName="spark"), folder, sink) as query:
        wait(query, lambda: (journal / "readers" / "spark.json").exists())
        agent.start()
        try:
            wait(query, lambda: len(seen) >= ROWS)
        finally:
            agent.stop()
    assert agent.has_waited, "the journal was never full: nothing was tried"
    assert seen == list(range(ROWS))
