# SPDX-License-Identifier: Apache-2.0
"""Control signals: instant ones take effect at once, those of the barrier kind wait for every upstream."""

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
"""The kinds of signals, in the order of their numbers in PROTOCOL 12.1."""


@dataclass(frozen=True, slots=True)
class InstantSignal:
    """A signal that is handled as soon as it comes."""

    kind: str

    def __post_init__(self) -> None:
        kind_number(self.kind)

    @property
    def is_terminal(self) -> bool:
        """Whether an agent ends by this signal."""
        return self.kind == STREAM_GRACEFUL_END


@dataclass(frozen=True, slots=True)
class BarrierSignal:
    """A signal that is handled once every upstream has delivered it. The end of an independent producer has id 0."""

    kind: str
    barrier_id: int

    def __post_init__(self) -> None:
        kind_number(self.kind)
        object.__setattr__(self, "barrier_id", whole("barrier_id", self.barrier_id, 0, U64_MAX))

    @property
    def is_terminal(self) -> bool:
        """Whether an agent ends by this signal, once it is complete."""
        return self.kind == STREAM_GRACEFUL_END


Signal: TypeAlias = InstantSignal | BarrierSignal


def kind_number(kind: str) -> int:
    """The number of a kind. Raises InvalidValue for an unknown kind."""
    if kind not in KINDS:
        raise InvalidValue(f"one of {', '.join(KINDS)}", field="kind", found=kind)
    return KINDS.index(kind)


Key: TypeAlias = tuple[int, int]
"""The id of a signal, and the number of its kind."""


class Arrival(Enum):
    """What the arrival of a signal means."""

    PENDING = "pending"
    COMPLETE = "complete"
    OVERLAPPING = "overlapping"
    DUPLICATE = "duplicate"
