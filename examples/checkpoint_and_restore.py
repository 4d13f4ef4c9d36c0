# SPDX-License-Identifier: Apache-2.0
"""A join is killed, and goes on from its newest checkpoint: no row is lost or doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cameras import picture, source

import framegate as fg


def framegate(*words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "framegate", *map(str, words)])


with tempfile.TemporaryDirectory() as folder:
    # The driver coordinates checkpoints: twice a second, of all producers and joins of the pipeline.
    file = Path(folder, "driver.toml")
    file.write_text(f'[checkpoint.default]\ndir = "{folder}/checkpoints"\ninterval_ms = 500\n')
    with fg.local(config=file) as gate:
        places = ("--aeron-dir", gate.aeron_dir, "--base-dir", gate.base_dir)
        words = ("join", "left", "right", "--out", f"{folder}/rows", *places)
        left = gate.producer("left", shape=(480, 640, 3), dtype="uint8")
        right = gate.producer("right", shape=(480, 640, 3), dtype="uint8")
        join = framegate(*words)
        left.wait_consumers(1)
        right.wait_consumers(1)
        source(left, hz=30, frames=150, frame=picture)
        source(right, hz=30, frames=150, frame=picture)
        time.sleep(2.5)
        os.kill(join.pid, signal.SIGKILL)
        join.wait()
        framegate(*words, "--restore", "latest").wait()
        outputs = [row.out_seq for row in fg.journal(f"{folder}/rows")]
        checkpoints = len(list(Path(folder, "checkpoints").glob("*/manifest.json")))
    assert outputs == list(range(150)), "each output once"
    print(f"{len(outputs)} rows, {outputs[0]} to {outputs[-1]}, each once; {checkpoints} checkpoints are kept")
