# SPDX-License-Identifier: Apache-2.0
"""Learns from a pipeline's coordinator where its checkpoints are kept, and that none is just being stored.

All operators that restore from the newest checkpoint must choose the same one. A checkpoint that is under way when an
operator says hello may be in the middle of being stored; that is over once another one is announced, or none. A
checkpoint that begins later includes the operator, and each would wait for the other: the operator refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.joinbarrier.checkpoint.operator.member import CheckpointMember, Heard
from framegate.schema.control import PipelineAnnounce
from framegate.schema.errors import CheckpointMissing, NoCoordinator
from framegate.shmpool.clock import monotonic_ns

ANSWER_S: Final = 10.0
"""How long to wait for an announce. A coordinator answers at once and announces its pipeline every second, but a driver
may just be starting.
"""
REST_S: Final = 60.0
"""How long to wait until no checkpoint is under way. One that was is aborted, or stored, within its timeouts."""


def announced_store(member: CheckpointMember, wait: Callable[[], None]) -> tuple[str, list[Heard]]:
    """Wait for the store's address; return it with everything that was heard meanwhile. ``wait`` lets some time pass,
    and may raise.

    Raises NoCoordinator if nobody answers, CheckpointMissing for a pipeline that keeps no checkpoints.
    """
    heard: list[Heard] = []
    began_ns = monotonic_ns()
    first: PipelineAnnounce | None = None
    announced: PipelineAnnounce | None = None
    while announced is None or not is_at_rest(first, announced):
        waited_s = (monotonic_ns() - began_ns) / 1e9
        if waited_s >= (ANSWER_S if announced is None else REST_S):
            raise _overdue(member, announced, waited_s)
        wait()
        for message in member.heard():
            heard.append(message)
            if isinstance(message, PipelineAnnounce):
                first, announced = first or message, message
                member.refuse(message)
    if not announced.store:
        raise CheckpointMissing("the pipeline keeps no checkpoints", pipeline=member.pipeline)
    return announced.store, heard


def is_at_rest(first: PipelineAnnounce | None, newest: PipelineAnnounce | None) -> bool:
    """Whether every checkpoint is over that had begun without this operator before the first announce."""
    if first is None or newest is None:
        return False
    return first.current_checkpoint_id == 0 or newest.current_checkpoint_id != first.current_checkpoint_id


def _overdue(member: CheckpointMember, announced: PipelineAnnounce | None, waited_s: float) -> NoCoordinator:
    found = "nobody says where its checkpoints are" if announced is None else "one is being stored all the time"
    return NoCoordinator(
        found,
        pipeline=member.pipeline,
        waited_s=f"{waited_s:.1f}",
        hint="Start a driver whose configuration has `[checkpoint.NAME]`, or say --checkpoints DIR.",
    )
