# SPDX-License-Identifier: Apache-2.0
"""Waits until streams have their consumers (``--wait-consumers``), and reports how many each stream has."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.producer.producer import Producer
from framegate.shmpool.stop_signal import StopSignal

_SLICE_S: Final = 0.1
_SAY_AFTER_NS: Final = 1_000_000_000
_SAY_AGAIN_NS: Final = 30_000_000_000
_log = logging.getLogger(__name__)


def wait_for_consumers(producers: Iterable[Producer], count: int, stop: StopSignal) -> bool:
    """Wait until each producer has this many consumers. Returns False if told to end before."""
    say_at_ns = monotonic_ns() + _SAY_AFTER_NS
    said = -1
    for producer in producers:
        while not producer.wait_consumers(count, _SLICE_S):
            if stop.is_set:
                return False
            there, stream = producer.consumers, producer.stream_text
            if monotonic_ns() >= say_at_ns or 0 <= said < there:
                say_at_ns, said = monotonic_ns() + _SAY_AGAIN_NS, there
                _log.warning("stream %s: waits for its consumers: %d of %d are there", stream, there, count)
    return not stop.is_set
