# SPDX-License-Identifier: Apache-2.0
"""A setting that changes now and then, beside every frame: no frame waits for the next change."""

from __future__ import annotations

import time

import numpy as np
from cameras import picture, source

import framegate as fg

with fg.local() as gate:
    camera = gate.producer("camera", shape=(480, 640, 3), dtype="uint8")
    exposure = gate.producer("exposure", shape=(1,), dtype="float32")
    with gate.join("camera", exposure="latest") as joined:
        exposure.publish(np.array([10.0], "float32"))
        source(camera, hz=30, frames=60, frame=picture)
        time.sleep(1.0)
        exposure.publish(np.array([20.0], "float32"))
        exposure.end()
        used = [float(row.exposure[0]) for row in joined]
        print(f"{used.count(10.0)} frames with an exposure of 10 ms, then {used.count(20.0)} with 20 ms")
