# SPDX-License-Identifier: Apache-2.0
"""A stage that answers two frames later: its output n belongs to frame n - 2 of the camera."""

from __future__ import annotations

import threading

import numpy as np
from cameras import number_of, picture, source

import framegate as fg


def detector(gate: fg.Gate) -> None:
    """Publishes with frame n what it found in frame n - 2, as a network with a pipeline of two frames does."""
    found = list[int]()
    with gate.producer("boxes", shape=(1,), dtype="int64") as boxes:
        for frame in gate.consumer("camera"):
            found.append(number_of(frame.array))
            boxes.publish(np.array([found[-3] if len(found) > 2 else -1]), timestamp_ns=frame.timestamp_ns)
        boxes.end()


with fg.local() as gate:
    camera = gate.producer("camera", shape=(480, 640, 3), dtype="uint8")
    threading.Thread(target=detector, args=(gate,), daemon=True).start()
    with gate.join("camera", boxes="offset 2") as joined:
        camera.wait_consumers(2)
        source(camera, hz=60, frames=120, frame=picture)
        right = sum(int(row.boxes[0]) == number_of(row.camera) for row in joined)
        print(f"{right} of {len(joined)} rows hold a frame with what was found in it; {joined.unmatched()}")
