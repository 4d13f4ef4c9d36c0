# SPDX-License-Identifier: Apache-2.0
"""Streams that lie further apart than memory for waiting frames can bridge lose frames, and go on being joined."""

from __future__ import annotations

from tests.outside.bed import Bed

EVERY_MS = 4
LEAD = 300
"""Frames by which one stream is ahead of the other: its ring has 128, and ``pending_bytes`` holds 64."""


def test_a_lead_that_memory_cannot_bridge_costs_frames_and_never_all_of_them(bed: Bed) -> None:
    left, right = bed.streams(2)
    config = bed.lockstep("lead", [left, right], join={"pending_bytes": "16MiB"})
    join = bed.join(config)
    # Ten pairs; then the copies that the leader's next frames got wait for partners that never come.
    in_step = [(EVERY_MS * seq, seq, None) for seq in range(10)]
    behind = [(EVERY_MS * (seq + LEAD), seq, None) for seq in range(LEAD, 800)]
    producers = [
        bed.play(left, [(EVERY_MS * seq, seq, None) for seq in range(1200)], shape="512x512"),
        bed.play(right, in_step + behind, shape="512x512"),
    ]
    for producer in producers:
        producer.summary()
    summary = join.summary()
    assert summary["rows"] >= 10 + 64, join
    assert 'Set pending_bytes = "128MiB" or more' in join.errors
    bed.audit("lead", left, right)
