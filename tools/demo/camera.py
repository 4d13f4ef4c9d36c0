# SPDX-License-Identifier: Apache-2.0
"""One camera, a process of its own: it films a moving scene, and writes down which frames it has published.

It begins when its consumers and the demo are ready, which sends a line to its standard input, and ends early when that
is closed: by the demo, or with it.
"""

from __future__ import annotations

import json
import select
import sys
from pathlib import Path

from framegate.schema.console.reporting import emit
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.moving import MovingPattern

import framegate as fg

_CONSUMERS_S = 60.0


def film(name: str, *, lag: int, shape: tuple[int, int], rate: float, frames: int, consumers: int, sent: str) -> None:
    """Publish so many frames; ``lag`` is by how many frames the camera is late."""
    with (
        fg.connect() as client,
        client.producer(name, shape=shape, dtype="uint8") as camera,
        Path(sent).open("w") as log,
    ):
        pattern = MovingPattern(stream=camera.stream_id, shape=shape, dtype="uint8", lag=lag)
        print("stream,epoch,seq", file=log)
        if not camera.wait_consumers(consumers, _CONSUMERS_S):
            sys.exit(f"{name}: {camera.consumers} of {consumers} consumers came within {_CONSUMERS_S:g} s")
        emit({"event": "ready"})
        if sys.stdin.readline():
            began_ns = monotonic_ns()
            for n in range(frames):
                if _is_over(began_ns + round(n * 1e9 / rate)):
                    break
                with camera.claim() as slot:
                    pattern.fill(slot.array.reshape(-1), slot.seq)
                print(f"{camera.stream_id},{slot.epoch},{slot.seq}", file=log)
        camera.end()
        emit({"event": "summary", "frames": camera.counters()["frames"]})


def _is_over(due_ns: int) -> bool:
    """Wait for a moment; whether standard input was closed before."""
    return bool(select.select([sys.stdin], [], [], max(0, due_ns - monotonic_ns()) / 1e9)[0])


if __name__ == "__main__":
    film(**json.loads(sys.argv[1]))
