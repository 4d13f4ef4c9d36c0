# SPDX-License-Identifier: Apache-2.0
"""A producer that dies in the middle of a frame: it publishes some, fills half of the next, and kills itself."""

from __future__ import annotations

import json
import os
import signal
import sys

import numpy as np
from framegate.shmpool.client.client import connect

SHAPE = (64, 64)


def main(aeron_dir: str, base_dir: str, stream: str, whole_frames: str) -> None:
    """Publish, then die."""
    client = connect(aeron_dir, base_dir)
    producer = client.producer(int(stream), shape=SHAPE, dtype="uint8")
    producer.wait_consumers(1, 60)
    for number in range(int(whole_frames)):
        producer.publish(np.full(SHAPE, number, np.uint8))
    with producer.claim() as slot:
        slot.array[: SHAPE[0] // 2] = 0xEE
        print(json.dumps({"event": "half", "seq": slot.seq, "epoch": producer.epoch}), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
