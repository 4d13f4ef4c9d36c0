# SPDX-License-Identifier: Apache-2.0
"""One process with many streams, which publishes a frame on each of them every millisecond, as a sensor hub does.

Words: AERON_DIR BASE_DIR FIRST_STREAM STREAMS FRAME_BYTES. A line is an object: ``ticks``, and ``rate_hz`` of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns


def main(arguments: Sequence[str]) -> int:
    """Serve until the parent closes the pipe."""
    aeron_dir, base_dir = arguments[:2]
    first, streams, frame_bytes = map(int, arguments[2:])
    frame = np.zeros(frame_bytes, np.uint8)
    with connect(aeron_dir, base_dir) as client, ExitStack() as stack:
        producers = [
            stack.enter_context(client.producer(stream, shape=frame.shape, dtype="uint8"))
            for stream in range(first, first + streams)
        ]
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            began_ns = monotonic_ns()
            latest_ns = 0
            for tick in range(order["ticks"]):
                due_ns = began_ns + int(tick * 1e9 / order["rate_hz"])
                sleep_ns(max(0, due_ns - monotonic_ns()))
                latest_ns = max(latest_ns, monotonic_ns() - due_ns)
                for producer in producers:
                    producer.publish(frame)
            print(json.dumps({"elapsed_ns": monotonic_ns() - began_ns, "latest_ns": latest_ns}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
