# SPDX-License-Identifier: Apache-2.0
"""``alignToCheckpoints``: a query beside a live agent that takes checkpoints; no micro-batch crosses a barrier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.test_stream_queries import running, wait
from tests.system.checkpoint_bed import CheckpointBed
from tests.system.conftest import System
from tests.system.join_bed import LEFT, RIGHT, interrupted

CHECKPOINTS = 3


@pytest.fixture
def bed(folder: Path, tmp_path: Path) -> Iterator[CheckpointBed]:
    """A driver that asks for a checkpoint every now and then, and two producers."""
    system = System(tmp_path)
    try:
        made = CheckpointBed(system, folder, interval_ms=500, operator_timeout_ms=3_000)
        for stream in (LEFT, RIGHT):
            made.counted(stream)
        yield made
    finally:
        system.close()


class Batches:
    """A sink: the rows of each micro-batch, and the checkpoint that each of them carries."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.checkpoints: list[set[int]] = []

    def __call__(self, df: DataFrame, _batch_id: int) -> None:
        found = df.select("row", "checkpoint_id").collect()
        self.rows += sorted(row.row for row in found)
        self.checkpoints.append({row.checkpoint_id for row in found})

    @property
    def met(self) -> set[int]:
        return set().union(*self.checkpoints)


@pytest.mark.timeout(300)
def test_no_micro_batch_crosses_a_barrier_of_a_live_agent(
    spark: SparkSession, folder: Path, bed: CheckpointBed
) -> None:
    agent, sink = bed.join(bed.lockstep()), Batches()
    options = {"startingOffsets": "earliest", "alignToCheckpoints": "true", "readerName": "aligned"}
    query_of = spark.readStream.format("framegate").options(**options).load(str(bed.journal()))
    with running(query_of, folder, sink) as query:
        wait(query, lambda: len(sink.met) > CHECKPOINTS)
    summary = interrupted(agent)
    assert summary["checkpoints"]["checkpoints_completed"] >= CHECKPOINTS
    assert all(len(ids) <= 1 for ids in sink.checkpoints), sink.checkpoints
    assert sink.rows == list(range(len(sink.rows)))
    # What the rows carry only grows, and each barrier of the coordinator is met.
    carried = [next(iter(ids)) for ids in sink.checkpoints if ids]
    assert carried == sorted(carried)
    assert max(carried) <= bed.issued()[0]
