# SPDX-License-Identifier: Apache-2.0
"""Nearest frames, each once: the most pairs that there can be, whatever the order in which they come."""

from __future__ import annotations

import pytest

from tests.outside.bed import Bed, apart
from tests.outside.rows import seqs

MS = 1_000_000
BASE = 10**12
DRIVE = [0, 8, 40, 45, 80, 80, 120, 131]
SENSOR = [7, 12, 44, 52, 80, 83, 125, 126]
BEST = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)]
"""With a tolerance of 10 ms. Who takes the nearest for each in turn gives 8 the frame at 7, and 0 none."""


@pytest.mark.parametrize("sensor_first", [True, False])
def test_the_best_pairs_are_joined_whoever_comes_first(bed: Bed, sensor_first: bool) -> None:
    camera, sensor = bed.streams()
    name = f"nearest-{sensor_first}"
    nearest: dict[str, object] = {
        "stream": sensor,
        "offset_ns": 0,
        "tolerance_ns": 10 * MS,
        "pick": "nearest",
        "reuse": False,
    }
    inputs: dict[str, dict[str, object]] = {"camera": {"stream": camera, "offset_ns": 0}, "sensor": nearest}
    join = bed.join(bed.config(name, "timestamp", inputs, join={"drive": "input:camera"}))
    played = [(camera, DRIVE), (sensor, SENSOR)]
    for stream, stamps in reversed(played) if sensor_first else played:
        bed.play(stream, [(at, seq, BASE + at * MS) for seq, at in enumerate(stamps)])
        apart(0.5)
    join.summary()
    assert seqs(bed.journal(name), "camera", "sensor") == BEST
    bed.audit(name, camera, sensor)
