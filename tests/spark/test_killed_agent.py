# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the join agent under a query: it goes on with what the next agent joins, and every row comes once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from framegate.shmpool.commands.pattern import Pattern
from pyspark.sql import DataFrame, SparkSession

import framegate.spark as fgs
from tests.spark.test_stream_queries import running, wait
from tests.system.conftest import System
from tests.system.join_bed import LEFT, PAYLOAD_BYTES, RIGHT, JoinBed, interrupted, killed
from tests.system.journal_table import read_rows, row_count

KILLS = 3
ROWS_BETWEEN = 150
JOURNAL = {"max_bytes": "64MiB", "segment_bytes": "256KiB", "seal_bytes": "64KiB"}
"""Segments so small that the agent is between two of them now and then."""
COLUMNS = "row bigint, left_seq bigint, right_seq bigint, is_whole boolean"


@pytest.fixture
def bed(folder: Path, tmp_path: Path) -> Iterator[JoinBed]:
    """A driver and two producers that go on whoever joins them."""
    system = System(tmp_path)
    try:
        made = JoinBed(system, folder)
        made.start_driver()
        made.counted(LEFT, seed=1, gaps=0.05)
        made.counted(RIGHT, seed=2)
        yield made
    finally:
        system.close()


class Checked:
    """A sink: the sequences of every row, which must come once, with the frames that they name."""

    def __init__(self) -> None:
        self.rows = dict[int, tuple[int, int]]()

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        for row in df.collect():
            assert row.row not in self.rows, f"row {row.row} came twice, in batch {batch_id}"
            assert row.is_whole, f"row {row.row} has other bytes than its frames"
            self.rows[row.row] = row.left_seq, row.right_seq


@pytest.mark.timeout(300)
@pytest.mark.parametrize("payload", [pytest.param("value", marks=pytest.mark.long), "reference"])
def test_a_query_goes_on_when_the_join_agent_is_killed_and_comes_back(
    spark: SparkSession, folder: Path, bed: JoinBed, payload: str
) -> None:
    config = bed.lockstep(journal=JOURNAL)
    agent, journal, sink = bed.join(config), bed.journal(), Checked()
    with running(checked(spark, journal, payload), folder, sink) as query:
        for _ in range(KILLS):
            goal = len(sink.rows) + ROWS_BETWEEN
            wait(query, lambda: len(sink.rows) >= goal)  # noqa: B023 - called before the next round
            killed(agent)
            sealed = row_count(journal)
            wait(query, lambda: len(sink.rows) == sealed)  # noqa: B023
            agent = bed.join(config)
        wait(query, lambda: len(sink.rows) >= goal + ROWS_BETWEEN)
        interrupted(agent)
        rows = read_rows(journal)
        wait(query, lambda: len(sink.rows) >= len(rows))
    assert sink.rows == {row.row: (row.inputs["left"].seq, row.inputs["right"].seq) for row in rows}
    assert sorted(sink.rows) == list(range(len(rows)))


def checked(spark: SparkSession, journal: Path, payload: str) -> DataFrame:
    """Each row's sequences, and whether its arrays are the frames of those numbers."""

    def look(row: dict[str, Any]) -> tuple[int, int, int, bool]:
        found = [
            # The first bytes of such a frame are its number.
            (int.from_bytes(row[name].tobytes()[:8], "little"), row[name].reshape(-1), stream)
            for name, stream in (("left", LEFT), ("right", RIGHT))
        ]
        patterns = (Pattern("counter", stream=stream, payload_bytes=PAYLOAD_BYTES) for _, _, stream in found)
        is_whole = all(pattern.holds(frame, seq) for pattern, (seq, frame, _) in zip(patterns, found, strict=True))
        return row["row"], found[0][0], found[1][0], is_whole

    options = {"readerName": "spark", "startingOffsets": "earliest", "payload": payload}
    return fgs.resolve(spark.readStream.format("framegate").options(**options).load(str(journal)), look, COLUMNS)
