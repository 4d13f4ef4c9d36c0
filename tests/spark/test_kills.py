# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the JVM in the middle of batches: the sink ends with every row of the journal exactly once.

Between two lives the journal grows, and every second time the newest entry of Spark's log of finished batches is lost:
then Spark repeats a batch that the sink has.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.kills import WAYS, Killed, main
from tests.spark.programs.repeating_query import begun

IS_LONG = os.environ.get("FRAMEGATE_TEST_LANE", "") == "long"
KILLS = 20 if IS_LONG else 1
"""For each way to read: one in the usual lane, so two in all, one with a loss and one without."""


@pytest.mark.timeout(240 + 60 * KILLS)
@pytest.mark.parametrize("payload", WAYS)
def test_a_jvm_that_is_killed_in_the_middle_of_batches_loses_and_repeats_nothing(
    spark: SparkSession, folder: Path, payload: str
) -> None:
    killed = Killed(folder, payload, os.environ.get("FRAMEGATE_TEST_SEED", "0"))
    is_first_lost = payload == "value"
    kills = [killed.kill(is_log_lost=(number % 2 == 0) == is_first_lost) for number in range(KILLS)]
    killed.grow()
    to_the_end(spark, folder, payload)
    assert killed.missing_repeated_wrong() == (0, 0, 0), kills


def to_the_end(spark: SparkSession, folder: Path, payload: str) -> None:
    """The last life is in this process's Spark, which is there already."""
    query = begun(spark, folder, payload, lambda *_: None, availableNow=True)
    query.awaitTermination()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_script_shows_a_table_of_kills(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["payload", "kill"]
    assert [line.split()[:2] for line in lines[1::2]] == [["value", "1"], ["reference", "1"]]
    assert all(line.endswith("0 missing, 0 repeated, 0 wrong") for line in lines[2::2])
