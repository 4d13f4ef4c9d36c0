# SPDX-License-Identifier: Apache-2.0
"""The output of one join is the input of the next: cameras in step, then with the nearest sample."""

from __future__ import annotations

from cameras import picture, sample, source

import framegate as fg

with fg.local() as gate:
    left = gate.producer("left", shape=(480, 640, 3), dtype="uint8")
    right = gate.producer("right", shape=(480, 640, 3), dtype="uint8")
    imu = gate.producer("imu", shape=(6,), dtype="float64")
    # Of each pair the left frame is published anew, under the name of the join's output.
    pairs = gate.join("left", "right", publish="left", out_stream="pairs", wait_consumers=1)
    with pairs, gate.join("pairs", imu="nearest 10ms") as joined:
        source(left, hz=30, frames=60, frame=picture)
        source(right, hz=30, frames=60, frame=picture, late_s=0.05)
        source(imu, hz=200, frames=440, frame=sample)
        rows = [row for row in joined]
        print(f"{len(pairs)} pairs, {len(rows)} rows; the last is {rows[-1]}")
