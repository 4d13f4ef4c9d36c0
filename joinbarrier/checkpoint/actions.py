# SPDX-License-Identifier: Apache-2.0
"""The actions that an aligner asks its operator to carry out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from framegate.joinbarrier.checkpoint.messages import CheckpointBarrier, Event, Watermark

Pair: TypeAlias = tuple[int, Event]
"""An event, with the input that it came from."""


class Kind:
    """The kinds of action, plain strings."""

    PASS_THROUGH: Final = "pass_through"  # noqa: S105 - no password
    WATERMARK_PASS_THROUGH: Final = "watermark_pass_through"  # noqa: S105 - no password
    BUFFERED: Final = "buffered"
    TRIGGER_SNAPSHOT: Final = "trigger_snapshot"
    FORWARD_BARRIER: Final = "forward_barrier"
    DRAIN_BUFFERED: Final = "drain_buffered"
    INPUT_FULL: Final = "input_full"
    IGNORED_STALE: Final = "ignored_stale"
    IGNORED_DUPLICATE: Final = "ignored_duplicate"
    IGNORED_ABORTED: Final = "ignored_aborted"
    ABORTED: Final = "aborted"
    LATE_BARRIER: Final = "late_barrier"
    CHECKPOINT_COMPLETE: Final = "checkpoint_complete"


class AlignmentCause:
    """Why a checkpoint was aborted, in the words of PROTOCOL 12, or why it is taken unaligned."""

    TIMEOUT: Final = "timeout"
    MEMORY_LIMIT: Final = "memory_limit"
    INPUT_LIMIT: Final = "input_limit"
    INFLIGHT_LIMIT: Final = "inflight_limit"
    HIGHER_BARRIER: Final = "higher_barrier"
    INPUT_LOST: Final = "input_lost"
    LATE_BARRIER_TIMEOUT: Final = "late_barrier_timeout"
    SERIALISATION_FAILED: Final = "serialisation_failed"
    COORDINATOR: Final = "coordinator"
    REQUESTED: Final = "requested"
    THRESHOLD: Final = "threshold"
    LIMIT: Final = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing for the operator to do. Fields that do not apply to its kind are None, or empty.

    If ``released`` comes with a new barrier, its events are older than that barrier: process them first. ``pending``
    lists the inputs whose barrier was still missing.
    """

    kind: str
    event: Event | None = None
    watermark: Watermark | None = None
    barrier: CheckpointBarrier | None = None
    input_id: int | None = None
    released: list[Pair] = field(default_factory=list)
    cause: str | None = None
    pending: tuple[int, ...] = ()


def drains(pairs: Iterable[Pair]) -> list[Action]:
    """Make an action for every event that waited behind a barrier."""
    return [Action(kind=Kind.DRAIN_BUFFERED, event=event, input_id=input_id) for input_id, event in pairs]


def passed(input_id: int, event: Event) -> Action:
    """Make the action by which the operator processes an event now."""
    return Action(kind=Kind.PASS_THROUGH, event=event, input_id=input_id)
