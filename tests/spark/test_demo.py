# SPDX-License-Identifier: Apache-2.0
"""``framegate demo`` with a Spark of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

WATCHDOG_S = 110
CLUSTER_WATCHDOG_S = 400


def test_the_demo_in_spark_recovers_the_motion_of_every_set_and_leaves_nothing(tmp_path: Path) -> None:
    summary = shown(tmp_path, WATCHDOG_S)
    assert summary["cluster"] is False
    assert "flight" not in summary


@pytest.mark.long
@pytest.mark.timeout(CLUSTER_WATCHDOG_S + 60)
def test_the_demo_on_a_cluster_has_the_same_sums_and_every_row_came_by_flight(tmp_path: Path) -> None:
    summary = shown(tmp_path, CLUSTER_WATCHDOG_S, "--cluster")
    assert summary["cluster"] is True
    assert summary["flight"]["rows"] >= summary["rows"]
    assert summary["flight"]["streams"] > 1


def with_folder(home: str) -> Iterator[int]:
    """The processes that keep what is temporary in the demo's folder: the drivers, cameras, the JVM and its workers."""
    for entry in Path("/proc").iterdir():
        # It has ended meanwhile, or is another user's.
        with suppress(OSError):
            if entry.name.isdigit() and f"TMPDIR={home}/".encode() in (entry / "environ").read_bytes():
                yield int(entry.name)


def shown(tmp_path: Path, within_s: float, *more: str) -> dict[str, Any]:
    """Run the demo and check what is true of every one; its summary."""
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
        *more,
    ]
    # The demo's Spark is its own affair, whatever Python was chosen for others.
    environment = {**os.environ, "PYSPARK_PYTHON": "/nowhere"}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=within_s, check=False
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    ready, *_, summary = map(json.loads, done.stdout.splitlines())
    assert summary["spark"] is True
    assert summary["motion"]["recovered_sets"] == summary["rows"] > 0
    for camera in summary["cameras"]:
        assert camera["frames"] == 300 == summary["rows"] + sum(camera["not_joined"].values()), camera
    assert (tmp_path / "framegate-demo.png").read_bytes().startswith(b"\x89PNG")
    assert not Path(ready["home"]).exists()
    assert not list(with_folder(ready["home"]))
    found: dict[str, Any] = summary
    return found
