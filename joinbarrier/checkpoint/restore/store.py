# SPDX-License-Identifier: Apache-2.0
"""Where a join's checkpoints are kept: its pipeline's coordinator says it, and that none is being stored just now.

All who restore from the newest have to choose the same one. What is under way when an operator says hello may be being
stored; that is over when another one is announced, or none. One that begins later has the operator in it and would wait
for it, and it for the checkpoint: it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.joinbarrier.checkpoint.operator.member import CheckpointMember, Heard
from framegate.schema.control import PipelineAnnounce
from framegate.schema.errors import CheckpointMissing, NoCoordinator
from framegate.shmpool.clock import monotonic_ns

ANSWER_S: Final = 10.0
"""A coordinator answers at once, and announces its pipeline every second; a driver may just be starting."""
REST_S: Final = 60.0
"""A checkpoint that was under way is given up, or stored, within its time-outs."""


def announced_store(member: CheckpointMember, wait: Callable[[], None]) -> tuple[str, list[Heard]]:
    """The store, and everything that was heard meanwhile. ``wait`` lets some time pass, and may raise.

    Raises NoCoordinator when nobody answers, CheckpointMissing for a pipeline that keeps nothing.
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
    """Whether no checkpoint can become whole that began without whoever listens since the first announce."""
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
