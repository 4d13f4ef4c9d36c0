# SPDX-License-Identifier: Apache-2.0
"""Attaches after a predecessor that was killed: it holds its lease until that expires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.schema.driver import ResponseCode
from framegate.schema.errors import AttachRefused
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.producer.producer import Producer

PATIENCE_NS: Final = 5_000_000_000
"""Longer than leases usually take to expire. After this time a refusal is final."""
_STEP_S: Final = 0.2


def attached_behind_predecessor(
    attach: Callable[[], Producer], wait: Callable[[float], bool], patience_ns: int = PATIENCE_NS
) -> Producer:
    """Call ``attach`` until the stream has no other producer. ``wait`` sleeps, and returns True to end the waiting.

    Raises what attaching raises.
    """
    deadline_ns = monotonic_ns() + patience_ns
    while True:
        try:
            return attach()
        except AttachRefused as refusal:
            is_final = refusal.facts.get("code") != ResponseCode.REJECTED.name or monotonic_ns() >= deadline_ns
            if is_final or wait(_STEP_S):
                raise
