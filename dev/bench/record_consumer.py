# SPDX-License-Identifier: Apache-2.0
"""A consumer's process for the measurements of recordings: it counts, and says what it missed when it is interrupted.

Words: AERON_DIR BASE_DIR STREAM. `framegate consume` says a line for each frame, and somebody must read them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Final

from framegate.shmpool.client.client import connect
from framegate.shmpool.stop_signal import StopSignal

_SLICE_S: Final = 0.05


def main(arguments: Sequence[str]) -> int:
    """Take frames until the signal."""
    aeron_dir, base_dir, stream = arguments
    frames = 0
    with StopSignal() as stop, connect(aeron_dir, base_dir) as client, client.consumer(int(stream)) as consumer:
        _say("ready")
        while not stop.is_set:
            frames += len(consumer.poll(timeout_s=_SLICE_S))
        counted = consumer.counters()
    _say({"frames": frames, "missed": counted.get("gap_drops", 0) + counted.get("late_drops", 0)})
    return 0


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
