# SPDX-License-Identifier: Apache-2.0
"""``exactly_once`` to Delta, where it is installed: ``python -m dev.lanes.spark_versions delta`` installs it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.spark.kills import ROOT
from tests.unit.joinbarrier.journal.journal_world import segments_of

WATCHDOG_S = 900


@pytest.mark.timeout(WATCHDOG_S + 60)
@pytest.mark.skipif(find_spec("delta") is None, reason="Delta is not installed")
def test_rows_go_once_to_delta_under_a_path_and_to_a_table(folder: Path) -> None:
    (folder / "journal").mkdir()
    segments_of(folder / "journal", [5, 7])
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.programs.delta_query", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = list(range(12))
    wanted = {"path": rows, "path refuses": "mean", "table": rows, "table refuses": "mean"}
    assert json.loads(done.stdout.splitlines()[-1]) == wanted
