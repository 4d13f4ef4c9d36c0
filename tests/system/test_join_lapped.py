# SPDX-License-Identifier: Apache-2.0
"""A join whose inputs overwrite their rings faster than it copies: what it gives out is whole all the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.system.join_bed import JoinBed, assert_payloads_are_the_frames, assert_rows_go_on, interrupted

if TYPE_CHECKING:
    from tests.system.conftest import System

FRAME_BYTES: Final = 640 << 10
SLOTS: Final = 4
"""Of a ring that is written over while one frame is copied."""
STREAMS: Final = {"left": 10_001, "right": 10_002}
LOST: Final = 50
ROWS: Final = 60


def test_frames_that_are_overwritten_while_they_are_copied_are_in_no_row(system: System, shm: Path) -> None:
    bed = JoinBed(system, shm, slots=SLOTS, frame_bytes=FRAME_BYTES)
    bed.start_driver()
    inputs = "".join(f'\n[[input]]\nname = "{name}"\nstream = {stream}\n' for name, stream in STREAMS.items())
    join = '[join]\nout_stream = 20001\npolicy = "union"\njournal = JOURNAL\nunmatched = "counts"\n'
    sizes = {"max_bytes": "256MiB", "segment_bytes": "64MiB", "seal_bytes": "16MiB"}
    agent = bed.join(bed.configure(join + inputs, journal=sizes))
    producers = [bed.produce(stream, "--max-rate", "--shape", str(FRAME_BYTES)) for stream in STREAMS.values()]
    bed.until_rows(agent, ROWS)
    for producer in producers:
        interrupted(producer)
    summary = interrupted(agent)
    assert sum(summary["overwritten"].values()) > LOST, summary
    assert_rows_go_on(bed.journal())
    assert_payloads_are_the_frames(bed.journal(), STREAMS, payload_bytes=FRAME_BYTES)
