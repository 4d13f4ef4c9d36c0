# SPDX-License-Identifier: Apache-2.0
"""Opens and closes clients in one process, and prints what it holds before and after."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from framegate.shmpool.transport.aeron import AeronTransport

CHANNEL = "aeron:ipc?term-length=64k"
STREAM = 77
WARM_UP = 3


def main(aeron_dir: str, rounds: int) -> None:
    for _ in range(WARM_UP):
        _round(aeron_dir)
    before = _held(aeron_dir)
    for _ in range(rounds):
        _round(aeron_dir)
    print(json.dumps({"event": "done", "before": before, "after": _held(aeron_dir)}), flush=True)


def _round(aeron_dir: str) -> None:
    with AeronTransport(aeron_dir) as transport:
        subscription = transport.add_subscription(CHANNEL, STREAM)
        publication = transport.add_publication(CHANNEL, STREAM)
        while not publication.is_connected:
            pass
        publication.offer(b"x")
        while not subscription.poll():
            pass


def _held(aeron_dir: str) -> dict[str, int]:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208  (a Path would be one more object to count)
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208
        "mapped_files": sum(aeron_dir in line for line in maps),
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
