# SPDX-License-Identifier: Apache-2.0
"""Control signals: instant ones pass at once, those of the barrier kind wait for every upstream."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from framegate.joinbarrier.checkpoint.messages import U64_MAX
from framegate.joinbarrier.checkpoint.numbers import whole
from framegate.schema.errors import InvalidValue

STREAM_GRACEFUL_END: Final = "StreamGracefulEnd"
SYNC_TEST: Final = "SyncTest"
KINDS: Final = (STREAM_GRACEFUL_END, SYNC_TEST)
"""In the order of their numbers in PROTOCOL 12.1."""


@dataclass(frozen=True, slots=True)
class InstantSignal:
    """Handled as soon as it comes."""

    kind: str

    def __post_init__(self) -> None:
        kind_number(self.kind)

    @property
    def is_terminal(self) -> bool:
        """Whether an agent ends by it."""
        return self.kind == STREAM_GRACEFUL_END


@dataclass(frozen=True, slots=True)
class BarrierSignal:
    """Handled when every upstream has delivered it. The end of an independent producer has id 0."""

    kind: str
    barrier_id: int

    def __post_init__(self) -> None:
        kind_number(self.kind)
        object.__setattr__(self, "barrier_id", whole("barrier_id", self.barrier_id, 0, U64_MAX))

    @property
    def is_terminal(self) -> bool:
        """Whether an agent ends by it, once it is complete."""
        return self.kind == STREAM_GRACEFUL_END


Signal: TypeAlias = InstantSignal | BarrierSignal


def kind_number(kind: str) -> int:
    """Raises InvalidValue for a kind that there is not."""
    if kind not in KINDS:
        raise InvalidValue(f"one of {', '.join(KINDS)}", field="kind", found=kind)
    return KINDS.index(kind)


Key: TypeAlias = tuple[int, int]
"""The barrier's id, and the number of its kind."""


class Arrival(Enum):
    """What an arrival means."""

    PENDING = "pending"
    COMPLETE = "complete"
    OVERLAPPING = "overlapping"
    DUPLICATE = "duplicate"
