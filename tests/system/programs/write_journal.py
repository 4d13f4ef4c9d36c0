# SPDX-License-Identifier: Apache-2.0
"""Writes a journal until it has its rows, beginning behind what an earlier run sealed.

Prints ``recovered ROW STATE`` and, after each seal has returned, ``sealed ROW``. Everything in a row follows from its
number, so that whoever reads knows what must stand there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from framegate._native import JournalWriter
from tests.system.journal_rows import INPUTS, ROWS, SEGMENT_BYTES, SEGMENTS, cells


def main() -> None:
    writer = JournalWriter(
        Path(sys.argv[1]), list(INPUTS), segment_bytes=SEGMENT_BYTES, max_bytes=SEGMENTS * SEGMENT_BYTES, seal_rows=8
    )
    found = writer.recovered
    state = json.loads(found["state"] or b'{"next":0,"unmatched":0}')
    row, unmatched = found["next_row"], state["unmatched"]
    print("recovered", row, json.dumps(state), flush=True)
    while row < ROWS:
        writer.heartbeat(row)
        outcome = writer.append(cells(row), out_seq=row)
        if outcome == "ready":
            row += 1
            writer.unmatched("left", seq=unmatched)
            unmatched += 1
        if outcome == "seal_first" or (outcome == "ready" and row % 5 == 0):
            writer.seal(_state(row, unmatched))
            print("sealed", row, flush=True)
        if outcome == "full":
            writer.wait_for_segment(60)
    writer.close(_state(row, unmatched))
    print("sealed", row, flush=True)


def _state(row: int, unmatched: int) -> bytes:
    return json.dumps({"next": row, "unmatched": unmatched}).encode()


if __name__ == "__main__":
    main()
