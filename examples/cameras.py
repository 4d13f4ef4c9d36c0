# SPDX-License-Identifier: Apache-2.0
"""Synthetic sources for the examples: each publishes on a thread of its own, as a camera's driver does."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import numpy as np

import framegate as fg


def source(
    producer: fg.Producer,
    *,
    hz: float,
    frames: int,
    frame: Callable[[int], np.ndarray],
    late_s: float = 0.0,
    jitter_s: float = 0.0,
) -> threading.Thread:
    """Publish frames at a rate. Each is stamped when it is captured, and handed on late."""
    chance = random.Random(producer.stream_id)

    def run() -> None:
        began = time.monotonic()
        captured = list[tuple[float, int]]()
        for n in range(frames):
            due = began + n / hz
            captured.append((due + late_s + chance.uniform(0, jitter_s), n))
        last = 0.0
        for ready, n in captured:
            last = max(last, ready)
            time.sleep(max(0.0, last - time.monotonic()))
            producer.publish(frame(n), timestamp_ns=round((began + n / hz) * 1e9))
        producer.end()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def picture(n: int) -> np.ndarray:
    """A picture that says which frame it is: a bar that moves, and the number in its first pixels."""
    pixels = np.zeros((480, 640, 3), np.uint8)
    pixels[:, (5 * n) % 620 : (5 * n) % 620 + 20] = 255
    pixels[0, :8, 0] = np.frombuffer(n.to_bytes(8, "little"), np.uint8)
    return pixels


def number_of(pixels: np.ndarray) -> int:
    """The number that ``picture`` wrote."""
    return int.from_bytes(pixels[0, :8, 0].tobytes(), "little")


def sample(n: int) -> np.ndarray:
    """A sample of an inertial unit."""
    return np.array([np.sin(n / 50), np.cos(n / 50), 9.81, 0, 0, 0.1])
