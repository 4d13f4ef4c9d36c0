# SPDX-License-Identifier: Apache-2.0
"""What a coordinator is told at its start, what it asks for, and what it is told of it. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from framegate.schema import Message
from framegate.schema.control import AbortCause

UNALIGNED: Final = 1
"""Bit 0 of the flags of a barrier, an injection and a request."""
MAY_SWITCH: Final = 1
FORCED: Final = 2
"""Bits of PipelineAnnounce.flags (PROTOCOL 12.1)."""
_NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorRules:
    """Everything about a pipeline that was decided before the first message."""

    pipeline: str
    store: str
    """As operators are told: an absolute path, or a URI."""
    interval_ns: int = 0
    """Between two periodic checkpoints; 0: only when asked."""
    alignment_timeout_ms: int = 1_000
    late_barrier_timeout_ms: int = 10_000
    operator_timeout_ms: int = 3_000
    checkpoint_timeout_ns: int = 41_000 * _NS_PER_MS
    """The whole of a checkpoint, from its start to the last acknowledgement."""
    is_unaligned_allowed: bool = True
    is_forced: bool = False
    announce_period_ns: int = 1_000 * _NS_PER_MS
    operators_max: int = 1_024
    requests_max: int = 64
    """Who may wait for one and the same checkpoint."""

    @property
    def place_timeout_ms(self) -> int:
        """So long agents may take to say where they stand in a shared stream. Those who did say it are held meanwhile,
        for the whole threshold at most: whoever has not is named before one of them gives up."""
        return max(self.alignment_timeout_ms // 2, 1)

    @property
    def operator_timeout_ns(self) -> int:
        """After so long an operator that says nothing is lost."""
        return self.operator_timeout_ms * _NS_PER_MS


@dataclass(frozen=True, slots=True)
class IssuedIds:
    """What lasts of a coordinator: the highest id that anybody was told of, and the life that did it."""

    last_checkpoint_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The last checkpoint of the coordinator's life before this one: it exists, or it never will."""

    checkpoint_id: int
    is_complete: bool
    operators: tuple[str, ...] = ()
    """Who had a part in its newest whole checkpoint."""


# --- what the coordinator asks for --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    """Send this on the control stream. ``is_periodic``: it is said again anyway."""

    message: Message
    is_periodic: bool = False


@dataclass(frozen=True, slots=True)
class Allocate:
    """Make this id last; the answer is an ``Allocated`` or an ``AllocationFailed``."""

    issued: IssuedIds


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Everybody acknowledged: compare the files, write the manifest; the answer is ``Stored`` or ``StoreProblem``."""

    checkpoint_id: int
    epoch: int
    is_asked_unaligned: bool
    acknowledged: tuple[tuple[str, int], ...]
    """Operators, and how many bytes they say they stored."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Somebody should look at this."""

    text: str


Action: TypeAlias = Say | Allocate | Finish | Warn


# --- what the coordinator is told ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allocated:
    """The id lasts."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class AllocationFailed:
    """Whether the id lasts is not known: it is given to nobody."""

    checkpoint_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The manifest lasts: the checkpoint exists."""

    checkpoint_id: int
    size_bytes: int
    is_unaligned: bool
    was_threshold_triggered: bool
    pruned: int = 0


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """There is no manifest and will be none."""

    checkpoint_id: int
    cause: AbortCause
    reason: str


Result: TypeAlias = Allocated | AllocationFailed | Stored | StoreProblem
