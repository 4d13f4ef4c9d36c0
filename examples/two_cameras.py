# SPDX-License-Identifier: Apache-2.0
"""Two cameras in step, one of them 120 ms late with jitter: row n holds frame n of both."""

from __future__ import annotations

from cameras import number_of, picture, source

import framegate as fg

with fg.local() as gate:
    left = gate.producer("left", shape=(480, 640, 3), dtype="uint8")
    right = gate.producer("right", shape=(480, 640, 3), dtype="uint8")
    with gate.join("left", "right") as joined:
        source(left, hz=30, frames=90, frame=picture)
        source(right, hz=30, frames=90, frame=picture, late_s=0.12, jitter_s=0.01)
        for row in joined:
            assert number_of(row.left) == number_of(row.right) == row.out_seq
        print(f"{len(joined)} rows of 90; {joined.unmatched()}")
