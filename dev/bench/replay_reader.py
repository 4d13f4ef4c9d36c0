# SPDX-License-Identifier: Apache-2.0
"""One consumer of a replay that is measured: copies each frame out, as slowly as it is told, and says what it had.

``python -m dev.bench.replay_reader AERON_DIR BASE_DIR STREAM PAUSE_NS``, for ``replay.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np
from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns


def main(arguments: Sequence[str]) -> int:
    """Read until the stream ends."""
    aeron_dir, base_dir, stream, pause_ns = arguments
    frames = torn = size = first_ns = last_ns = 0
    kept = np.empty(0, np.uint8)
    with connect(aeron_dir, base_dir) as client, client.consumer(int(stream)) as consumer:
        _say({"event": "ready"})
        for frame in consumer:
            if kept.shape != frame.array.shape:
                kept = np.empty(frame.array.shape, frame.array.dtype)
            np.copyto(kept, frame.array)
            torn += not frame.is_valid()
            frames, size, last_ns = frames + 1, size + kept.nbytes, monotonic_ns()
            first_ns = first_ns or last_ns
            if int(pause_ns):
                sleep_ns(int(pause_ns))
        counters = consumer.counters()
    said = {"stream": int(stream), "frames": frames, "bytes": size, "overwritten": torn + counters["late_drops"]}
    _say({**said, "first_ns": first_ns, "last_ns": last_ns})
    return 0


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
