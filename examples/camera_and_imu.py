# SPDX-License-Identifier: Apache-2.0
"""A camera with the nearest sample of an inertial unit, each sample once."""

from __future__ import annotations

import numpy as np
from cameras import picture, sample, source

import framegate as fg

with fg.local() as gate:
    camera = gate.producer("camera", shape=(480, 640, 3), dtype="uint8")
    imu = gate.producer("imu", shape=(6,), dtype="float64")
    with gate.join("camera", imu="nearest 10ms, once") as joined:
        source(camera, hz=30, frames=90, frame=picture, late_s=0.05)
        source(imu, hz=200, frames=640, frame=sample)
        apart_ms = [row.skew_ns / 1e6 for row in joined]
        middle, most = np.median(apart_ms), max(apart_ms)
        print(f"{len(joined)} rows of 90; camera and sample {middle:.2f} ms apart, {most:.2f} at most")
