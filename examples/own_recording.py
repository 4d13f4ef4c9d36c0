# SPDX-License-Identifier: Apache-2.0
"""A recording is joined from its file: no driver runs, and the table is Arrow's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cameras import picture, sample, source

import framegate as fg


def framegate(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "framegate", *map(str, words)], check=True)


with tempfile.TemporaryDirectory() as folder, fg.local() as gate:
    recording, journal = Path(folder, "drive.mcap"), Path(folder, "joined")
    camera = gate.producer("camera", shape=(480, 640, 3), dtype="uint8")
    imu = gate.producer("imu", shape=(6,), dtype="float64")
    places = ["--aeron-dir", gate.aeron_dir, "--base-dir", gate.base_dir]
    recorder = subprocess.Popen(
        [sys.executable, "-m", "framegate", "record", recording, "--streams", "camera,imu", "--payload", *places]
    )
    camera.wait_consumers(1)
    imu.wait_consumers(1)
    source(camera, hz=30, frames=60, frame=picture)
    source(imu, hz=200, frames=420, frame=sample)
    recorder.wait()
    framegate("join", "camera", "imu~10ms", "--from", recording, "--out", journal, "--base-dir", gate.base_dir)
    table = fg.journal(journal).to_arrow()
    inputs, size = table.schema.names[-2:], recording.stat().st_size
    print(f"{table.num_rows} rows with {' and '.join(inputs)}; {size >> 20} MiB recorded")
