# SPDX-License-Identifier: Apache-2.0
"""Waiting for what another thread does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

WATCHDOG_NS: Final = 30_000_000_000


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition under a watchdog."""
    deadline_ns = monotonic_ns() + WATCHDOG_NS
    while not condition():
        assert monotonic_ns() < deadline_ns
        sleep_ns(1_000_000)
