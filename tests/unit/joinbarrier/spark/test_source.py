# SPDX-License-Identifier: Apache-2.0
"""What Spark makes in several processes opens nothing; what it sends to others carries no open journal."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from framegate.joinbarrier.journal.readers import readers
from framegate.joinbarrier.spark.read.columns import spark_schema
from framegate.joinbarrier.spark.source import FramegateDataSource
from framegate.joinbarrier.spark.stream_reader import FramegateStreamReader
from framegate.schema.errors import JournalMissing

from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS, segments_of


def stream_reader(folder: Path) -> FramegateStreamReader:
    options = {"path": str(folder), "readerName": "spark", "startingOffsets": "earliest"}
    return FramegateDataSource(options).streamReader(spark_schema("rows", INPUTS, "value"))


def test_readers_are_made_without_a_look_at_the_journal(folder: Path) -> None:
    nowhere = folder / "nowhere"
    source = FramegateDataSource({"path": str(nowhere)})
    source.reader(spark_schema("rows", INPUTS, "value"))
    reader = stream_reader(nowhere)
    pickle.loads(pickle.dumps(reader))  # noqa: S301 - our own bytes
    with pytest.raises(JournalMissing):
        source.schema()
    with pytest.raises(JournalMissing):
        reader.initialOffset()


def test_a_task_of_an_open_reader_reads_by_itself_and_claims_nothing(folder: Path) -> None:
    segments_of(folder, [5])
    reader = stream_reader(folder)
    reader.initialOffset()
    (task,) = reader.partitions({"epoch": EPOCH, "row": 1}, {"epoch": EPOCH, "row": 4})
    (claimed,) = readers(folder)
    executor, carried = pickle.loads(pickle.dumps((reader, task)))  # noqa: S301 - our own bytes
    rows = [row for batch in executor.read(carried) for row in batch.column("row").to_pylist()]
    assert rows == [1, 2, 3]
    (after,) = readers(folder)
    assert (after.claim, after.pid) == (claimed.claim, claimed.pid)
    reader.stop()
