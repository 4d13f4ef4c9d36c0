# SPDX-License-Identifier: Apache-2.0
"""When a journal waits for the disk, seen by a system that refuses to write through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.joinbarrier.sync_refused import SYNCS


@pytest.mark.skipif(os.uname().machine not in SYNCS, reason="the numbers of its system calls are not known here")
@pytest.mark.parametrize(
    ("durability", "failed"),
    [
        ("memory", ["sync"]),
        ("disk", ["sync"]),
        ("checkpoint", ["sync", "close"]),
        ("fsync", ["seal", "sync", "close"]),
    ],
)
def test_rows_are_written_through_at_each_seal_at_the_end_or_never_as_the_durability_says(
    folder: Path, durability: str, failed: list[str]
) -> None:
    """``sync`` is what a barrier asks for where the durability is ``checkpoint``."""
    words = [sys.executable, "-m", "tests.unit.joinbarrier.sync_refused", str(folder), durability]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == failed
