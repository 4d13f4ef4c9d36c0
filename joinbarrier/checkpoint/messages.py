# SPDX-License-Identifier: Apache-2.0
"""What flows through a stream of the pipeline: events, watermarks, and the barriers that cut it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from framegate.joinbarrier.checkpoint.numbers import whole

U64_MAX: Final = (1 << 64) - 1
EPOCH_MAX: Final = (1 << 48) - 1
"""The largest epoch: the command word has 48 bits for it (B3)."""
UNALIGNED: Final = 1
"""The unaligned flag of a barrier, an injection and a request: bit 0."""
MAY_SWITCH: Final = 1
FORCED: Final = 2
"""The flags of a PipelineAnnounce (PROTOCOL 12.1)."""
_I64_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, init=False)
class Event:
    """An event to process. ``size`` is the number of bytes it holds: as given, else the payload's own, else 0.

    >>> Event(b"frame").size, Event("no buffer").size, Event(None, size=7).size
    (5, 0, 7)
    """

    payload: Any
    size: int

    def __init__(self, payload: Any, size: int | None = None) -> None:
        held = held_bytes(payload) if size is None else size
        object.__setattr__(self, "payload", payload)
        object.__setattr__(self, "size", whole("size", held, 0, U64_MAX))


@dataclass(frozen=True, slots=True)
class Watermark:
    """A promise that no later event of this stream is older than ``ms``."""

    ms: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ms", whole("ms", self.ms, -_I64_MAX - 1, _I64_MAX))


@dataclass(frozen=True, slots=True)
class CheckpointBarrier:
    """A barrier, which cuts a stream: what came before it belongs to the checkpoint, what follows does not.

    >>> CheckpointBarrier(12, 3).flags, CheckpointBarrier(12, 3, unaligned=True).flags
    (0, 1)
    """

    checkpoint_id: int
    epoch: int
    unaligned: bool = False

    def __post_init__(self) -> None:
        checkpoint_id, epoch = check_barrier(self.checkpoint_id, self.epoch)
        object.__setattr__(self, "checkpoint_id", checkpoint_id)
        object.__setattr__(self, "epoch", epoch)

    @property
    def flags(self) -> int:
        """The flags as they are sent: bit 0 means unaligned, the others are 0."""
        return UNALIGNED if self.unaligned else 0

    @property
    def is_aligned(self) -> bool:
        """Whether the barrier waits for the other inputs."""
        return not self.unaligned

    def flagged(self) -> CheckpointBarrier:
        """The same barrier, marked as unaligned."""
        return CheckpointBarrier(self.checkpoint_id, self.epoch, unaligned=True)


Message: TypeAlias = Event | Watermark | CheckpointBarrier
Captured: TypeAlias = Event | Watermark


def check_barrier(checkpoint_id: int, epoch: int) -> tuple[int, int]:
    """Check a barrier's id and epoch. Raises InvalidValue for values that no barrier can carry; nothing is truncated
    (B3).
    """
    return whole("checkpoint_id", checkpoint_id, 1, U64_MAX), whole("epoch", epoch, 0, EPOCH_MAX)


def held_bytes(payload: object) -> int:
    """The size of a buffer, else the object's own ``nbytes``, else 0."""
    try:
        return memoryview(payload).nbytes  # type: ignore[arg-type]
    except TypeError:
        found = getattr(payload, "nbytes", 0)
        return found if isinstance(found, int) else 0
