# SPDX-License-Identifier: Apache-2.0
"""A producer that publishes a few frames and then computes, with a frame claimed, until it is told to go on."""

from __future__ import annotations

import json
import select
import sys

import numpy as np
from framegate.shmpool.client.client import connect

SHAPE = (4, 4)
FRAMES = 3


def main(aeron_dir: str, base_dir: str, stream: str) -> None:
    with connect(aeron_dir, base_dir) as client, client.producer(int(stream), shape=SHAPE, dtype="uint8") as producer:
        _say(event="ready", epoch=producer.epoch)
        sys.stdin.readline()
        for _ in range(FRAMES):
            producer.publish(np.zeros(SHAPE, np.uint8))
        with producer.claim() as slot:
            _say(event="computing", seq=slot.seq)
            # User code that never waits: the interpreter is shared with the thread that keeps the leases.
            while not select.select([sys.stdin], [], [], 0)[0]:
                slot.array[:] = np.arange(16).reshape(SHAPE) % 7
        _say(event="published")
        sys.stdin.readline()
        sys.stdin.readline()


def _say(**members: object) -> None:
    print(json.dumps(members), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
