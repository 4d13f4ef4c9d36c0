# SPDX-License-Identifier: Apache-2.0
"""A session of Spark Connect, which has no JVM beside it. In a process of its own: one has one kind of session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.spark.kills import ROOT
from tests.unit.joinbarrier.journal.journal_world import left, segments_of

WATCHDOG_S = 600


@pytest.mark.timeout(WATCHDOG_S + 60)
@pytest.mark.skipif(find_spec("grpc_status") is None, reason="Spark Connect needs pip install 'pyspark[connect]'")
def test_a_session_of_spark_connect_reads_resolves_and_writes_once(folder: Path) -> None:
    (folder / "journal").mkdir()
    segments_of(folder / "journal", [5, 7])
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.programs.connect_query", str(folder)],
        cwd=ROOT,
        env={**os.environ, "SPARK_TESTING": "1"},  # PySpark's way to a port that nobody else has.
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("session").startswith("pyspark.sql.connect")
    assert found.pop("rows") == 9
    totals = [[row, int(left(row).sum())] for row in range(12)]
    assert found == dict.fromkeys(("path-2", "path-3", "path-4", "table-5", "table-6", "table-7"), totals)
