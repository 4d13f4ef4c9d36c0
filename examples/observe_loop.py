# SPDX-License-Identifier: Apache-2.0
"""A control loop acts on the newest frames that belong together, and the journal keeps what it acted on."""

from __future__ import annotations

import time

import numpy as np
from cameras import picture, source

import framegate as fg

with fg.local() as gate:
    cameras = [gate.producer(name, shape=(480, 640, 3), dtype="uint8") for name in ("left", "right")]
    threads = [source(camera, hz=30, frames=90, frame=picture) for camera in cameras]
    ages, answers = [], []
    for _ in range(50):
        began = time.perf_counter()
        newest = gate.observe("left", "right", max_age_ms=1_000)
        answers.append((time.perf_counter() - began) * 1e3)
        ages.append(max(each.age_ns for each in newest.values()) / 1e6)
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    print(f"50 answers in {np.median(answers):.2f} ms each; the older frame was {np.median(ages):.1f} ms old")
