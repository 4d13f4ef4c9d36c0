# SPDX-License-Identifier: Apache-2.0
"""``framegate demo`` with a Spark of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from framegate.tools.demo.sessions import members

WATCHDOG_S = 110


def test_the_demo_in_spark_recovers_the_motion_of_every_set_and_leaves_nothing(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "framegate",
        "demo",
        "--seconds",
        "3",
        "--shape",
        "120x160",
        "--rate",
        "100",
        "--json",
    ]
    # The demo's Spark is its own affair, whatever Python was chosen for others.
    environment = {**os.environ, "PYSPARK_PYTHON": "/nowhere"}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr)
    ready, *_, summary = map(json.loads, done.stdout.splitlines())
    assert summary["spark"] is True
    assert summary["motion"]["recovered_sets"] == summary["rows"] > 0
    for camera in summary["cameras"]:
        assert camera["frames"] == 300 == summary["rows"] + sum(camera["not_joined"].values()), camera
    assert (tmp_path / "framegate-demo.png").read_bytes().startswith(b"\x89PNG")
    assert not Path(ready["home"]).exists()
    # The JVM and its Python workers are of the query's session.
    assert not any(members(pid) for pid in ready["processes"].values())
