# SPDX-License-Identifier: Apache-2.0
"""A slow camera beside a fast one: each fast frame with the newest slow one of the last 250 ms."""

from __future__ import annotations

from cameras import picture, source

import framegate as fg

with fg.local() as gate:
    fast = gate.producer("fast", shape=(480, 640, 3), dtype="uint8")
    slow = gate.producer("slow", shape=(480, 640, 3), dtype="uint8")
    with gate.join("fast", slow="newest 250ms") as joined:
        source(fast, hz=60, frames=120, frame=picture)
        source(slow, hz=12, frames=30, frame=picture)
        beside = [row.inputs["slow"].seq for row in joined]
        print(f"{len(beside)} rows; the last five frames of the fast camera are beside {beside[-5:]} of the slow one")
